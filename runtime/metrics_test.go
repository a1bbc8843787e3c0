package runtime_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

// skipped is how many ticks the metrics of the process say were skipped, for whatever reason but a pause.
func (s *server) skipped() (n int) {
	s.t.Helper()
	families, err := s.rt.Metrics().Registry().Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "nightshift_schedule_ticks_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			is := map[string]string{}
			for _, label := range m.GetLabel() {
				is[label.GetName()] = label.GetValue()
			}
			if is["outcome"] == "skipped" && is["reason"] != "paused" {
				n += int(m.GetCounter().GetValue())
			}
		}
	}
	return n
}

// counter is what a counter without labels has come to.
func counter(t *testing.T, rt *runtime.Runtime, name string) float64 {
	t.Helper()
	families, err := rt.Metrics().Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}

// Where jobs come and go, those that stand have series of their own, and those that are gone have none.
func TestSeriesOfDeletedJobsVanish(t *testing.T) { // case 187
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, succeed)
		s.rt.Start()
		defer s.stop()
		series := func() map[string]bool {
			families, err := s.rt.Metrics().Registry().Gather()
			if err != nil {
				t.Fatal(err)
			}
			names := map[string]bool{}
			for _, family := range families {
				for _, m := range family.GetMetric() {
					for _, label := range m.GetLabel() {
						if label.GetName() == "job" {
							names[label.GetValue()] = true
						}
					}
				}
			}
			return names
		}
		run := func(name string) {
			s.put(`{"name":"` + name + `","webhook":{"url":"http://127.0.0.1:9/"}}`)
			s.awaitEnd(s.submit(jobs.Request{Job: name}))
		}
		run("stays")
		run("goes")
		if got := series(); !got["stays"] || !got["goes"] {
			t.Fatalf("there are series of %v", got)
		}
		if _, err := s.rt.DeleteJob(context.Background(), "goes", nil, store.By{Actor: "test"}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		if got := series(); !got["stays"] || got["goes"] {
			t.Errorf("after its deletion there are series of %v", got)
		}
		run("goes")
		if got := series(); !got["goes"] {
			t.Error("made again it has none")
		}
	})
}
