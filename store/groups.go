package store

import (
	"context"

	"nightshift/jobs"
)

// Groups holds what groups are made of. A group's run is claimed as any other; the Finish that starts it
// (Finish.Group) makes its members in the same transaction and has it wait. The transaction in which the
// last member ends makes the merge run, whatever ends that member; the one in which the merge ends, or
// the last member where there is no merge, gives the group back (Claimed.Groups) to be ended.
type Groups interface {
	// Group is how the group of a run stands. ErrNotFound where there is no such run, or it is no group.
	Group(ctx context.Context, run jobs.ID) (*GroupInfo, error)
	// Members lists the members of a group's run in their order; none before it has started.
	Members(ctx context.Context, run jobs.ID, p Page) ([]GroupMember, string, error)
	// Results reads what has become of each member, in their order, with its result, few at a time. Of one
	// that was requeued since, and has not ended, it gives the run before. each may be slow: it is called
	// outside of transactions.
	Results(ctx context.Context, run jobs.ID, each func(*GroupMember) error) error
	// KeepPayload keeps the payload of a merge that has none yet. ErrState where it has one.
	KeepPayload(ctx context.Context, f Fence, payload jobs.Raw) error
	// Remerge makes one more merge run of a group that has ended, from a draft. ErrState while the group, a
	// member or a merge has not ended.
	Remerge(ctx context.Context, of jobs.ID, draft *jobs.Run, by By) (Submitted, error)
	// UseIDs gives the store what it names the merges by that it makes.
	UseIDs(ids *jobs.IDs)
}

// GroupPhase is how far a group has come. The numbers are stored.
type GroupPhase int

// The phases.
const (
	GroupNew     GroupPhase = 0 // its members have not been made
	GroupMembers GroupPhase = 1 // some have not ended
	GroupMerging GroupPhase = 2 // its merge has not ended
	GroupEnding  GroupPhase = 3 // all is over: it is to be ended
	GroupGiven   GroupPhase = 4 // a process has been told so
	GroupOver    GroupPhase = 5
)

// GroupLease is what a group's run is made of when it is to start.
type GroupLease struct {
	Doc jobs.Group
	// KeepOf is the run it was requeued from: members that succeeded there are kept. NilID: it starts anew.
	KeepOf jobs.ID
	Depth  int // 1: it is in no other group
}

// GroupStart are the members of a group, fixed now.
type GroupStart struct {
	Doc     jobs.Group    // without payloads
	Members []MemberStart // in the order of the document
	// Merge is the draft of the merge run, without an id and a payload: what its keys and its host are is
	// known from the start. nil: there is none.
	Merge    *jobs.Run
	Deadline jobs.Time // zero: none
}

// MemberStart is a member of a group that starts.
type MemberStart struct {
	Name, Job string
	// Keep is a run that stands for it already, made by the group's run before: it succeeded, or has not
	// ended. NilID: Sub is made.
	Keep jobs.ID
	// Of is the run of it that Sub takes the place of, as a requeue. NilID: none.
	Of  jobs.ID
	Sub Submission // as of Enqueue; its unique key is not asked
}

// EndedGroup is a group of which all is over.
type EndedGroup struct {
	Lease // of the group's run, as it waits
	Tally GroupTally
	// Merge is how its merge ended, with its result; nil: none was made.
	Merge *jobs.Run
	// Bad is the member that failed first, else the first that is missing, and Why it failed; "": all were good.
	Bad string
	Why *jobs.Failure // nil: it is missing
}

// GroupTally counts members.
type GroupTally struct {
	Members, Succeeded, Failed, Missing, Unfinished int
}

// GroupInfo is how a group stands.
type GroupInfo struct {
	Doc      jobs.Group // without payloads, once it has started
	Phase    GroupPhase
	Depth    int
	Deadline jobs.Time // zero: none
	Tally    GroupTally
	Merges   []*jobs.Run // as in lists, oldest first
	// Draft is what a merge is made from (GroupStart.Merge); nil: there is no merge.
	Draft *jobs.Run
}

// GroupMember is a member of a group and the newest run of it.
type GroupMember struct {
	Place     int
	Name, Job string
	// Run is as in lists, of Results with its result; nil: it is not kept any more, or none could be made.
	Run *jobs.Run
	ID  jobs.ID // of that run, kept or not; NilID: none could be made
	// Missing: it was cancelled, is not kept, or had not ended by the deadline.
	Missing bool
}
