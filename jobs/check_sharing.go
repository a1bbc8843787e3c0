package jobs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds of unique.while.
const (
	MinUnique = time.Second
	MaxUnique = 365 * 24 * time.Hour
)

// sharingHints are for fields of a job that it may be thought to have.
var sharingHints = map[string]string{
	"dependency":      `did you mean "dependencies"?`,
	"limit":           "it belongs below concurrency or rate",
	"key":             "it belongs below concurrency, rate, unique or checkpoint, or in an entry of inbound",
	"rate_limit":      `want "rate", such as {"limit": 100, "per": "1m"}`,
	"unique_key":      `want "unique", such as {"key": "payload.order_id"}`,
	"max_concurrency": `want "concurrency", such as {"limit": 1}`,
	"breaker":         "it belongs to a dependency, which the job names in dependencies",
}

// whileHint is for what others call unique.while.
func whileHint(parent, name string) string {
	if parent == "unique" && slices.Contains([]string{"for", "ttl", "period", "until", "states"}, name) {
		return `want "while", such as "active" or "24h"`
	}
	return ""
}

// checkSharing checks what the runs of a job share. The expressions are for Compile.
func (j *Job) checkSharing(f *faults) {
	if c := j.Concurrency; c != nil && (c.Limit < 1 || c.Limit > MaxConcurrency) {
		f.add("concurrency.limit", "%s: want a whole number from 1 to %d", orMissing(c.Limit, 0), MaxConcurrency)
	}
	if r := j.Rate; r != nil {
		f.checkRate("rate", r.Limit, r.Per)
	}
	if j.Unique != nil {
		j.Unique.check(f)
	}
	if n := len(j.Dependencies); n > MaxDependencies {
		f.add("dependencies", "want at most %d of them, got %d", MaxDependencies, n)
		return
	}
	for i, name := range j.Dependencies {
		f.check(dependencyPlace(i), checkNamed(name))
		if first := slices.Index(j.Dependencies, name); first < i {
			f.add(dependencyPlace(i), "stands twice: %s is the same", dependencyPlace(first))
		}
	}
}

// checkNamed says what is wrong with the name of a dependency that a job gives.
func checkNamed(name string) error {
	if strings.ContainsAny(name, ":/[") {
		return fmt.Errorf("want a name such as stripe: the host of a webhook is a dependency by itself, whose " +
			"limits stand in a document of its own, and needs no naming")
	}
	return CheckName(name)
}

func (u *Unique) check(f *faults) {
	if _, _, ok := u.stands(); !ok {
		f.add("unique.while", "is %q: want %s, %s, or a duration from 1s to 365d, such as 24h",
			clip(u.While, 40), WhileQueued, WhileActive)
	}
	switch u.OnConflict {
	case "", ConflictExisting, ConflictReject:
	case ConflictReplace:
		if while, _, ok := u.stands(); ok && while != WhileQueued {
			f.add("unique.on_conflict", "replace goes with while: queued alone, and while is %s: a run that may have "+
				"started cannot take another payload", cmp.Or(u.While, WhileActive))
		}
	default:
		f.add("unique.on_conflict", "is %q: want one of %s, %s, %s", clip(u.OnConflict, 40), ConflictExisting,
			ConflictReject, ConflictReplace)
	}
}

// stands is how long a run stands for others of its kind: WhileQueued, WhileActive, or "" and for
// how long. ok is false where while says nothing of that.
func (u *Unique) stands() (while string, length Duration, ok bool) {
	switch u.While {
	case "":
		return WhileActive, 0, true
	case WhileQueued, WhileActive:
		return u.While, 0, true
	}
	length, err := ParseDuration(u.While)
	return "", length, err == nil && length.Std() >= MinUnique && length.Std() <= MaxUnique
}

// run is what makes a run one of its kind where there is no key; nil: nothing does.
func (u *Unique) run() *UniqueRun {
	if u == nil {
		return nil
	}
	made := &UniqueRun{Conflict: cmp.Or(u.OnConflict, ConflictExisting)}
	made.While, made.For, _ = u.stands()
	return made
}
