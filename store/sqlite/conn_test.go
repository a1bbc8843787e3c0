package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nightshift/store/sqldb"
)

func TestStatementsAreNotPlannedByTheirArguments(t *testing.T) {
	d, err := openDB(t.Context(), filepath.Join(t.TempDir(), "n.db"), Config{Readers: 1})
	check(t, err)
	defer d.Close()
	const failed = 7 // there is an index of the runs in this state alone
	for query, planned := range map[string]string{
		"EXPLAIN QUERY PLAN SELECT seq FROM runs WHERE state = $1": "runs_failed",
		"EXPLAIN SELECT seq FROM runs ORDER BY seq LIMIT $1":       "Integer 7",
	} {
		var plan strings.Builder
		check(t, d.Read(t.Context(), func(tx sqldb.Tx) error {
			return tx.Query(query, func(r sqldb.Row) error {
				for _, v := range r {
					fmt.Fprint(&plan, v, " ")
				}
				plan.WriteByte('\n')
				return nil
			}, int64(failed))
		}))
		if strings.Contains(plan.String(), planned) {
			t.Errorf("%q was planned by its argument:\n%s", query, plan.String())
		}
	}
}

func TestParametersAreHiddenFromThePlanner(t *testing.T) {
	text, args := placeholders("SELECT $2, '$' FROM t WHERE a = $1 AND b > $2 LIMIT $10")
	if want := "SELECT +?, '$' FROM t WHERE a = +? AND b > +? LIMIT +?"; text != want {
		t.Errorf("text is %q, want %q", text, want)
	}
	if want := []int{1, 0, 1, 9}; !slices.Equal(args, want) {
		t.Errorf("arguments are %v, want %v", args, want)
	}
}
