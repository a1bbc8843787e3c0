package jobs

// Documents are what an apply sets.
type Documents struct {
	Policies     []*Policy
	Queues       []*Queue
	Dependencies []*Dependency
	Jobs         []*Job
	Schedules    []*Schedule // that stand by themselves
	Alerts       []*Alert
}

// FileKinds are the kinds of documents in a file, in the order in which they are written.
var FileKinds = []string{RefPolicy, RefQueue, RefDependency, RefJob, RefSchedule, RefAlert}

// FileLists are the keys below which a file holds documents, by their kind.
var FileLists = map[string]string{
	RefPolicy: "policies", RefQueue: "queues", RefDependency: "dependencies", RefJob: "jobs",
	RefSchedule: "schedules", RefAlert: "alerts",
}

// Names are the names of the documents of a kind, in their order.
func (d *Documents) Names(kind string) []string {
	switch kind {
	case RefPolicy:
		return namesOf(d.Policies, func(p *Policy) string { return p.Name })
	case RefQueue:
		return namesOf(d.Queues, func(q *Queue) string { return q.Name })
	case RefDependency:
		return namesOf(d.Dependencies, func(d *Dependency) string { return d.Name })
	case RefSchedule:
		return namesOf(d.Schedules, func(s *Schedule) string { return s.Name })
	case RefAlert:
		return namesOf(d.Alerts, func(a *Alert) string { return a.Name })
	}
	return namesOf(d.Jobs, func(j *Job) string { return j.Name })
}

func namesOf[T any](list []*T, name func(*T) string) []string {
	names := make([]string, len(list))
	for i, v := range list {
		names[i] = name(v)
	}
	return names
}

// Add puts others behind these.
func (d *Documents) Add(more *Documents) {
	d.Policies = append(d.Policies, more.Policies...)
	d.Queues = append(d.Queues, more.Queues...)
	d.Dependencies = append(d.Dependencies, more.Dependencies...)
	d.Jobs = append(d.Jobs, more.Jobs...)
	d.Schedules = append(d.Schedules, more.Schedules...)
	d.Alerts = append(d.Alerts, more.Alerts...)
}
