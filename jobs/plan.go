package jobs

// Plan is a job made ready for use: its rules and those of its policies compiled.
type Plan struct {
	Job *Job
}
