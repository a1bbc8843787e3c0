package api

import (
	"errors"
	"fmt"

	"nightshift/jobs"
	"nightshift/store"
)

// inBody is where a fault stands whose document is the body.
func inBody(_ string, _ int, f jobs.Fault) jobs.Fault {
	f.Location = at("body", f.Location)
	return f
}

// saveError tells what keeps documents from being saved, all of it: 422 where one is not valid, 409
// where there are only conflicts. place gives a fault of an entry its place in the call.
func saveError(err error, place func(kind string, i int, f jobs.Fault) jobs.Fault) error {
	var faults, conflicts []jobs.Fault
	kind := probNamed
	for _, e := range flatten(err) {
		var entry *store.EntryError
		var named *store.NamedError
		switch {
		case errors.As(e, &named):
			conflicts = append(conflicts, jobs.Fault{Message: named.Error()})
			continue
		case !errors.As(e, &entry):
			return e
		}
		var set *store.SetError
		if found, ok := entryFaults(entry.Err); ok {
			for _, f := range found {
				faults = append(faults, place(entry.Kind, entry.Index, f))
			}
		} else if errors.As(e, &set) {
			kind = probSet
			conflicts = append(conflicts, place(entry.Kind, entry.Index,
				jobs.Fault{Location: "name", Message: set.Error()}))
		} else {
			return entry.Err // one that stands, or was changed meanwhile
		}
	}
	if faults != nil {
		kind, conflicts = probInvalid, append(faults, conflicts...)
	}
	return &problem{kind: kind, detail: summary(conflicts), faults: listed(conflicts)}
}

// maxListed is how many faults an answer lists.
const maxListed = 1000

// listed bounds a list of faults, and says how many there are besides.
func listed(faults []jobs.Fault) []jobs.Fault {
	more := len(faults) - maxListed
	if more <= 0 {
		return faults
	}
	return append(faults[:maxListed:maxListed], jobs.Fault{Message: fmt.Sprintf("and %d more faults", more)})
}

// entryFaults are the faults of a document, located in it.
func entryFaults(err error) ([]jobs.Fault, bool) {
	var bad *jobs.InvalidError
	var missing *store.MissingRef
	var circle *store.CircleError
	var tells *store.TellsError
	var nesting *store.NestingError
	switch {
	case errors.As(err, &bad):
		return bad.Faults, true
	case errors.As(err, &missing):
		return []jobs.Fault{{Location: missing.Location, Message: missing.Error()}}, true
	case errors.As(err, &circle):
		return []jobs.Fault{{Location: circle.Location, Message: circle.Error()}}, true
	case errors.As(err, &tells):
		return []jobs.Fault{{Location: tells.Location, Message: tells.Error()}}, true
	case errors.As(err, &nesting):
		return []jobs.Fault{{Location: nesting.Location, Message: nesting.Error()}}, true
	}
	return nil, false
}

// SaveFaults are what keeps documents from being saved, located such as jobs[2].retry.policy; nil:
// something else does, or nothing.
func SaveFaults(err error) []jobs.Fault {
	if err == nil {
		return nil
	}
	err = saveError(err, func(kind string, i int, f jobs.Fault) jobs.Fault {
		f.Location = at(fmt.Sprintf("%s[%d]", jobs.FileLists[kind], i), f.Location)
		return f
	})
	var p *problem
	if errors.As(err, &p) {
		return p.faults
	}
	return nil
}
