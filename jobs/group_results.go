package jobs

// MemberResult is what has become of a member, as a merge gets it.
type MemberResult struct {
	Name string
	Job  string
	Run  ID   // NilID: none could be made
	Of   *Run // that run, as it ended; nil: it is not kept, or none could be made
	// Missing: it was cancelled, is not kept, or was not done by the deadline.
	Missing bool
}

func (m *MemberResult) good() bool   { return !m.Missing && m.Of != nil && m.Of.State == Succeeded }
func (m *MemberResult) failed() bool { return !m.Missing && m.Of != nil && m.Of.State == Failed }

// AppendJSON writes it as an element of results: the result byte for byte.
func (m *MemberResult) AppendJSON(dst []byte) []byte {
	dst = AppendJSONString(append(dst, `{"name":`...), m.Name)
	dst = AppendJSONString(append(dst, `,"job":`...), m.Job)
	dst = AppendJSON(append(dst, `,"run":`...), m.Run)
	dst = append(dst, `,"state":`...)
	switch {
	case m.Of == nil:
		dst = append(dst, "null"...)
	case m.Missing:
		dst = AppendJSONString(dst, Cancelled.String())
	default:
		dst = AppendJSONString(dst, m.Of.State.String())
	}
	dst = append(dst, `,"result":`...)
	if m.good() && len(m.Of.Result) > 0 {
		dst = append(dst, m.Of.Result...)
	} else {
		dst = append(dst, "null"...)
	}
	if m.good() && m.Of.ResultTruncated {
		dst = append(dst, `,"result_truncated":true`...)
	}
	dst = append(dst, `,"error":`...)
	if m.good() || m.Of == nil || m.Of.Error == nil {
		dst = append(dst, "null"...)
	} else {
		dst = AppendJSON(dst, EventErrorOf(m.Of.Error))
	}
	return append(dst, '}')
}

// MergePayload makes the payload of a merge from what has become of the members, told in their order. It
// holds no more than MaxInlined of their results in memory.
type MergePayload struct {
	group                      ID
	succeeded, failed, missing []string
	results                    []byte // the elements; nil: there are none, or there is too much
	large                      bool   // too much
}

// NewMergePayload begins the payload of the merge of a group's run.
func NewMergePayload(group ID) *MergePayload { return &MergePayload{group: group} }

// Add takes in the next member.
func (p *MergePayload) Add(m *MemberResult) {
	switch {
	case m.good():
		p.succeeded = append(p.succeeded, m.Name)
	case m.failed():
		p.failed = append(p.failed, m.Name)
	default:
		p.missing = append(p.missing, m.Name)
	}
	if p.large {
		return
	}
	if len(p.results) > 0 {
		p.results = append(p.results, ',')
	}
	p.results = m.AppendJSON(p.results)
	if len(p.results) > MaxInlined {
		p.large, p.results = true, nil
	}
}

// Payload is the whole: {group, succeeded, failed, missing, results}. Where that is more than MaxInlined,
// results is empty and inlined is false.
func (p *MergePayload) Payload() Raw {
	dst := AppendJSON([]byte(`{"group":`), p.group)
	for _, names := range []struct {
		key  string
		list []string
	}{{"succeeded", p.succeeded}, {"failed", p.failed}, {"missing", p.missing}} {
		if names.list == nil {
			names.list = []string{}
		}
		dst = append(AppendJSONString(append(dst, ','), names.key), ':')
		dst = AppendJSON(dst, names.list)
	}
	const head, tail = `,"results":[`, `]}`
	if p.large || len(dst)+len(head)+len(p.results)+len(tail) > MaxInlined {
		return append(append(append(dst, `,"inlined":false`...), head...), tail...)
	}
	return append(append(append(dst, head...), p.results...), tail...)
}
