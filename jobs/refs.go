package jobs

import "fmt"

// What a document may name.
const (
	RefJob    = "job"
	RefPolicy = "policy"
)

// Ref is a name that a document uses: what bears it must stand or be in the same change.
type Ref struct {
	Kind     string // RefJob, RefPolicy
	Name     string
	Location string // in the document, such as on_success[0].job
}

// Refs are the names that a job uses, in the order of its document.
func (j *Job) Refs() []Ref {
	var refs []Ref
	if j.Retry.Policy != "" {
		refs = append(refs, Ref{RefPolicy, j.Retry.Policy, "retry.policy"})
	}
	for i, c := range j.OnSuccess {
		refs = append(refs, Ref{RefJob, c.Job, fmt.Sprintf("on_success[%d].job", i)})
	}
	return refs
}
