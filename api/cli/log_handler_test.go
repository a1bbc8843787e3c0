package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
)

func TestEachRecordIsOneLineWhateverItHolds(t *testing.T) {
	const bad = "a\nb\r\x1b[31mred\x1b]0;title\a\x00\u2028\u202e\xff"
	log := func(h slog.Handler) {
		l := slog.New(h).With("with", bad)
		l.Error("message "+bad, "text", bad, "error", errors.New(bad), "bytes", []byte(bad), "took", 1500*time.Millisecond, "list", []string{bad, bad},
			"long", strings.Repeat("x", 1<<20), "stack", strings.Repeat("s", 20<<10))
	}
	var text bytes.Buffer
	log(textLog(&text, slog.LevelInfo))
	// The colours of the handler itself aside.
	plain := text.String()
	for _, own := range []string{"\x1b[0m", "\x1b[2m", "\x1b[91m", "\x1b[22m", "\x1b[2;91m"} {
		plain = strings.ReplaceAll(plain, own, "")
	}
	if strings.Count(plain, "\n") != 1 || strings.ContainsAny(plain, "\x1b\a\x00\r\u2028\u202e") {
		t.Errorf("on a terminal it is %q", plain[:min(len(plain), 600)])
	}
	if len(plain) > 40<<10 {
		t.Errorf("it has %d characters", len(plain))
	}
	var lines bytes.Buffer
	log(slog.NewJSONHandler(&lines, &slog.HandlerOptions{ReplaceAttr: inJSON}))
	var record map[string]any
	if strings.Count(lines.String(), "\n") != 1 || json.Unmarshal(lines.Bytes(), &record) != nil || lines.Len() > 60<<10 {
		t.Errorf("as JSON it is %d bytes: %.600q", lines.Len(), lines.String())
	}
	if record["took"] != "1.5s" || record["error"] == nil || record["level"] != "ERROR" || len(record["stack"].(string)) != 20<<10 {
		t.Errorf("the record is %.300v", record)
	}
}
