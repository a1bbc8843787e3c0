package jobs

// Bounds of groups (contract 8).
const (
	MaxMembers    = 10_000
	MaxGroupDepth = 8
	// MaxGroupPayloads bounds what the payloads of a group's members are together.
	MaxGroupPayloads = 64 << 20
	// MaxInlined is up to what size a merge's payload holds the results themselves.
	MaxInlined = 1 << 20
)

// GroupJob is the name of the job whose runs are groups that no job describes.
const GroupJob = "_group"

// Group runs members side by side, then one merge run that gets all results, good and bad.
type Group struct {
	Members []Member `json:"members" max:"10000"`
	Merge   *Merge   `json:"merge,omitempty"`
	// Need is how many good members it takes for the merge, and for the group to succeed; left out: one.
	Need            Need      `json:"need,omitzero"`
	Deadline        *Duration `json:"deadline,omitempty"`          // from the start; nil: none
	OnMemberFailure string    `json:"on_member_failure,omitempty"` // wait | cancel_rest; "": wait
}

// Member is one of the runs of a group.
type Member struct {
	Name    string `json:"name"`
	Job     string `json:"job"`
	Payload Raw    `json:"payload,omitempty"` // a template over the group's payload; nil: all of that
}

// Merge is the run that gets the results.
type Merge struct {
	Job string `json:"job"`
}

// What on_member_failure may say.
const (
	MemberFailureWait       = "wait"
	MemberFailureCancelRest = "cancel_rest"
)

// Need is how many members have to be good: a number, or a part of all. The zero value is one of them.
type Need struct {
	Count   *int // nil: see Percent
	Percent int  // 1 to 100, rounded up; 0: one member
}

// Of is how many of n members have to be good. It may be more than n: then no merge is made, but for 0
// members, of which none has to be good.
func (n Need) Of(members int) int {
	switch {
	case members == 0:
		return 0
	case n.Count != nil:
		return *n.Count
	case n.Percent > 0:
		return (members*n.Percent + 99) / 100
	}
	return 1
}

// CancelsRest reports whether the first bad member cancels the others.
func (g *Group) CancelsRest() bool { return g.OnMemberFailure == MemberFailureCancelRest }

// DropNulls makes of a payload that is null one that is left out.
func (g *Group) DropNulls() {
	for i := range g.Members {
		g.Members[i].Payload = g.Members[i].Payload.given()
	}
}

// Plain writes the same in the one way in which equal groups are written.
func (g *Group) Plain() *Group {
	made := *g
	if made.OnMemberFailure == MemberFailureWait {
		made.OnMemberFailure = ""
	}
	if n := made.Need.Count; n != nil && *n == 1 {
		made.Need = Need{}
	}
	return &made
}

// Jobs are the names of the jobs of its members and its merge, and where they stand below at.
func (g *Group) Jobs(at string) []Ref {
	refs := make([]Ref, 0, len(g.Members)+1)
	for i := range g.Members {
		refs = append(refs, Ref{RefJob, g.Members[i].Job, memberAt(at, i) + ".job"})
	}
	if g.Merge != nil {
		refs = append(refs, Ref{RefJob, g.Merge.Job, below(at, "merge.job")})
	}
	return refs
}
