package jobs

import (
	"slices"
	"time"
)

const alertMinute = time.Minute

// rateDoc is kept of the messages of the last minute. Times are kept as what they are before AlertMark.At,
// which moves as the wall clock is set.
type rateDoc struct {
	Ages   []int64    `json:"ages,omitempty"`   // of messages, oldest first, milliseconds
	Digest *alertNote `json:"digest,omitempty"` // of those that found no room
}

// rateRow is that while it is worked with.
type rateRow struct {
	sent           []Time
	digest         *alertNote
	there, changed bool
}

// send tells of something if there is room in this minute, else with the digest.
func (b *AlertBook) send(n *alertNote, now Time) {
	r := b.rate
	r.forget(now)
	if r.digest == nil && len(r.sent) < MaxAlertMessages {
		b.emit(n)
		r.sent = append(r.sent, now)
		return
	}
	r.digest = r.digest.collect(b.plan.Alert.Name, n)
	b.flush(now)
}

// flush tells the digest where there is room.
func (b *AlertBook) flush(now Time) {
	r := b.rate
	if r.digest == nil || len(r.sent) >= MaxAlertMessages {
		return
	}
	b.emit(r.digest)
	r.sent, r.digest = append(r.sent, now), nil
}

// forget drops messages that are older than a minute.
func (r *rateRow) forget(now Time) {
	r.changed = true
	for i := range r.sent {
		r.sent[i] = min(r.sent[i], now)
	}
	r.sent = slices.DeleteFunc(r.sent, func(at Time) bool { return now.Sub(at) >= alertMinute })
}

func (b *AlertBook) emit(n *alertNote) { b.messages = append(b.messages, n.message(b.source)) }

// mark is due when there is room for the digest, or when all of it is over.
func (r *rateRow) mark() AlertMark {
	m := AlertMark{AlertKey: AlertKey{AlertRate, ""}}
	if len(r.sent) == 0 {
		return m
	}
	m.At = r.sent[len(r.sent)-1].Add(alertMinute)
	if r.digest != nil {
		m.At = r.sent[0].Add(alertMinute)
	}
	d := rateDoc{Digest: r.digest}
	for _, at := range r.sent {
		d.Ages = append(d.Ages, int64(m.At-at))
	}
	m.Doc = AppendJSON(nil, &d)
	return m
}
