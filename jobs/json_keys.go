package jobs

import (
	"bytes"
	"hash/maphash"
)

const fewKeys = 16 // up to here a search beats a hash table

var keySeed = maphash.MakeSeed()

// addKey notes a key of an object; false where the object has it already. Objects with many
// keys get a table, so that the whole stays linear.
func (d *decoder) addKey(f *frame, key span) bool {
	text, seen := d.text(key), d.keys[f.keys:]
	if len(seen) < fewKeys {
		for _, k := range seen {
			if k.hi-k.lo == len(text) && bytes.Equal(d.text(k), text) {
				return false
			}
		}
		d.keys = append(d.keys, key)
		return true
	}
	if 2*len(seen) >= f.size {
		d.growTable(f)
	}
	slot := d.slot(f, text)
	if *slot != 0 {
		return false
	}
	d.keys = append(d.keys, key)
	*slot = int32(len(seen) + 1)
	return true
}

// slot is where the table has a key, or would.
func (d *decoder) slot(f *frame, text []byte) *int32 {
	table := d.table[f.table:]
	for i := int(maphash.Bytes(keySeed, text)); ; i++ {
		slot := &table[i&(f.size-1)]
		if *slot == 0 || bytes.Equal(d.text(d.keys[f.keys+int(*slot)-1]), text) {
			return slot
		}
	}
}

// growTable doubles the table of the innermost object: there is none above it.
func (d *decoder) growTable(f *frame) {
	f.size = max(4*fewKeys, 2*f.size)
	d.table = append(d.table[:f.table], make([]int32, f.size)...)
	for i, k := range d.keys[f.keys:] {
		*d.slot(f, d.text(k)) = int32(i + 1)
	}
}
