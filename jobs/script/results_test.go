package script

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nightshift/jobs"
)

func TestAMergeFindsItsResultsInAFileThatGoesWithIt(t *testing.T) {
	k := newKindAny(t)
	const results = `[{"name":"a","result":1.10},{"name":"b","result":null}]`
	call, log := source(`stat -c %a "$NIGHTSHIFT_RESULTS"; cat "$NIGHTSHIFT_RESULTS"; echo " $NIGHTSHIFT_RESULTS"`)
	call.Results = func(w io.Writer) error {
		_, err := io.WriteString(w, results)
		return err
	}
	wantSuccess(t, begin(t, k, call).end(t))
	got := strings.Fields(log.String())
	if len(got) != 3 || got[0] != "600" || got[1] != results || !strings.HasPrefix(got[2], k.temp.Path+"/") {
		t.Fatalf("got %q", got)
	}
	if _, err := os.Stat(filepath.Dir(got[2])); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of the attempt is still there: %v", err)
	}
}

func TestAScriptThatMergesNothingHasNoResults(t *testing.T) {
	call, log := source(`echo "[${NIGHTSHIFT_RESULTS-none}]"`)
	wantSuccess(t, begin(t, newKindAny(t), call).end(t))
	if got := strings.TrimSpace(log.String()); got != "[none]" {
		t.Errorf("got %q", got)
	}
}

func TestResultsThatCannotBeWrittenAreAFailureToStart(t *testing.T) {
	call, _ := source("exit 0")
	call.Results = func(io.Writer) error { return errors.New("no space") }
	rep := begin(t, newKindAny(t), call).end(t)
	if rep.Failure == nil || rep.Failure.Kind != jobs.FailSpawn || !strings.Contains(rep.Failure.Message, "no space") {
		t.Errorf("got %+v", rep.Failure)
	}
}
