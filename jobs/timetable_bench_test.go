package jobs

import "testing"

func BenchmarkNext(b *testing.B) {
	from := Time(1_796_000_000_000) // November 2026
	for _, c := range []struct{ name, cron, zone string }{
		{"daily in UTC", "0 2 * * *", ""},
		{"daily", "0 2 * * *", "Europe/Berlin"},
		{"each minute", "* * * * *", "Europe/Berlin"},
		{"in 40 years", "0 0 29 2 */7", "Europe/Berlin"},
	} {
		b.Run(c.name, func(b *testing.B) {
			table := timetable(b, c.cron, c.zone)
			at := from
			b.ReportAllocs()
			for b.Loop() {
				if at = table.Next(at); at > 4_000_000_000_000 || at == 0 {
					at = from
				}
			}
		})
	}
}

func BenchmarkPrev(b *testing.B) {
	table := timetable(b, "* * * * *", "Europe/Berlin")
	at := Time(1_796_000_000_000)
	b.ReportAllocs()
	for b.Loop() {
		at = table.Prev(at)
	}
}

func BenchmarkCountSecondsOfTenYears(b *testing.B) {
	table := timetable(b, "* * * * * *", "Europe/Berlin")
	from := Time(1_796_000_000_000)
	for b.Loop() {
		table.Count(from, from+3653*daySeconds*1000)
	}
}

func BenchmarkTimetable(b *testing.B) {
	s := Schedule{Cron: "*/15 8-17 * * mon-fri", Timezone: "Europe/Berlin"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Timetable(0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlanTicks plans one tick that is due, and what becomes of a day of missed minutes.
func BenchmarkPlanTicks(b *testing.B) {
	table := timetable(b, "* * * * *", "Europe/Berlin")
	now := Time(1_796_000_040_000)
	limit := MaxCatchUpLimit
	for _, c := range []struct {
		name   string
		cursor Time
	}{{"on time", now - 60_000}, {"a day missed", now - daySeconds*1000}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				PlanTicks(TickInput{
					Timetable: table, CatchUp: CatchUp{Mode: CatchUpAll, Limit: &limit}, Cursor: c.cursor, Now: now,
				})
			}
		})
	}
}
