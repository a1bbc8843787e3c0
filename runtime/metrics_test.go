package runtime_test

import (
	"testing"

	"nightshift/runtime"
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
