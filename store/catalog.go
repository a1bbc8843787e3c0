package store

import (
	"context"
	"strconv"
	"strings"

	"nightshift/jobs"
)

// Catalog holds what is registered: jobs with their versions, and documents of other kinds.
type Catalog interface {
	// Save saves what is given, all or none, in one transaction. Where all of it stands already
	// nothing is written. Faults are an *EntryError for each bad entry, joined, of ErrStale,
	// ErrExists, *SetError, *MissingRef, *CircleError, *NestingError and *TellsError; *NamedError for what
	// prune must not remove.
	Save(ctx context.Context, c Changes, by By) (Saved, error)
	Job(ctx context.Context, name string) (*jobs.Job, error)
	Jobs(ctx context.Context, p Page) ([]*jobs.Job, string, error)
	// DeleteJob is refused with *NamedError while another job, an alert or an unfinished group names it. stop:
	// runs with an attempt under way that is to end, for they were members of its groups.
	DeleteJob(ctx context.Context, name string, ifMatch *int64, by By) (cancelled int, stop []jobs.ID, err error)
	PauseJob(ctx context.Context, name string, paused bool, note string, by By) (*jobs.Job, error)
	Versions(ctx context.Context, job string, p Page) ([]jobs.Version, string, error)
	Version(ctx context.Context, job string, version int) (*jobs.Version, error)
	// UpgradeRuns moves the unfinished runs of a job that are not running to its newest version.
	UpgradeRuns(ctx context.Context, job string, by By) (moved int, err error)

	Document(ctx context.Context, kind, name string) (*Document, error)
	// Documents lists those of a kind, newest first.
	Documents(ctx context.Context, kind string, p Page) ([]*Document, string, error)
	// DeleteDocument is refused with *NamedError while a job names it, but for the policy default:
	// the built-in one is put back, and so are the limits of queues and dependencies.
	DeleteDocument(ctx context.Context, kind, name string, ifMatch *int64, by By) error
}

// Changes are what is to be saved at once.
type Changes struct {
	// Set is that of an apply: what it makes bears it, and what it applies to and bears none.
	// "": what stands keeps its set.
	Set       string
	Documents []PutDocument
	Jobs      []PutJob
	Prune     bool // remove what bears Set and is not among these
	DryRun    bool // find out what would become of it, and change nothing
}

// PutJob is a job to be saved.
type PutJob struct {
	Job     *jobs.Job
	IfMatch *int64 // the revision it must have
	Create  bool   // ErrExists where it stands
}

// PutDocument is a document to be saved.
type PutDocument struct {
	Kind    string // KindPolicy, KindQueue, KindDependency, KindSchedule, KindAlert
	Name    string
	Doc     jobs.Raw // in the one way in which equal documents are written
	IfMatch *int64
	Create  bool
}

// What is registered, in the audit, in Removed and in faults.
const (
	KindJob    = jobs.RefJob
	KindPolicy = jobs.RefPolicy

	KindQueue      = "queue"
	KindDependency = "dependency"
)

// Document is what is registered besides jobs.
type Document struct {
	Kind, Name string
	Set        string // of the apply that made it; "": none
	Doc        jobs.Raw
	Revision   int64
	CreatedAt  jobs.Time
	UpdatedAt  jobs.Time
}

// Saved says what Changes did, or would do, entry by entry.
type Saved struct {
	Jobs      []SavedJob
	Documents []SavedDocument
	Removed   []Removed
	Stop      []jobs.ID // runs with an attempt under way that is to end: members of groups whose job prune removed
}

// SavedJob says what a PutJob did.
type SavedJob struct {
	Job     *jobs.Job // as it stands now
	Before  *jobs.Job // as it stood; nil: it did not
	Created bool
	Changed bool // of its document; true for a created one
}

// SavedDocument says what a PutDocument did.
type SavedDocument struct {
	Document *Document
	Before   *Document
	Created  bool
	Changed  bool
}

// Removed is what prune removed.
type Removed struct {
	Kind, Name string
	Runs       int // of a job, that were cancelled
}

// SetError is an entry of an apply that another set bears.
type SetError struct {
	Kind, Name, Set string
}

func (e *SetError) Error() string {
	return e.Kind + " " + e.Name + " belongs to the set " + e.Set
}

// Unwrap makes it an ErrSet.
func (e *SetError) Unwrap() error { return ErrSet }

// MissingRef is a name in a document that nothing bears.
type MissingRef struct {
	Location   string // in the document
	Kind, Name string
}

func (e *MissingRef) Error() string {
	return "there is no " + e.Kind + " " + e.Name + ": make it first, or in the same apply"
}

// CircleError is a job whose run would make a run of itself in the end: by on_success, or as a group by its
// members and its merge.
type CircleError struct {
	Location string   // in the document of the entry
	Path     []string // jobs, from that of the entry to itself
}

func (e *CircleError) Error() string {
	return "a circle of on_success, members and merges, which would never end: " + strings.Join(e.Path, " → ")
}

// NestingError is a group by which more groups stand inside one another than may.
type NestingError struct {
	Location string   // in the document of the entry
	Path     []string // groups, from the outermost to the innermost
}

func (e *NestingError) Error() string {
	return "groups stand " + strconv.Itoa(len(e.Path)) + " deep inside one another, by " +
		strings.Join(e.Path, " → ") + ": want at most " + strconv.Itoa(jobs.MaxGroupDepth)
}

// NamedError refuses to delete what others name.
type NamedError struct {
	Kind, Name string
	By         []string // jobs, sorted
	Alerts     []string // sorted
	// Groups are unfinished runs of groups that name it, not all of them; the others are nil then.
	Groups []jobs.ID
}

func (e *NamedError) Error() string {
	if len(e.Groups) > 0 {
		return e.Kind + " " + e.Name + " is named by " + groupsInWords(e.Groups) +
			", which did not end yet: wait for that, or cancel it first"
	}
	var by []string
	if len(e.By) > 0 {
		by = append(by, "job "+strings.Join(e.By, ", "))
	}
	if len(e.Alerts) > 0 {
		by = append(by, "alert "+strings.Join(e.Alerts, ", "))
	}
	return e.Kind + " " + e.Name + " is named by " + strings.Join(by, " and by ") +
		": change or delete that first"
}

// TellsError is a job that an alert runs and that would make runs of others.
type TellsError struct {
	Location   string // in the document of the entry, which is the alert's or the job's
	Alert, Job string
	Field      string // of the job: group, on_success
}

func (e *TellsError) Error() string {
	if e.Location == e.Field {
		return "alert " + e.Alert + " runs this job, and what an alert runs tells people and starts nothing else: " +
			"give the alert another job first"
	}
	return "job " + e.Job + " has " + e.Field + ": what an alert runs tells people and starts nothing else"
}

// groupsInWords names some of the runs of groups.
func groupsInWords(runs []jobs.ID) string {
	if len(runs) == 1 {
		return "the group " + runs[0].String()
	}
	names := make([]string, len(runs))
	for i, id := range runs {
		names[i] = id.String()
	}
	return "the groups " + strings.Join(names, ", ")
}
