package sqlite

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/store"
)

func TestTheNumberOfUnfinishedRunsIsOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n.db")
	reopened := func(want int, add int) {
		t.Helper()
		st, err := Open(t.Context(), path, Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
		}()
		if n, err := st.Unfinished(t.Context()); err != nil || n != want {
			t.Errorf("%d runs have not ended, %v, want %d", n, err, want)
		}
		if add == 0 {
			return
		}
		now := jobs.TimeOf(time.Now())
		job, err := jobs.ParseJob([]byte(`{"name":"a","script":{"source":"true"}}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = st.Save(t.Context(), store.Changes{Jobs: []store.PutJob{{Job: job}}}, store.By{Actor: "test", Now: now})
		if err != nil {
			t.Fatal(err)
		}
		ids := jobs.NewIDs(0, func() uint64 { return 1 })
		for range add {
			id := ids.Next(now.Std())
			_, err := st.Enqueue(t.Context(), []store.Submission{{Run: &jobs.Run{
				ID: id, OperationID: id, Job: "a", State: jobs.Queued, Trigger: jobs.TriggerAPI, Payload: jobs.Raw("{}"),
				CorrelationID: id.String(), CreatedAt: now, RunAt: now, DueAt: now,
			}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		if n, err := st.Unfinished(t.Context()); err != nil || n != want+add {
			t.Errorf("%d runs have not ended, %v, want %d", n, err, want+add)
		}
	}
	change := func(query string) {
		t.Helper()
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	broken := func() (all string) {
		t.Helper()
		v, err := Verify(t.Context(), path, false)
		if err != nil {
			t.Fatal(err)
		}
		if v.Skipped != "" {
			t.Fatal(v.Skipped)
		}
		for _, p := range v.Problems {
			all += p.What + ": " + strings.Join(p.Samples, ", ") + "\n"
		}
		return all
	}
	reopened(0, 3)
	reopened(3, 0)
	if text := broken(); text != "" {
		t.Errorf("verify finds %s", text)
	}
	change("UPDATE meta SET value = '7' WHERE name = 'unfinished-runs'")
	if text := broken(); !strings.Contains(text, "7 instead of 3") {
		t.Errorf("verify finds %q", text)
	}
	// As a file is that was written before there was the number.
	change("DELETE FROM meta WHERE name = 'unfinished-runs'")
	reopened(3, 0)
	change("DELETE FROM meta WHERE name = 'unfinished-runs'")
	reopened(3, 1)
	reopened(4, 0)
	if text := broken(); text != "" {
		t.Errorf("verify finds %s", text)
	}
}
