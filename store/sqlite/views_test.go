package sqlite

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nightshift/jobs"
	"nightshift/store/sqldb"
)

const (
	insertViewedJob = `INSERT INTO jobs (id, name, revision, version, doc, queue, created_at, updated_at)
VALUES (100, 'a', 1, 1, '{}', 'default', 0, 0)`
	insertViewedRun = `INSERT INTO runs (seq, tail, job, version, state, rank, due_at, priority, number, charged, deaths,
    cause, created_at, run_at, requeued_from, parent) VALUES ($1, $2, 100, 1, 6, 0, 0, 0, 0, 0, 0, 'api', $3, 0, $4, $5)`
	selectViewed = `SELECT id, correlation_id, requeued_from, group_run, created_at, requeued_to, finished_at
FROM run_history WHERE id = $1`
)

func TestViewsShowIdsAndTimesAsTheAPIDoes(t *testing.T) {
	d := openTest(t)
	source := rand.New(rand.NewPCG(10, 7))
	ids := []jobs.ID{
		jobs.IDOf(1, -1<<63), jobs.IDOf(1<<60-1, -1<<62-1), jobs.IDOf(0xfff, -1<<63+0xffff_ffff_ffff),
	}
	for range 200 {
		ids = append(ids, jobs.IDOf(int64(source.Uint64()>>4), int64(source.Uint64()>>2|1<<63)))
	}
	times := []jobs.Time{1, 999, 1000, 1764468000001, 1764468000999, 253402300799999}
	for range 200 {
		times = append(times, jobs.Time(1+source.Int64N(253402300799999)))
	}
	at := func(i int) jobs.Time { return times[i%len(times)] }
	other := func(i int) jobs.ID { return ids[len(ids)-1-i] }
	check(t, d.Write(context.Background(), func(tx sqldb.Tx) error {
		if _, err := tx.Exec(insertViewedJob); err != nil {
			return err
		}
		for i, id := range ids {
			from := other(i)
			if _, err := tx.Exec(insertViewedRun, id.Seq(), id.Tail(), int64(at(i)), from[:], id[:]); err != nil {
				return err
			}
		}
		return nil
	}))
	for i, id := range ids {
		var got []string
		check(t, d.Read(context.Background(), func(tx sqldb.Tx) error {
			return tx.Query(selectViewed, func(r sqldb.Row) error {
				got = []string{r.Text(0), r.Text(1), r.Text(2), r.Text(3), r.Text(4)}
				if !r.Null(5) || !r.Null(6) {
					t.Errorf("%s: what it has not is %q, %q, want NULL", id, r.Text(5), r.Text(6))
				}
				return nil
			}, id.String())
		}))
		want := []string{id.String(), id.String(), other(i).String(), id.String(), at(i).String()}
		if !slices.Equal(got, want) {
			t.Errorf("%s is shown as %q, want %q", id, got, want)
		}
	}
}

func TestViewsOfWhatIsOpenReadNoWholeTable(t *testing.T) {
	d := openTest(t)
	for _, query := range []string{
		"SELECT * FROM failed_jobs WHERE status = 'open'", "SELECT count(*) FROM failed_jobs", "SELECT * FROM queue_depth",
	} {
		var plan []string
		check(t, d.Read(context.Background(), func(tx sqldb.Tx) error {
			plan = nil
			return tx.Query("EXPLAIN QUERY PLAN "+query, func(r sqldb.Row) error {
				plan = append(plan, r.Text(3))
				return nil
			})
		}))
		if len(plan) == 0 {
			t.Fatalf("%s: no plan", query)
		}
		for _, step := range plan {
			if strings.HasPrefix(step, "SCAN runs") && !strings.Contains(step, "INDEX runs_") ||
				strings.Contains(step, "SCAN jobs") || strings.Contains(step, "SCAN attempts") {
				t.Errorf("%s: %s", query, step)
			}
		}
	}
}
