package jobs

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// SyntaxError is a text that is not JSON (RFC 8259): broken, cut off, followed by something, or
// not UTF-8. The text itself is never quoted.
type SyntaxError struct {
	Offset       int // in bytes, from 0
	Line, Column int // from 1; columns count characters
	Msg          string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not JSON: line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

// MaxFaults is how many faults of one document are listed; the rest is counted in one more.
const MaxFaults = 10_000

// andMore tells of the rest.
func andMore(n int) Fault { return Fault{Message: fmt.Sprintf("and %d more faults", n)} }

// FieldHinter is a document that knows where a field belongs which it does not have in the place
// where it was found. parent is that place within the document, "" for its top level; the hint is a
// clause such as "it belongs below retry", "" where there is nothing to say.
type FieldHinter interface {
	FieldHint(parent, name string) string
}

// DecodeJSON reads one JSON text strictly into the value that v points to, by its json tags, and
// reports all that is wrong with it. A text that is not JSON gives a *SyntaxError; one that is,
// but not what v wants, an *InvalidError with each fault: unknown fields (letters in the wrong case
// included), keys that stand twice in an object (inside Raw values too), wrong types, numbers
// out of range, more than MaxDepth levels. Where there is an error, what v holds means nothing.
//
// Null is the same as left out, for members of structs and of maps. Raw is the exception: it takes
// the exact bytes of any value, null included, from first to last character, as a copy; depth is
// counted anew within it, so that a payload is good or bad whatever it travels in. Whole numbers
// may be written as 1.0 or 1e3. Types with UnmarshalText, Time and Duration are read from strings.
//
// A lone surrogate (\ud800) is no character: in strings that are decoded it is a fault, within Raw
// it stays as it was written. U+0000 is a character as any other.
//
// Messages name the types that were found and wanted and at most 40 characters of a key, a time
// or a duration; other values are never quoted.
//
// A field with the tag max:"10000" takes a list of no more items; the rest is not kept in memory.
//
// It panics where v is not a pointer or holds a type that it cannot decode.
func DecodeJSON(data []byte, v any) error {
	return invalid(decode(data, v, decodeOptions{}))
}

// DecodeLenient is DecodeJSON for what was written by another version of this program: fields that
// are unknown are passed over.
func DecodeLenient(data []byte, v any) error {
	return invalid(decode(data, v, decodeOptions{lenient: true}))
}

// ValidJSON checks that data is one JSON text (*SyntaxError) without duplicate keys and within
// MaxDepth (*InvalidError).
func ValidJSON(data []byte) error {
	d := newDecoder(data, decodeOptions{})
	defer d.release()
	return invalid(d.whole(d.skip))
}

// placed is a fault and the offset of what is at fault.
type placed struct {
	Fault
	offset int
}

func invalid(faults []placed, err *SyntaxError) error {
	if err != nil {
		return err
	}
	if len(faults) == 0 {
		return nil
	}
	e := &InvalidError{Faults: make([]Fault, len(faults))}
	for i, f := range faults {
		e.Faults[i] = f.Fault
	}
	return e
}

// decodeOptions tell the ways of reading apart.
type decodeOptions struct {
	lenient  bool                    // unknown fields are passed over
	short    map[reflect.Type]string // structs that may be written as the string of this field
	defaults []byte                  // of the jobs of a file; nil: none
}

func decode(data []byte, v any, opts decodeOptions) ([]placed, *SyntaxError) {
	target := reflect.ValueOf(v)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		panic("jobs: DecodeJSON needs a pointer to a value")
	}
	target = target.Elem()
	read := decoderOf(target.Type())
	d := newDecoder(data, opts)
	defer d.release()
	return d.whole(func() bool { return read(d, target) })
}

// decoder is one pass over a text. Methods that read return false where reading cannot go
// on: syntax is then set, or the text is too deep.
type decoder struct {
	decodeOptions
	data   []byte
	pos    int
	syntax *SyntaxError

	frames []frame // the objects and lists that are open
	base   int     // how many of them are around the Raw value under way
	docs   []openDoc

	keys  []span  // of the open objects
	table []int32 // hash tables over keys, of the open objects with many
	arena []byte  // keys and strings that had escapes

	faults []placed
	more   int // faults past MaxFaults
}

// openDoc is a struct under way that gives hints, and how many frames were around it.
type openDoc struct {
	typ   reflect.Type
	outer int
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func newDecoder(data []byte, opts decodeOptions) *decoder {
	d := decoders.Get().(*decoder)
	d.data, d.decodeOptions = data, opts
	return d
}

// newRereader reads a text that was judged before: any depth will do.
func newRereader(data []byte) *decoder {
	d := newDecoder(data, decodeOptions{})
	d.base = 1 << 30
	return d
}

// release gives the decoder back, unless an unusual text made it large.
func (d *decoder) release() {
	const usual = 1 << 14
	if cap(d.keys) > usual || cap(d.table) > usual || cap(d.arena) > usual {
		return
	}
	*d = decoder{
		frames: d.frames[:0], docs: d.docs[:0],
		keys: d.keys[:0], table: d.table[:0], arena: d.arena[:0],
	}
	decoders.Put(d)
}

// whole reads the text with read, which takes one value.
func (d *decoder) whole(read func() bool) ([]placed, *SyntaxError) {
	if d.begin() && read() {
		if d.space(); d.pos < len(d.data) {
			d.fail(d.pos, "want nothing after the value")
		}
	}
	if d.syntax != nil {
		return nil, d.syntax
	}
	if d.more > 0 {
		d.faults = append(d.faults, placed{andMore(d.more), len(d.data)})
	}
	return d.faults, nil
}

// begin refuses texts that are no UTF-8.
func (d *decoder) begin() bool {
	if bytes.HasPrefix(d.data, []byte("\xef\xbb\xbf")) {
		return d.fail(0, "want no byte order mark")
	}
	if !utf8.Valid(d.data) {
		return d.fail(badUTF8(d.data), "want UTF-8")
	}
	if d.space(); d.pos == len(d.data) {
		return d.fail(d.pos, "want a value, got nothing")
	}
	return true
}

// badUTF8 is the offset of the first byte that is not UTF-8.
func badUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(data)
}

func (d *decoder) fail(offset int, msg string) bool {
	line, column := newPositions(d.data).at(offset)
	d.syntax = &SyntaxError{Offset: offset, Line: line, Column: column, Msg: msg}
	return false
}

// fault notes what is wrong with the value under way; reading goes on.
func (d *decoder) fault(offset int, msg string) {
	if len(d.faults) >= MaxFaults {
		d.more++
		return
	}
	d.faults = append(d.faults, placed{Fault{d.location(d.frames), msg}, offset})
}

// location is the place that open objects and lists are at, such as runs[3].payload.
func (d *decoder) location(frames []frame) string {
	var b strings.Builder
	for _, f := range frames {
		switch {
		case f.n == 0:
		case f.list:
			b.WriteString("[" + strconv.Itoa(f.n-1) + "]")
		default:
			writeKey(&b, string(d.text(f.key)))
		}
	}
	return b.String()
}

// memberLocation is the place of the member key of the object at parent.
func memberLocation(parent, key string) string {
	var b strings.Builder
	b.WriteString(parent)
	writeKey(&b, key)
	return b.String()
}

// writeKey adds a member to a location: .key, or ["a key"] where that would be misread.
func writeKey(b *strings.Builder, key string) {
	if !plainKey(key) || len(key) > 40 {
		b.WriteString("[" + strconv.Quote(clip(key, 40)) + "]")
		return
	}
	if b.Len() > 0 {
		b.WriteByte('.')
	}
	b.WriteString(key)
}

func plainKey(key string) bool {
	for i := range len(key) {
		if c := key[i]; !isLetter(c) && !isDigit(c) && c != '_' && c != '-' {
			return false
		}
	}
	return key != ""
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
