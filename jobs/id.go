package jobs

import (
	"encoding/hex"
	"errors"
	"sync"
	"time"
)

// ID is a UUIDv7 (RFC 9562). Its first 64 bits, less the version, are a number that only
// grows: 48 bits of Unix milliseconds and a counter of 12 bits. The store keys rows by that number.
type ID [16]byte

// NilID is no id.
var NilID ID

var errBadID = errors.New("not an id: want a UUID such as 0192e4a7-5b3c-7d1e-8f00-0123456789ab")

// ParseID reads the 36 character text form. It accepts only UUIDs of version 7.
func ParseID(s string) (ID, error) {
	var id ID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return NilID, errBadID
	}
	var packed [32]byte
	copy(packed[0:8], s[0:8])
	copy(packed[8:12], s[9:13])
	copy(packed[12:16], s[14:18])
	copy(packed[16:20], s[19:23])
	copy(packed[20:32], s[24:36])
	if _, err := hex.Decode(id[:], packed[:]); err != nil {
		return NilID, errBadID
	}
	if id[6]>>4 != 7 || id[8]>>6 != 2 {
		return NilID, errBadID
	}
	return id, nil
}

func (id ID) String() string {
	var b [36]byte
	id.encode(b[:])
	return string(b[:])
}

func (id ID) encode(b []byte) {
	hex.Encode(b[0:8], id[0:4])
	b[8] = '-'
	hex.Encode(b[9:13], id[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], id[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], id[8:10])
	b[23] = '-'
	hex.Encode(b[24:36], id[10:16])
}

// IsNil reports whether there is no id.
func (id ID) IsNil() bool { return id == NilID }

// MarshalText gives the 36 character form, "" for no id.
func (id ID) MarshalText() ([]byte, error) {
	if id.IsNil() {
		return []byte{}, nil
	}
	b := make([]byte, 36)
	id.encode(b)
	return b, nil
}

// MarshalJSON gives the text as a string, null for no id.
func (id ID) MarshalJSON() ([]byte, error) { return appendID(nil, id), nil }

// UnmarshalText reads the 36 character form.
func (id *ID) UnmarshalText(b []byte) error {
	parsed, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// Seq is the growing 60-bit number of the id: milliseconds << 12 | counter.
func (id ID) Seq() int64 {
	var n int64
	for _, b := range id[:6] {
		n = n<<8 | int64(b)
	}
	return n<<12 | int64(id[6]&0x0f)<<8 | int64(id[7])
}

// Time is when the id was given, by the clock of then or later: ids never go back.
func (id ID) Time() Time { return Time(id.Seq() >> 12) }

// Tail is the other half: the variant and 62 random bits.
func (id ID) Tail() int64 {
	var n int64
	for _, b := range id[8:] {
		n = n<<8 | int64(b)
	}
	return n
}

// IDOf puts the halves together again.
func IDOf(seq, tail int64) ID {
	var id ID
	ms := seq >> 12
	for i := 5; i >= 0; i-- {
		id[i] = byte(ms)
		ms >>= 8
	}
	id[6] = 0x70 | byte(seq>>8)&0x0f
	id[7] = byte(seq)
	for i := 15; i >= 8; i-- {
		id[i] = byte(tail)
		tail >>= 8
	}
	return id
}

// IDs makes ids that never go back, whatever the clock does: below the last one given
// it counts on. Safe for concurrent use.
type IDs struct {
	random func() uint64

	mu   sync.Mutex
	last int64
}

// NewIDs starts after the number floor (the largest Seq in the store). random gives 64 random bits.
func NewIDs(floor int64, random func() uint64) *IDs {
	return &IDs{last: floor, random: random}
}

// Next makes an id for an instant.
func (g *IDs) Next(now time.Time) ID {
	g.mu.Lock()
	seq := max(now.UnixMilli()<<12, g.last+1)
	g.last = seq
	g.mu.Unlock()
	return IDOf(seq, int64(g.random()&(1<<62-1)|1<<63))
}
