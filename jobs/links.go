package jobs

import "strconv"

// Ref is something else that a job's document names: it must stand, or be in the same change.
type Ref struct {
	Kind     string // RefPolicy, RefJob; of what is shared RefQueue, RefDependency
	Name     string
	Location string // such as on_success[0].job
}

// Kinds of what jobs name.
const (
	RefPolicy = "policy"
	RefJob    = "job"

	RefQueue      = "queue"
	RefDependency = "dependency"

	RefSchedule = "schedule" // one that stands by itself
	RefAlert    = "alert"
)

// Refs are the policy and the jobs that the job names. The policy default is not among them: it
// always stands.
func (j *Job) Refs() []Ref {
	var refs []Ref
	if p := j.Retry.Policy; p != "" && p != PolicyDefault {
		refs = append(refs, Ref{RefPolicy, p, "retry.policy"})
	}
	for i := range j.OnSuccess {
		refs = append(refs, Ref{RefJob, j.OnSuccess[i].Job, chainAt(i) + ".job"})
	}
	if j.Group != nil {
		refs = append(refs, j.Group.Jobs(groupAt)...)
	}
	return refs
}

// Shares are the queue and the dependencies of the job: its runs ask them in this order. They come
// to be by being named. The host of a webhook is the last one where its URL writes it out.
func (j *Job) Shares() []Ref {
	refs := make([]Ref, 0, len(j.Dependencies)+2)
	refs = append(refs, Ref{RefQueue, j.QueueOf(), "queue"})
	for i, name := range j.Dependencies {
		refs = append(refs, Ref{RefDependency, name, dependencyPlace(i)})
	}
	if host := j.Spec().Host(); host != "" {
		refs = append(refs, Ref{RefDependency, host, urlAt})
	}
	return refs
}

func dependencyPlace(i int) string { return "dependencies[" + strconv.Itoa(i) + "]" }

func chainAt(i int) string { return "on_success[" + strconv.Itoa(i) + "]" }

func doorAt(i int) string { return "inbound[" + strconv.Itoa(i) + "]" }

// validSecretName reports whether s may name a secret.
func validSecretName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && c != '_' && (i == 0 || !isDigit(c)) {
			return false
		}
	}
	return s != "" && len(s) <= 100
}

// Bounds of the lists of a job.
const (
	maxChains = 100
	maxDoors  = 20
)

func (j *Job) checkLinks(f *faults) {
	if j.Retry.Policy != "" {
		f.check("retry.policy", CheckName(j.Retry.Policy))
	}
	if len(j.OnSuccess) > maxChains {
		f.add("on_success", "want at most %d of them, got %d", maxChains, len(j.OnSuccess))
	} else {
		for i := range j.OnSuccess {
			f.checkChain(chainAt(i), &j.OnSuccess[i])
		}
	}
	if len(j.Inbound) > maxDoors {
		f.add("inbound", "want at most %d of them, got %d", maxDoors, len(j.Inbound))
		return
	}
	seen := map[string]bool{}
	for i := range j.Inbound {
		d := &j.Inbound[i]
		f.checkDoor(doorAt(i), d)
		if seen[d.Name] && d.Name != "" {
			f.add(doorAt(i)+".name", "another door of the job has this name")
		}
		seen[d.Name] = true
	}
}

func (f *faults) checkChain(at string, c *Chain) {
	f.checkJobName(at+".job", c.Job)
	if c.Payload != nil {
		f.check(at+".payload", CheckPayload(c.Payload))
	}
}

func (f *faults) checkDoor(at string, d *Door) {
	if d.Name == "" {
		f.add(at+".name", "want a name: it stands in the address, /in/JOB/NAME")
	} else {
		f.check(at+".name", CheckName(d.Name))
	}
	switch d.Verify {
	case VerifyGitHub, VerifyStripe, VerifyStandardWebhooks, VerifySecret:
	default:
		f.add(at+".verify", "want one of %s, %s, %s, %s",
			VerifyGitHub, VerifyStripe, VerifyStandardWebhooks, VerifySecret)
	}
	if d.Secret == "" {
		f.add(at+".secret", `want the secret that the sender signs with, such as "{{ secrets.NAME }}"`)
	}
}
