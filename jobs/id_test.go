package jobs

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"
)

// counting gives 0, 1, 2, ... as random bits.
func counting() func() uint64 {
	var n uint64
	return func() uint64 { n++; return n - 1 }
}

func TestIDsAreUUIDsOfVersion7(t *testing.T) {
	ids := NewIDs(0, func() uint64 { return 1<<64 - 1 })
	at := time.UnixMilli(1796000000123)
	id := ids.Next(at)
	u, err := uuid.Parse(id.String())
	if err != nil || u.Version() != 7 || u.Variant() != uuid.RFC4122 || uuid.UUID(id) != u {
		t.Fatalf("%s: got %v, %v", id, u, err)
	}
	if sec, nsec := u.Time().UnixTime(); sec != at.Unix() || nsec != 123_000_000 {
		t.Errorf("%s: its time is %d.%09d", id, sec, nsec)
	}
}

func TestIDsNeverGoBack(t *testing.T) {
	var random sync.Mutex
	count := counting()
	ids := NewIDs(1796000000000<<12|7, func() uint64 {
		random.Lock()
		defer random.Unlock()
		return count()
	})
	var all []ID
	steps := []int64{
		1796000000000, 1796000000000, 1796000000001, 1795999999999, 0, -5, 1796000000001,
		1796000000500,
	}
	for _, ms := range steps {
		all = append(all, ids.Next(time.UnixMilli(ms)))
	}
	// More in one millisecond than the counter has numbers.
	for range 5000 {
		all = append(all, ids.Next(time.UnixMilli(1796000000500)))
	}
	var wait sync.WaitGroup
	made := make([][]ID, 8)
	for i := range made {
		wait.Go(func() {
			for range 500 {
				made[i] = append(made[i], ids.Next(time.UnixMilli(1796000000500)))
			}
		})
	}
	wait.Wait()
	seen := map[int64]bool{}
	for _, list := range append(made, all) {
		for i, id := range list {
			if i > 0 && (id.Seq() <= list[i-1].Seq() || id.String() <= list[i-1].String()) {
				t.Fatalf("%s after %s", id, list[i-1])
			}
			if seen[id.Seq()] || id.Seq() <= 1796000000000<<12|7 {
				t.Fatalf("%s: its number was given before", id)
			}
			seen[id.Seq()] = true
		}
	}
	if want := int64(1796000000000<<12 | 8); all[0].Seq() != want {
		t.Errorf("the first is %d, want %d", all[0].Seq(), want)
	}
}

func TestIDsAreMadeOfTheirHalves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seq := rapid.Int64Range(0, 1<<60-1).Draw(t, "seq")
		tail := -1<<63 | rapid.Int64Range(0, 1<<62-1).Draw(t, "tail")
		id := IDOf(seq, tail)
		if id.Seq() != seq || id.Tail() != tail {
			t.Fatalf("%s: got %d, %d, want %d, %d", id, id.Seq(), id.Tail(), seq, tail)
		}
		if got, err := ParseID(id.String()); err != nil || got != id {
			t.Fatalf("%s: got %s, %v", id, got, err)
		}
		if got, err := ParseID(strings.ToUpper(id.String())); err != nil || got != id {
			t.Fatalf("%s in capitals: got %s, %v", id, got, err)
		}
	})
}

func TestIDsSortAsTheirTextAndTheirNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seqs := rapid.SliceOfDistinct(rapid.Int64Range(0, 1<<60-1), rapid.ID).Draw(t, "seqs")
		slices.Sort(seqs)
		var texts []string
		for _, seq := range seqs {
			texts = append(texts, IDOf(seq, -1<<63).String())
		}
		if !slices.IsSorted(texts) {
			t.Fatalf("got %v", texts)
		}
	})
}

func TestParseIDRefusesWhatIsNone(t *testing.T) {
	good := "0192e4a7-5b3c-7d1e-8f00-0123456789ab"
	if _, err := ParseID(good); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "0192e4a75b3c7d1e8f000123456789ab", good[:35], good + "0", " " + good[1:], "{" +
			good[:34] + "}",
		"0192e4a7-5b3c-4d1e-8f00-0123456789ab", // version 4
		"0192e4a7-5b3c-7d1e-7f00-0123456789ab", // variant
		"0192e4a7-5b3c-7d1e-cf00-0123456789ab", // variant
		"0192e4a75-b3c-7d1e-8f00-0123456789ab", "g192e4a7-5b3c-7d1e-8f00-0123456789ab",
		"0192e4a7_5b3c_7d1e_8f00_0123456789ab", "00000000-0000-0000-0000-000000000000",
		"0192e4a7-5b3c-7d1e-8f00-0123456789a\x00", strings.Repeat("é", 18),
	} {
		if id, err := ParseID(text); err == nil || !id.IsNil() || strings.Contains(err.Error(),
			"5b3c-7d1e-7f") {
			t.Errorf("%q: got %s, %v", text, id, err)
		}
	}
}

func TestIDsReadBackAsText(t *testing.T) {
	id := IDOf(1<<50, -1<<63|5)
	text, err := id.MarshalText()
	var again ID
	if err != nil || again.UnmarshalText(text) != nil || again != id {
		t.Errorf("%s: got %s", text, again)
	}
	if text, _ := NilID.MarshalText(); len(text) != 0 {
		t.Errorf("no id is written as %q", text)
	}
	if err := again.UnmarshalText([]byte("x")); err == nil || again != id {
		t.Errorf("got %v, %s", err, again)
	}
}
