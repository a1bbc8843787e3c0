package jobs

import (
	"slices"
	"strconv"
	"strings"
)

// groupAt is where a group stands in the document of a job.
const groupAt = KindGroup

// below is the location of a part of what stands at a place, "" for a document of its own.
func below(at, part string) string {
	if at == "" {
		return part
	}
	if part == "" {
		return at
	}
	return at + "." + part
}

func memberAt(at string, i int) string { return below(at, "members") + "[" + strconv.Itoa(i) + "]" }

// CheckGroup gives all that is wrong with a group by itself, its templates included, located below at, such
// as group; "": it is a document of its own.
func CheckGroup(at string, g *Group) []Fault {
	var f faults
	g.check(&f, at)
	c := &templating{}
	compileGroup(c, at, g)
	return append(f, c.found()...)
}

func (g *Group) check(f *faults, at string) {
	switch n := len(g.Members); {
	case g.Members == nil:
		f.add(below(at, "members"), "want the members, each with a name and a job; [] for a group of none")
	case n > MaxMembers:
		f.add(below(at, "members"), "want at most %d of them, got %d", MaxMembers, n)
	default:
		g.checkMembers(f, at)
	}
	if g.Merge != nil {
		f.checkJobName(below(at, "merge.job"), g.Merge.Job)
	}
	g.checkNeed(f, below(at, "need"))
	if d := g.Deadline; d != nil && (*d <= 0 || d.Std() > MaxDuration) {
		f.add(below(at, "deadline"), "want more than 0s and at most 3653d: it counts from the start of the group")
	}
	switch g.OnMemberFailure {
	case "", MemberFailureWait, MemberFailureCancelRest:
	default:
		f.add(below(at, "on_member_failure"), "is %q: want %s, or %s: the first member that is not good cancels the others",
			clip(g.OnMemberFailure, 40), MemberFailureWait, MemberFailureCancelRest)
	}
}

// maxMemberFaults is how many faults of members are listed.
const maxMemberFaults = 500

func (g *Group) checkMembers(f *faults, at string) {
	var found faults
	first := make(map[string]int, len(g.Members))
	for i := range g.Members {
		m, at := &g.Members[i], memberAt(at, i)
		before, twice := first[m.Name]
		switch {
		case m.Name == "":
			found.add(at+".name", "want a name: by it the merge tells the results apart")
		case !ValidName(m.Name):
			found.check(at+".name", errName)
		case twice:
			found.add(at+".name", "member %d has this name too: want one of its own for each", before+1)
		default:
			first[m.Name] = i
		}
		found.checkJobName(at+".job", m.Job)
		if m.Payload.given() != nil {
			found.check(at+".payload", CheckPayload(m.Payload))
		}
	}
	if n := len(found) - maxMemberFaults; n > 0 {
		found = append(found[:maxMemberFaults], andMore(n))
	}
	*f = append(*f, found...)
}

func (f *faults) checkJobName(at, name string) {
	if name == "" {
		f.add(at, "want the name of a job")
	} else {
		f.check(at, CheckName(name))
	}
}

func (g *Group) checkNeed(f *faults, at string) {
	n := g.Need.Count
	switch members := len(g.Members); {
	case n == nil:
		if g.Need.Percent < 0 || g.Need.Percent > 100 {
			f.add(at, "want %s", wantNeed)
		}
	case *n < 0:
		f.add(at, "want %s", wantNeed)
	case *n > members && members > 0:
		f.add(at, "is %d of %s: no merge could ever be made", *n, plural(members, "member"))
	}
}

// checkAsGroup refuses what has no meaning for a job that is a group.
func (j *Job) checkAsGroup(f *faults) {
	if j.Group == nil {
		return
	}
	if j.Timeout != nil {
		f.add("timeout", "a group has none: want group.deadline, or a timeout of its members' jobs")
	}
	if !isZero(j.Retry) {
		f.add("retry", "a group's run has one attempt: its members and its merge are tried again by the retry of their "+
			"own jobs")
	}
	if j.Checkpoint != nil {
		f.add("checkpoint", "a group saves none: its members do, by the checkpoint of their own jobs")
	}
}

// isZero reports whether nothing of retry is set.
func isZero(r Retry) bool { return len(AppendJSON(nil, &r)) == len("{}") }

// groupWords are what others call the parts of a group, by the place where they are written.
var groupWords = map[string]map[string][]string{
	"": {
		`"group", such as {"members": [{"name": "a", "job": "fetch-a"}], "merge": {"job": "merge-results"}}`: {
			"workflow", "fan_out", "fanout", "parallel", "chord", "steps", "batch",
		},
	},
	"group": {
		`"members", such as [{"name": "a", "job": "fetch-a"}]`: {"jobs", "tasks", "runs", "children", "steps", "parallel"},
		`"merge", such as {"job": "merge-results"}`:            {"callback", "then", "on_complete", "finally", "reduce", "join"},
		`"deadline", such as "30m"`:                            {"timeout", "expires", "ttl"},
		`"on_member_failure", which may be "cancel_rest"`:      {"fail_fast", "on_failure", "on_error", "abort_on_failure"},
		`"need", which may be "all", a number, or "60%"`:       {"min_success", "quorum", "required", "at_least", "threshold"},
	},
	"group.members": {
		`"payload"`: {"args", "input", "params", "data", "with", "body"},
		`"name"`:    {"id", "key"},
		`"job"`:     {"run", "task", "uses"},
	},
}

// FieldHint says where in a group that is a document of its own a field belongs.
func (g *Group) FieldHint(parent, name string) string { return groupHint(below(groupAt, parent), name) }

// groupHint is for what others call the parts of a group, and for what its parts do not have.
func groupHint(parent, name string) string {
	parent, _, _ = strings.Cut(parent, "[")
	for want, words := range groupWords[parent] {
		if slices.Contains(words, name) {
			return "want " + want
		}
	}
	switch {
	case parent == "group.merge" && name == "payload":
		return "it is made of the results of the members"
	case parent == "group.merge" || parent == "group.members":
		if slices.Contains([]string{"retry", "timeout", "priority", "queue", "concurrency", "labels"}, name) {
			return "it is what the job says that it names"
		}
	}
	return ""
}
