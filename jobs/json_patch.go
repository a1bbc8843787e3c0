package jobs

import "fmt"

// MergePatch applies a JSON merge patch (RFC 7396) to a payload. Members that it does not name stay as they
// stand, in their order; new ones follow in that of the patch; numbers keep their text. Both texts have been
// judged valid. The error says why the result is no payload: it is too large, or too deep.
func MergePatch(payload, patch Raw) (Raw, error) {
	merged := Raw(appendPatched(make([]byte, 0, len(payload)+len(patch)), payload, patch))
	if len(merged) > MaxPayload {
		return nil, &TooLargeError{Location: "payload", Size: len(merged), Limit: MaxPayload}
	}
	if err := ValidJSON(merged); err != nil {
		return nil, fmt.Errorf("the patched payload: %w", err)
	}
	return merged, nil
}

// appendPatched appends the target with the patch applied; a target that is nil is none.
func appendPatched(dst []byte, target, patch []byte) []byte {
	changes, list, object := partsOf(patch)
	if !object || list {
		return append(dst, patch...)
	}
	members, list, object := partsOf(target)
	switch {
	case !object || list:
		members = nil
	case len(changes) == 0:
		return append(dst, target...)
	}
	left := make(map[string]Raw, len(changes))
	for _, c := range changes {
		left[c.key] = c.text
	}
	o := patchedObject{dst: append(dst, '{')}
	for _, m := range members {
		change, named := left[m.key]
		if !named {
			o.keep(m)
			continue
		}
		o.change(m.name, m.text, change)
		delete(left, m.key)
	}
	for _, c := range changes {
		if _, isNew := left[c.key]; isNew {
			o.change(c.name, nil, c.text)
		}
	}
	return append(o.dst, '}')
}

// patchedObject is an object that is being written.
type patchedObject struct {
	dst  []byte
	some bool
}

func (o *patchedObject) begin(name Raw) {
	if o.some {
		o.dst = append(o.dst, ',')
	}
	o.some = true
	o.dst = append(append(o.dst, name...), ':')
}

func (o *patchedObject) keep(m jsonItem) {
	o.begin(m.name)
	o.dst = append(o.dst, m.text...)
}

// change writes what a patch makes of a member; null: it goes.
func (o *patchedObject) change(name, target, patch Raw) {
	if string(patch) == "null" {
		return
	}
	o.begin(name)
	o.dst = appendPatched(o.dst, target, patch)
}
