package jobs

// maxNamed is how many members an event names of a sort; the rest is in the counts.
const maxNamed = 100

// GroupPartial is the data of EventGroupPartial: a group of which not all members are good goes on with
// what there is.
type GroupPartial struct {
	Job            string            `json:"job" doc:"Of the group: _group where no job describes it"`
	Run            ID                `json:"run" doc:"The group's"`
	Labels         map[string]string `json:"labels" doc:"Of the group's run"`
	Correlation    string            `json:"correlation_id" doc:"Of the group's run"`
	Schedule       *string           `json:"schedule" doc:"The whole name of the schedule that made it; null: none"`
	Members        int               `json:"members" doc:"How many there are"`
	Succeeded      int               `json:"succeeded" doc:"How many of them are good"`
	Need           int               `json:"need" doc:"How many good ones it takes"`
	Failed         []string          `json:"failed" doc:"Names of those that failed, the first 100 in the order of the members"`
	Missing        []string          `json:"missing" doc:"Names of those that were cancelled or not done by the deadline, likewise"`
	FailedMembers  int               `json:"failed_members" doc:"How many failed"`
	MissingMembers int               `json:"missing_members" doc:"How many are missing"`
}

// Fail notes a member that failed.
func (g *GroupPartial) Fail(name string) {
	if g.FailedMembers++; g.FailedMembers <= maxNamed {
		g.Failed = append(g.Failed, name)
	}
}

// Miss notes a member that is missing.
func (g *GroupPartial) Miss(name string) {
	if g.MissingMembers++; g.MissingMembers <= maxNamed {
		g.Missing = append(g.Missing, name)
	}
}

// Data is the event's data as it is kept.
func (g *GroupPartial) Data() Raw {
	said := *g
	if said.Failed == nil {
		said.Failed = []string{}
	}
	if said.Missing == nil {
		said.Missing = []string{}
	}
	return AppendJSON(nil, &said)
}

// RunSubject is the subject of events about a run.
func RunSubject(id ID) string { return "run/" + id.String() }
