package jobs

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// How many documents a file may hold.
const (
	maxJobs     = 10_000
	maxPolicies = 1_000
)

// fileDocument is what a file holds.
type fileDocument struct {
	Defaults fileDefaults `json:"defaults"`
	Policies filePolicies `json:"policies"`
	Jobs     fileJobs     `json:"jobs"`
}

// FieldHint says where a field belongs that stands beside jobs.
func (*fileDocument) FieldHint(parent, name string) string {
	switch {
	case parent != "":
		return ""
	case name == "job":
		return `did you mean "jobs"?`
	case slices.Contains(strings.Fields("schedules dependencies queues alerts"), name):
		return notYet
	case belongs(reflect.TypeFor[Job](), "job", name) != "":
		return "it belongs to a job, in the list or map below jobs"
	}
	return ""
}

const notYet = "this version does not have it yet"

// fileList is documents as a list, or as a map by name.
type fileList[T any] struct {
	list   []*T
	places []place
	broken map[*T]bool // could not be read whole
}

// fileSort is what tells the lists of a file apart.
type fileSort[T any] struct {
	nouns string
	most  int
	name  func(*T) *string
	begin func(d *decoder, v *T) // v is what a document is read over
}

func (l *fileList[T]) decode(d *decoder, sort fileSort[T]) bool {
	next := d.item
	switch d.peek() {
	case '[':
	case '{':
		next = d.member
	default:
		return d.mistyped("a list of " + sort.nouns + ", or a map of " + sort.nouns + " by name")
	}
	if !d.open() {
		return false
	}
	l.list, l.broken = []*T{}, map[*T]bool{}
	for {
		if s := next(); s != stepValue {
			return s == stepEnd
		}
		if n := d.top().n; n > sort.most {
			if n == sort.most+1 {
				d.fault(d.pos, "want at most "+strconv.Itoa(sort.most)+" "+sort.nouns+" in a file")
			}
			if !d.skip() {
				return false
			}
			continue
		}
		before := len(d.faults) + d.more
		if !l.one(d, sort) {
			return false
		}
		l.broken[l.list[len(l.list)-1]] = len(d.faults)+d.more > before
	}
}

// one reads the next document. In a map its key is its name.
func (l *fileList[T]) one(d *decoder, sort fileSort[T]) bool {
	key, at := string(d.text(d.top().key)), d.top().at
	named := !d.top().list
	v := new(T)
	d.space()
	l.list = append(l.list, v)
	l.places = append(l.places, place{d.location(d.frames), d.pos})
	if sort.begin != nil {
		sort.begin(d, v)
	}
	if !decoderOf(reflect.TypeFor[T]())(d, reflect.ValueOf(v).Elem()) {
		return false
	}
	name := sort.name(v)
	if named && *name != "" && *name != key {
		d.fault(at, "its name is another than the key that it stands under")
	} else if named {
		*name = key
	}
	return true
}

// filePolicies are the policies of a file.
type filePolicies struct{ fileList[Policy] }

func (ps *filePolicies) decodeJSON(d *decoder) bool {
	return ps.decode(d, fileSort[Policy]{
		nouns: "policies", most: maxPolicies,
		name: func(p *Policy) *string { return &p.Name },
	})
}

// fileJobs are the jobs of a file.
type fileJobs struct{ fileList[Job] }

func (js *fileJobs) decodeJSON(d *decoder) bool {
	defaulted := 0 // bytes
	return js.decode(d, fileSort[Job]{
		nouns: "jobs", most: maxJobs,
		name: func(j *Job) *string { return &j.Name },
		begin: func(d *decoder, j *Job) {
			if d.defaults == nil || defaulted > MaxFile {
				return
			}
			if defaulted += len(d.defaults); defaulted > MaxFile {
				d.fault(d.pos, fmt.Sprintf("up to here the defaults stand for more than %d bytes", MaxFile))
				return
			}
			startFrom(d.defaults, j, d.data[d.pos:])
		},
	})
}

var shortForms = map[reflect.Type]string{
	reflect.TypeFor[Webhook](): "url", reflect.TypeFor[Script](): "source",
}

// isShort reports whether a field may be written in the place of the struct that it belongs to.
func isShort(key string) bool {
	for _, short := range shortForms {
		if key == short {
			return true
		}
	}
	return false
}
