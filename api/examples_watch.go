package api

import (
	"time"

	"nightshift/jobs"
)

// sampleWatched are events of what somebody has to look after, newest first.
func sampleWatched() []jobs.CloudEvent {
	event := func(id, kind, subject string, data any) jobs.CloudEvent {
		return jobs.CloudEvent{
			SpecVersion: jobs.CloudEventsVersion, ID: id, Source: "http://127.0.0.1:8700", Type: kind, Subject: subject,
			Time: sampleStart.Add(6 * time.Minute), Data: jobs.AppendJSON(nil, data),
		}
	}
	run := sampleID(sampleRun)
	long := jobs.RunLong{
		Job: "nightly-sync", Run: run, Labels: map[string]string{"team": "data"}, Correlation: sampleRun, Attempts: 1,
		State: jobs.Running, StartedAt: sampleStart, LongAfter: jobs.Duration(5 * time.Minute),
	}
	interrupted := jobs.RunInterrupted{
		Job: "nightly-sync", Run: run, Labels: map[string]string{"team": "data"}, Correlation: sampleRun, Attempts: 5,
		Interrupts: jobs.InterruptsTold, State: jobs.Queued,
		Error: &jobs.EventError{Kind: jobs.FailShutdown, Type: "shutdown", Message: "the server was stopping"},
	}
	disk := jobs.Disk{Path: "/var/lib/nightshift", Free: 700 << 20, Total: 40 << 30}
	return []jobs.CloudEvent{
		event("421", jobs.EventKeepExceeded, jobs.KeepSubject("logs"), jobs.KeepExceededData("logs", 2200<<20, 2<<30)),
		event("420", jobs.EventBackupStale, jobs.BackupSubject, &jobs.BackupStale{
			Path: "/var/lib/nightshift/backups/latest.db", AsOf: sampleStart.Add(-25 * time.Hour),
			Reason: "the newest backup is 25 hours old",
		}),
		event("419", jobs.EventBackupFailed, jobs.BackupSubject, &jobs.BackupFailed{
			Path: "/var/lib/nightshift/backups/latest.db", Reason: "the disk is full",
		}),
		event("418", jobs.EventDiskLow, jobs.DiskSubject, disk.LowData()),
		event("417", jobs.EventFailuresMany, jobs.FailuresSubject, jobs.ManyFailuresData(jobs.FailuresMany)),
		event("416", jobs.EventQueueStuck, jobs.QueueSubject("default"), &jobs.QueueStuck{
			Queue: "default", Kind: jobs.KindScript, Workers: 4, Job: "nightly-sync", Run: run, DueAt: sampleStart,
			Since: sampleStart, Reason: "run " + sampleRun + " of job nightly-sync is due and has waited 6m for nothing but one of 4 script workers",
		}),
		event("415", jobs.EventRunInterrupted, jobs.RunSubject(run), interrupted.Data()),
		event("414", jobs.EventRunLong, jobs.RunSubject(run), long.Data()),
	}
}
