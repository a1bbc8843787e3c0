package jobs

import "bytes"

// MergePatch is a value with a merge patch on it (RFC 7396): members that the patch has take its place,
// those that are null there go, objects are gone into. What the patch does not touch stays byte for byte, in
// its order; what is new comes last. Both have been judged valid; no value at all is {}.
func MergePatch(value, patch Raw) Raw {
	changes, ok := rawMembers(patch)
	if !ok {
		return patch
	}
	members, ok := rawMembers(value)
	if !ok {
		value, members = Raw("{}"), nil
	}
	members, changed := patched(members, changes)
	if !changed {
		return value
	}
	text := Raw{'{'}
	for i, m := range members {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(append(append(text, m.name...), ": "...), m.text...)
	}
	return append(text, '}')
}

// rawMember is one of an object.
type rawMember struct {
	key  string
	name Raw // the key as it stands
	text Raw // its value
}

func patched(members, changes []rawMember) (all []rawMember, changed bool) {
	place := make(map[string]int, len(members))
	for i, m := range members {
		place[m.key] = i
	}
	for _, c := range changes {
		i, stands := place[c.key]
		switch {
		case bytes.Equal(c.text, rawNull):
			if changed = changed || stands; stands {
				members[i].text = nil
			}
		case stands:
			now := MergePatch(members[i].text, c.text)
			changed = changed || !bytes.Equal(now, members[i].text)
			members[i].text = now
		default:
			c.text = MergePatch(nil, c.text) // without the nulls in it
			members, changed = append(members, c), true
		}
	}
	for _, m := range members {
		if m.text != nil {
			all = append(all, m)
		}
	}
	return all, changed
}

var rawNull = Raw("null")

// rawMembers takes an object apart; ok is false for any other value.
func rawMembers(text Raw) (members []rawMember, ok bool) {
	d := newRereader(text)
	defer d.release()
	if len(text) == 0 || d.peek() != '{' {
		return nil, false
	}
	d.open()
	for start := d.pos; d.member() == stepValue; start = d.pos {
		m := rawMember{key: string(d.text(d.top().key))}
		d.space()
		name := bytes.TrimLeft(text[start:d.pos], " \t\r\n,{")
		m.name = Raw(bytes.TrimRight(name, " \t\r\n:"))
		from := d.pos
		if !d.skip() {
			return nil, false
		}
		m.text = text[from:d.pos]
		members = append(members, m)
	}
	return members, d.syntax == nil
}
