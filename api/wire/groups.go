package wire

import "nightshift/jobs"

// RunGroup is the body of a call that runs a group which no job describes.
type RunGroup struct {
	jobs.Group

	Payload        jobs.Raw          `json:"payload,omitempty" doc:"What the payloads of the members are made from; {} where left out. Up to 256 KiB"`
	Delay          *jobs.Duration    `json:"delay,omitempty"`
	RunAt          jobs.Time         `json:"run_at,omitempty"`
	Priority       *int              `json:"priority,omitempty" doc:"Of the group's run alone: members and merge have their jobs'"`
	CorrelationID  string            `json:"correlation_id,omitempty" doc:"Of the group, its members and its merge; left out: the run's id"`
	Labels         map[string]string `json:"labels,omitempty" doc:"Of the group's run"`
	IdempotencyKey string            `json:"idempotency_key,omitempty"`
}

// Request is what the body says of the run.
func (g *RunGroup) Request() jobs.Request {
	return jobs.Request{
		Payload: g.Payload, Delay: g.Delay, RunAt: g.RunAt, Priority: g.Priority,
		CorrelationID: g.CorrelationID, Labels: g.Labels, IdempotencyKey: g.IdempotencyKey,
	}
}

// GroupMembers is how a group stands, with a page of its members in their order.
type GroupMembers struct {
	Items []GroupMember `json:"items"`
	Next  *string       `json:"next"`
	Limit int           `json:"limit"`

	Counts   GroupCounts `json:"counts" doc:"Of all members, whatever the page holds"`
	Need     int         `json:"need" doc:"So many have to succeed: with fewer there is no merge, and the group fails"`
	Deadline jobs.Time   `json:"deadline" doc:"Members that have not ended by then are cancelled and missing; null: there is none, or the group has not started"`
	Merge    *string     `json:"merge" doc:"The job that gets the results; null: none does"`
	Merges   []jobs.ID   `json:"merges" doc:"The runs that merged or merge them, oldest first: of the group, and one for each remerge"`
}

// GroupMember is a member of a group and the newest run of it.
type GroupMember struct {
	Name       string        `json:"name" doc:"In the group"`
	Job        string        `json:"job"`
	Run        jobs.ID       `json:"run" doc:"The newest run of it; null: none could be made"`
	State      *string       `json:"state" enum:"scheduled,queued,running,retrying,waiting,succeeded,failed,cancelled" doc:"Of that run; null: it is not kept any more"`
	Missing    bool          `json:"missing" doc:"It was cancelled, is not kept, or had not ended by the deadline"`
	Error      *jobs.Failure `json:"error" doc:"Of the last attempt that failed, without the stack; null: none did"`
	StartedAt  jobs.Time     `json:"started_at"`
	FinishedAt jobs.Time     `json:"finished_at"`
}

// GroupCounts counts the members of a group by what has become of them.
type GroupCounts struct {
	Members    int `json:"members"`
	Succeeded  int `json:"succeeded"`
	Failed     int `json:"failed"`
	Missing    int `json:"missing"`
	Unfinished int `json:"unfinished"`
}

// GroupResult is what became of a member, as the merge gets it: in results of its payload, and from its
// callback.
type GroupResult struct {
	Name            string      `json:"name" doc:"In the group"`
	Job             string      `json:"job"`
	Run             jobs.ID     `json:"run" doc:"null: none could be made"`
	State           *string     `json:"state" enum:"scheduled,queued,running,retrying,waiting,succeeded,failed,cancelled" doc:"Of that run; null: it is not kept any more"`
	Result          jobs.Raw    `json:"result" doc:"Byte for byte as the job gave it; null: none"`
	Error           *GroupError `json:"error" doc:"Why it failed; null: it did not"`
	ResultTruncated bool        `json:"result_truncated,omitempty" doc:"The result was larger than 64 KiB and is null"`
}

// GroupError is the error of a member, as the merge gets it.
type GroupError struct {
	Kind    jobs.FailureKind `json:"kind"`
	Type    string           `json:"type"`
	Message string           `json:"message"`
}
