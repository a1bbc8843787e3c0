package jobs

import (
	"fmt"
	"reflect"
	"strconv"
)

// How many documents a file may hold.
const (
	maxJobs      = 10_000
	maxPolicies  = 1_000
	maxShared    = 10_000 // queues, and dependencies
	maxSchedules = 50_000
	maxAlerts    = 1_000
)

// fileDocument is what a file holds.
type fileDocument struct {
	Defaults     fileDefaults     `json:"defaults"`
	Policies     filePolicies     `json:"policies"`
	Queues       fileQueues       `json:"queues"`
	Dependencies fileDependencies `json:"dependencies"`
	Jobs         fileJobs         `json:"jobs"`
	Schedules    fileSchedules    `json:"schedules"`
	Alerts       fileAlerts       `json:"alerts"`
}

// FieldHint says where a field belongs that stands beside jobs.
func (*fileDocument) FieldHint(parent, name string) string {
	switch {
	case parent != "":
		return ""
	case FileLists[name] != "" && name != RefQueue:
		return `did you mean "` + FileLists[name] + `"?`
	case name == "timezone":
		return "it belongs below defaults, or to a schedule"
	case name == "cron" || name == "every":
		return "it belongs to a schedule, below schedules of the file or of a job"
	case belongs(reflect.TypeFor[Job](), "job", name) != "":
		return "it belongs to a job, in the list or map below jobs"
	}
	return ""
}

// fileList is documents as a list, or as a map by name.
type fileList[T any] struct {
	list   []*T
	places []place
	broken map[*T]bool // could not be read whole
}

// fileSort is what tells the lists of a file apart.
type fileSort[T any] struct {
	kind  string
	most  int
	name  func(*T) *string
	check func(*T) []Fault
	begin func(d *decoder, v *T) // v is what a document is read over
}

var (
	policySort = fileSort[Policy]{
		kind: RefPolicy, most: maxPolicies,
		name:  func(p *Policy) *string { return &p.Name },
		check: func(p *Policy) []Fault { p.dropState(); return p.Check() },
	}
	queueSort = fileSort[queueDoc]{
		kind: RefQueue, most: maxShared,
		name: func(q *queueDoc) *string { return &q.Name }, check: (*queueDoc).check,
	}
	dependencySort = fileSort[dependencyDoc]{
		kind: RefDependency, most: maxShared,
		name: func(d *dependencyDoc) *string { return &d.Name }, check: (*dependencyDoc).check,
	}
	jobSort = fileSort[Job]{
		kind: RefJob, most: maxJobs,
		name:  func(j *Job) *string { return &j.Name },
		check: func(j *Job) []Fault { j.dropState(); return j.faults() },
	}
	scheduleSort = fileSort[Schedule]{
		kind: RefSchedule, most: maxSchedules,
		name:  func(s *Schedule) *string { return &s.Name },
		check: func(s *Schedule) []Fault { s.dropState(); return s.Check() },
	}
	alertSort = fileSort[Alert]{
		kind: RefAlert, most: maxAlerts,
		name:  func(a *Alert) *string { return &a.Name },
		check: func(a *Alert) []Fault { a.dropState(); return a.Check() },
	}
)

func (l *fileList[T]) decode(d *decoder, sort fileSort[T]) bool {
	next, nouns := d.item, FileLists[sort.kind]
	switch d.peek() {
	case '[':
	case '{':
		next = d.member
	default:
		return d.mistyped("a list of " + nouns + ", or a map of " + nouns + " by name")
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
				d.fault(d.pos, "want at most "+strconv.Itoa(sort.most)+" "+nouns+" in a file")
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

// The documents of a file.
type (
	filePolicies     struct{ fileList[Policy] }
	fileQueues       struct{ fileList[queueDoc] }
	fileDependencies struct{ fileList[dependencyDoc] }
	fileJobs         struct{ fileList[Job] }
	fileSchedules    struct{ fileList[Schedule] }
	fileAlerts       struct{ fileList[Alert] }
)

func (l *filePolicies) decodeJSON(d *decoder) bool { return l.decode(d, policySort) }

func (l *fileQueues) decodeJSON(d *decoder) bool { return l.decode(d, queueSort) }

func (l *fileDependencies) decodeJSON(d *decoder) bool { return l.decode(d, dependencySort) }

func (l *fileSchedules) decodeJSON(d *decoder) bool { return l.decode(d, scheduleSort) }

func (l *fileAlerts) decodeJSON(d *decoder) bool { return l.decode(d, alertSort) }

func (l *fileJobs) decodeJSON(d *decoder) bool {
	defaulted, sort := 0, jobSort // bytes
	sort.begin = func(d *decoder, j *Job) {
		if d.defaults == nil || defaulted > MaxFile {
			return
		}
		if defaulted += len(d.defaults); defaulted > MaxFile {
			d.fault(d.pos, fmt.Sprintf("up to here the defaults stand for more than %d bytes", MaxFile))
			return
		}
		startFrom(d.defaults, j, d.data[d.pos:])
	}
	return l.decode(d, sort)
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
