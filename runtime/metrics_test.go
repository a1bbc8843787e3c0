package runtime_test

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
