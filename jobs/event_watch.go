package jobs

import (
	"fmt"
	"time"
)

// When those who watch are told (contract 10).
const (
	InterruptsTold = 5               // attempts in a row that the server ended
	StuckAfter     = 5 * time.Minute // a due run waits for nothing but a worker
	FailuresMany   = 10_000          // open failures

	diskFloor      = 1 << 30 // bytes free
	diskPercent    = 5       // of all
	wellAgainTenth = 11      // tenths of a bound that must be passed before it is told anew
)

// RunLong is the data of EventRunLong.
type RunLong struct {
	Job         string            `json:"job" doc:"The job"`
	Run         ID                `json:"run" doc:"That has not ended"`
	Labels      map[string]string `json:"labels" doc:"Of the run"`
	Correlation string            `json:"correlation_id" doc:"Of the run"`
	Schedule    *string           `json:"schedule" doc:"The whole name of the schedule that made it; null: none"`
	Attempts    int               `json:"attempts" doc:"How many have started"`
	State       State             `json:"state" doc:"Of the run when this was noticed"`
	StartedAt   Time              `json:"started_at" doc:"When its first attempt started"`
	LongAfter   Duration          `json:"long_after" doc:"Of the job"`
	Reason      string            `json:"reason" doc:"In words"`
}

// Data is the event's data as it is kept.
func (d *RunLong) Data() Raw {
	said := *d
	said.Labels = someLabels(d.Labels)
	said.Reason = fmt.Sprintf("it has not ended %s after its first attempt started", d.LongAfter)
	return AppendJSON(nil, &said)
}

// RunInterrupted is the data of EventRunInterrupted.
type RunInterrupted struct {
	Job         string            `json:"job" doc:"The job"`
	Run         ID                `json:"run" doc:"Whose attempts were interrupted"`
	Labels      map[string]string `json:"labels" doc:"Of the run"`
	Correlation string            `json:"correlation_id" doc:"Of the run"`
	Schedule    *string           `json:"schedule" doc:"The whole name of the schedule that made it; null: none"`
	Attempts    int               `json:"attempts" doc:"How many have started"`
	Interrupts  int               `json:"interrupts" doc:"How many in a row the server ended, without a new checkpoint in between"`
	State       State             `json:"state" doc:"Of the run from then on: failed where the server died five times"`
	Error       *EventError       `json:"error" doc:"Of the last of them: its kind is shutdown, lost or crash_loop"`
	Reason      string            `json:"reason" doc:"In words"`
}

// Data is the event's data as it is kept.
func (d *RunInterrupted) Data() Raw {
	said := *d
	said.Labels = someLabels(d.Labels)
	said.Reason = fmt.Sprintf("the server has ended %d attempts in a row, and no checkpoint was saved in between",
		d.Interrupts)
	return AppendJSON(nil, &said)
}

func someLabels(labels map[string]string) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}

// QueueStuck is the data of EventQueueStuck.
type QueueStuck struct {
	Queue   string `json:"queue" doc:"Its name"`
	Kind    string `json:"kind" doc:"The sort of worker that its runs wait for: webhook, script, mail or group"`
	Workers int    `json:"workers" doc:"How many of these there are"`
	Job     string `json:"job" doc:"Of the oldest run that waits"`
	Run     ID     `json:"run" doc:"The oldest run that waits"`
	DueAt   Time   `json:"due_at" doc:"When that run was due"`
	Since   Time   `json:"since" doc:"Since when nothing but a worker was missing"`
	Reason  string `json:"reason" doc:"In words"`
}

// QueueSubject is the subject of events about a queue.
func QueueSubject(name string) string { return "queue/" + name }

// ManyFailures is the data of EventFailuresMany.
type ManyFailures struct {
	Count  int    `json:"count" doc:"How many are open: 10000, or more"`
	Reason string `json:"reason" doc:"In words"`
}

// FailuresSubject is the subject of events about all failures together.
const FailuresSubject = "failures"

// ManyFailuresData is the data of the event that so many are open.
func ManyFailuresData(count int) Raw {
	return AppendJSON(nil, &ManyFailures{
		Count:  count,
		Reason: fmt.Sprintf("%d failures or more are open: nobody has requeued, resolved or ignored them", count),
	})
}

// FewerFailures reports whether so few failures are open that many are told of anew.
func FewerFailures(count int) bool { return count < FailuresMany-FailuresMany/10 }

// DiskLow is the data of EventDiskLow.
type DiskLow struct {
	Path   string `json:"path" doc:"The folder of the database"`
	Free   int64  `json:"free" doc:"Bytes"`
	Total  int64  `json:"total" doc:"Bytes"`
	Reason string `json:"reason" doc:"In words"`
}

// DiskSubject is the subject of events about the disk of the database.
const DiskSubject = "disk"

// Disk is how full the disk of the database is, in bytes.
type Disk struct {
	Path        string // the folder of the database
	Free, Total int64
}

// Low reports whether little is free.
func (d Disk) Low() bool { return d.below(10) }

// Well reports whether enough is free that little is told of anew.
func (d Disk) Well() bool { return !d.below(wellAgainTenth) }

// below compares what is free with so many tenths of the bounds.
func (d Disk) below(tenths int64) bool {
	return d.Free < diskFloor/10*tenths || d.Free < d.Total/1000*diskPercent*tenths
}

// LowData is the data of the event that little is free.
func (d Disk) LowData() Raw {
	return AppendJSON(nil, &DiskLow{
		Path: d.Path, Free: d.Free, Total: d.Total,
		Reason: fmt.Sprintf("%d MiB of %d MiB are free where the database is: want at least 1 GiB, and %d %%",
			d.Free>>20, d.Total>>20, diskPercent),
	})
}

// KeepExceeded is the data of EventKeepExceeded.
type KeepExceeded struct {
	Kind   string `json:"kind" doc:"logs, runs or events"`
	Kept   int64  `json:"kept" doc:"Bytes"`
	Most   int64  `json:"most" doc:"Bytes that may be kept: --keep-logs, --keep-runs, --keep-events"`
	Reason string `json:"reason" doc:"In words"`
}

// KeepSubject is the subject of events about how much is kept of something.
func KeepSubject(kind string) string { return "kept/" + kind }

// KeepExceededData is the data of the event that more is kept than may be.
func KeepExceededData(kind string, kept, most int64) Raw {
	return AppendJSON(nil, &KeepExceeded{
		Kind: kind, Kept: kept, Most: most,
		Reason: fmt.Sprintf("%d MiB are kept of %s where --keep-%s allows %s, and the rest may not be pruned: it belongs to open "+
			"failures or to groups that have not ended, or it is new", kept>>20, kind, kind, Size(most)),
	})
}

// BackupFailed is the data of EventBackupFailed.
type BackupFailed struct {
	Path   string `json:"path" doc:"The file that was to be written"`
	Reason string `json:"reason" doc:"Why it was not, in words"`
}

// BackupStale is the data of EventBackupStale.
type BackupStale struct {
	Path   string `json:"path" doc:"The newest backup"`
	AsOf   Time   `json:"as_of" doc:"What it holds is as of then; null: there is none"`
	Reason string `json:"reason" doc:"In words"`
}

// BackupSubject is the subject of events about backups.
const BackupSubject = "backup"
