package api

import (
	"fmt"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
)

const sampleReads = "at 03:00, Monday to Friday, Europe/Berlin"

// sampleSchedule stands by itself.
func sampleSchedule() wire.StandingSchedule {
	return wire.StandingSchedule{
		Schedule: jobs.Schedule{
			Name: "sync-acme", Job: "nightly-sync", Cron: "0 3 * * mon-fri", Timezone: "Europe/Berlin",
			Payload: jobs.Raw(`{"customer":"acme"}`), LateAfter: new(jobs.Duration(2 * time.Hour)),
		},
		Reads: sampleReads, Next: sampleStart.Add(24 * time.Hour), Last: new(sampleTick()),
		CreatedAt: sampleStart.Add(-240 * time.Hour), UpdatedAt: sampleStart.Add(-72 * time.Hour),
	}
}

// sampleScheduleOfJob stands in the document of its job.
func sampleScheduleOfJob() wire.StandingSchedule {
	return wire.StandingSchedule{
		Schedule: jobs.Schedule{
			Name: "mail-out:default", Job: "mail-out", Every: new(jobs.Duration(15 * time.Minute)),
			CatchUp: jobs.CatchUp{Mode: jobs.CatchUpAll, Limit: new(20)}, Overlap: jobs.OverlapSkip,
		},
		InJob: true, Reads: "every 15 minutes", Next: sampleStart.Add(9 * time.Minute), Last: new(sampleSkipped()),
		Set: "default", CreatedAt: sampleStart.Add(-72 * time.Hour), UpdatedAt: sampleStart,
	}
}

func samplePausedSchedule() wire.StandingSchedule {
	s := sampleSchedule()
	s.Paused, s.PauseNote, s.Next = true, "the warehouse is being moved", 0
	return s
}

func sampleNewSchedule() wire.StandingSchedule {
	s := sampleSchedule()
	s.Last, s.CreatedAt, s.UpdatedAt = nil, sampleStart, sampleStart
	return s
}

func sampleTick() wire.Tick {
	return wire.Tick{At: sampleStart, Outcome: jobs.TickRan, Run: sampleID(sampleRun)}
}

// sampleSkipped are the ticks of an outage that were too late.
func sampleSkipped() wire.Tick {
	return wire.Tick{
		From: sampleStart.Add(-4 * time.Hour), To: sampleStart.Add(-time.Hour), Count: 13,
		Outcome: jobs.TickSkipped, Reason: new(jobs.SkipMissed),
	}
}

func sampleTicks() wire.Ticks {
	return wire.Ticks{Items: []wire.Tick{
		sampleTick(),
		{
			At: sampleStart.Add(-15 * time.Minute), Outcome: jobs.TickSkipped, Reason: new(jobs.SkipOverlap),
		},
		{
			At: sampleStart.Add(-30 * time.Minute), Outcome: jobs.TickCaughtUp, Run: sampleID(sampleRequeue),
		},
		sampleSkipped(),
	}, Next: new(fmt.Sprint(int64(sampleStart.Add(-4 * time.Hour)))), Limit: 4}
}

// sampleTimeline has an outage, and what was caught up after it.
func sampleTimeline() wire.Timeline {
	row := wire.TimelineRow{
		Schedule: "mail-out:default", Job: "mail-out", Reads: "every 15 minutes", Timezone: "UTC",
		NextTick: sampleStart.Add(9 * time.Minute), Last: new(sampleTick()),
		Cells: []wire.TimelineCell{
			{At: sampleStart.Add(-time.Hour), TickCounts: wire.TickCounts{Missed: 1, CaughtUp: 1}},
			{At: sampleStart.Add(-30 * time.Minute), TickCounts: wire.TickCounts{Ran: 2, Late: 1}},
			{At: sampleStart, TickCounts: wire.TickCounts{Ran: 1, Planned: 1}},
			{At: sampleStart.Add(30 * time.Minute), TickCounts: wire.TickCounts{Planned: 2}},
		},
	}
	for i := range row.Cells {
		row.Total.Add(row.Cells[i].TickCounts)
	}
	return wire.Timeline{
		Now: sampleStart, From: sampleStart.Add(-time.Hour), Until: sampleStart.Add(time.Hour),
		Step: jobs.Duration(30 * time.Minute), Items: []wire.TimelineRow{row}, Limit: 50,
	}
}

func samplePreviewed() wire.PreviewedSchedule {
	return wire.PreviewedSchedule{Items: []jobs.Time{
		sampleStart, sampleStart.Add(24 * time.Hour), sampleStart.Add(48 * time.Hour),
	}, Reads: sampleReads}
}

// sampleScheduled is a run that a tick made, and that waits for the one before.
func sampleScheduled() wire.Run {
	r := sampleQueued()
	r.Trigger, r.Schedule, r.ScheduledFor = string(jobs.TriggerSchedule), new("sync-acme"), sampleStart
	r.Payload, r.CorrelationID, r.IdempotencyKey = jobs.Raw(`{"customer":"acme"}`), new(sampleRun), nil
	r.CreatedBy, r.Traceparent, r.Duplicate, r.WatchURL = nil, nil, nil, ""
	r.HeldBy = &jobs.HeldBy{
		Kind: jobs.HeldOverlap, Name: "sync-acme",
		Reason: "it waits for an earlier run of the schedule sync-acme to end",
	}
	return r
}

// sampleMissed tells of ticks that were skipped after an outage.
func sampleMissed() jobs.CloudEvent {
	return jobs.CloudEvent{
		SpecVersion: jobs.CloudEventsVersion, ID: "411", Source: "http://127.0.0.1:8700",
		Type: jobs.EventScheduleMissed, Subject: jobs.ScheduleSubject("mail-out:default"), Time: sampleStart,
		Data: jobs.AppendJSON(nil, &jobs.ScheduleMissed{
			Schedule: "mail-out:default", Job: "mail-out", Count: 13, FirstAt: sampleStart.Add(-4 * time.Hour),
			LastAt: sampleStart.Add(-time.Hour), CaughtUp: 3,
		}),
	}
}

// sampleLate tells of a tick whose run has not succeeded in time.
func sampleLate() jobs.CloudEvent {
	return jobs.CloudEvent{
		SpecVersion: jobs.CloudEventsVersion, ID: "413", Source: "http://127.0.0.1:8700",
		Type: jobs.EventScheduleLate, Subject: jobs.ScheduleSubject("sync-acme"), Time: sampleStart.Add(2 * time.Hour),
		Data: jobs.AppendJSON(nil, &jobs.ScheduleLate{
			Schedule: "sync-acme", Job: "nightly-sync", Run: sampleID(sampleRun), ScheduledFor: sampleStart,
			Deadline: sampleStart.Add(2 * time.Hour), State: jobs.Retrying,
			Reason: "the run for 2026-11-30T02:00:00.000Z has not succeeded by 2026-11-30T04:00:00.000Z",
		}),
	}
}
