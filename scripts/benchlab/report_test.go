package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestAFigureIsTheMedianOfPairedRuns(t *testing.T) {
	w := row{key: "a", peer: "b", label: "x", unit: "s", target: atLeast(3)}
	f, ok := w.figure(probe{vs: "river"},
		[]values{{"a": 10}, {"a": 90}, {"a": 40}}, []values{{"b": 10}, {"b": 20}, {"b": 10}})
	if !ok {
		t.Fatal("no figure")
	}
	// The ratios of the pairs are 1, 4.5 and 4.
	if f.Nightshift.Median != 40 || f.Peer.Median != 10 || f.Ratio.Median != 4 {
		t.Errorf("got %v, %v, %v: want 40, 10, 4", f.Nightshift, f.Peer, f.Ratio)
	}
}

func TestATargetIsJudgedOnTheRatioOrOnTheValueItself(t *testing.T) {
	one := func(own, peer float64, to target, short bool) *bool {
		f, _ := row{key: "a", peer: "b"}.figure(probe{}, []values{{"a": own}}, []values{{"b": peer}})
		f.judge(to, short)
		return f.Met
	}
	for _, c := range []struct {
		name      string
		own, peer float64
		to        target
		want      bool
	}{
		{"ratio high enough", 35, 10, atLeast(3.5), true},
		{"ratio too low", 34, 10, atLeast(3.5), false},
		{"ratio low enough", 5, 10, atMost(0.55), true},
		{"ratio too high", 6, 10, atMost(0.55), false},
		{"value within", 119, 1, within(120), true},
		{"value over", 121, 1000, within(120), false},
	} {
		if got := one(c.own, c.peer, c.to, false); got == nil || *got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
		if got := one(c.own, c.peer, c.to, true); got != nil {
			t.Errorf("%s: judged although the run was short", c.name)
		}
	}
}

func TestWithoutAPeerThereIsNoRatioAndNoVerdict(t *testing.T) {
	f, ok := row{key: "a", peer: "b"}.figure(probe{}, []values{{"a": 1}}, nil)
	f.judge(atLeast(3), false)
	if !ok || f.Ratio != nil || f.Met != nil || f.wanted != "≥ 3" {
		t.Errorf("got %+v", f)
	}
}

func TestTheTableAlignsAndSaysMISS(t *testing.T) {
	f, _ := row{key: "a", peer: "b", label: "drain", unit: "runs/s"}.figure(
		probe{vs: "river"}, []values{{"a": 12345}}, []values{{"b": 5000}})
	f.judge(atLeast(3.5), false)
	var out strings.Builder
	if err := (&report{Peer: "river", Figures: []figure{f}}).print(&out); err != nil {
		t.Fatal(err)
	}
	want := "drain   runs/s      12,345  5,000   2.47   ≥ 3.5  MISS\n"
	if !strings.HasSuffix(out.String(), want) {
		t.Errorf("got\n%s\nwant it to end with\n%s", out.String(), want)
	}
}

func TestBesideAnotherBinaryEachFigureHasItsRatioAndNoTargetOfAnotherPeer(t *testing.T) {
	l := &lab{binary: "new"}
	var measured []string
	p := probe{
		vs: "river", rows: []row{
			{key: "per_s", peer: "other", target: atLeast(3)}, {key: "mib", target: within(120)}, {peer: "echo_us"},
		},
		setup: func(l *lab) (ours, peer measurement) {
			ours = func(context.Context) (values, error) {
				measured = append(measured, l.binary)
				return values{"per_s": float64(len(measured)), "mib": 1}, nil
			}
			return ours, nil
		},
	}.beside("old")
	p.reps = 1
	r := &report{}
	if err := r.take(t.Context(), l, p); err != nil {
		t.Fatal(err)
	}
	if len(measured) != 2 || measured[0] != "new" || measured[1] != "old" || l.binary != "new" {
		t.Errorf("measured %q, and then there is %s", measured, l.binary)
	}
	if len(r.Figures) != 2 {
		t.Fatalf("got %d figures, want those of two rows", len(r.Figures))
	}
	for i, want := range []struct {
		ratio  float64
		target string
	}{{0.5, ""}, {1, "≤ 120"}} {
		f := r.Figures[i]
		if f.Ratio == nil || f.Ratio.Median != want.ratio || f.wanted != want.target || f.Against != "beside" {
			t.Errorf("%s: got %+v, want ratio %v and target %q", f.Key, f, want.ratio, want.target)
		}
	}
}

func TestQuantiles(t *testing.T) {
	var all []time.Duration
	for i := 100; i > 0; i-- {
		all = append(all, time.Duration(i)*time.Millisecond)
	}
	if p50, p99 := quantile(all, 0.50), quantile(all, 0.99); p50 != 51 || p99 != 100 {
		t.Errorf("got %v and %v, want 51 and 100", p50, p99)
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("got %v for none, want 0", got)
	}
}

func TestPayloadsKeepTheirSizeNumberAndTime(t *testing.T) {
	for _, c := range []struct {
		n  int
		at int64
	}{{0, 0}, {99_999_999, 1_764_450_000_123_456_789}} {
		body := payload(c.n, c.at)
		n, at, err := readPayload(body)
		if err != nil || n != c.n || at != c.at || len(body) != payloadSize {
			t.Errorf("%d, %d: got %d, %d, %v in %d bytes", c.n, c.at, n, at, err, len(body))
		}
	}
	if _, _, err := readPayload([]byte(`{"x":1}`)); err == nil {
		t.Error("a foreign body was taken for a payload")
	}
}

func TestTheReceiverTellsLostDoubledAndForeignRuns(t *testing.T) {
	ctx := context.Background()
	r, err := listenReceiver(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.close()
	client := webhookClient(1)
	send := func(body []byte) {
		t.Helper()
		if err := post(ctx, client, r.url(), body); err != nil {
			t.Fatal(err)
		}
	}
	round := r.begin(2)
	send(payload(1, time.Now().UnixNano()))
	if err := round.check(); err == nil {
		t.Error("a lost run was not noticed")
	}
	send(payload(0, 0))
	if err := round.wait(ctx, 2); err != nil {
		t.Error(err)
	}
	if err := round.check(); err != nil {
		t.Error(err)
	}
	if got := round.waits(); len(got) != 1 || got[0] <= 0 {
		t.Errorf("waits %v: want one, above zero", got)
	}
	send(payload(1, 0))
	if err := round.check(); err == nil {
		t.Error("a run that came twice was not noticed")
	}
	round = r.begin(1)
	send(payload(0, 0))
	send(payload(7, 0))
	if err := round.check(); err == nil {
		t.Error("an unknown run was not noticed")
	}
}

func TestUnknownFlagsAndNamesAreRefused(t *testing.T) {
	for _, args := range [][]string{
		{"--peer", "sidekiq"},
		{"--only", "drain,nothing"},
		{"--reps", "-1"},
		{"extra"},
		{"--short", "--only", "million"},
	} {
		if _, err := readOptions(args); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}

func TestRiverCarriesTheSamePayload(t *testing.T) {
	got, err := json.Marshal(riverJob(42, 1_764_450_000_123_456_789))
	if err != nil {
		t.Fatal(err)
	}
	if want := payload(42, 1_764_450_000_123_456_789); string(got) != string(want) {
		t.Errorf("River's %s is not ours, %s", got, want)
	}
}
