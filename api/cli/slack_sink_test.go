package cli_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// slackSink takes messages as Slack's incoming webhooks do, and refuses what they would.
type slackSink struct {
	*httptest.Server
	mu     sync.Mutex
	calls  int
	taken  []string // the texts of messages
	faults []string // why a message was refused that should not have been
	answer func(call int) (status int, retryAfter string)
	gone   chan struct{} // closed when it ends: calls that hang end then
}

const slackPath = "/services/T0000/B0000/s3cr3tpath"

// newSlackSink starts one. answer may give another status than 200 for a call, counted from 1, or -1: no
// answer at all; nil: it takes all.
func newSlackSink(t testing.TB, answer func(call int) (status int, retryAfter string)) *slackSink {
	t.Helper()
	k := &slackSink{answer: answer, gone: make(chan struct{})}
	k.Server = httptest.NewServer(k)
	t.Cleanup(func() {
		close(k.gone)
		k.CloseClientConnections()
		k.Close()
	})
	return k
}

// ServeHTTP takes a message.
func (k *slackSink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	k.mu.Lock()
	k.calls++
	call := k.calls
	k.mu.Unlock()
	if r.URL.Path != slackPath {
		http.Error(w, "no_team", http.StatusNotFound)
		return
	}
	if k.answer != nil {
		status, retryAfter := k.answer(call)
		if status < 0 {
			select {
			case <-k.gone:
			case <-r.Context().Done():
			}
			return
		}
		if status != 0 && status != 200 {
			if retryAfter != "" {
				w.Header().Set("Retry-After", retryAfter)
			}
			http.Error(w, "refused", status)
			return
		}
	}
	text, err := takeSlack(body)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.faults = append(k.faults, fmt.Sprintf("%v: %.300s", err, body))
		http.Error(w, "invalid_blocks", http.StatusBadRequest)
		return
	}
	k.taken = append(k.taken, text)
	_, _ = io.WriteString(w, "ok")
}

// takeSlack gives the texts of a message, or why Slack would refuse it.
func takeSlack(body []byte) (string, error) {
	type textObject struct{ Type, Text string }
	var m struct {
		Text   string
		Blocks []struct {
			Type     string
			Text     *textObject
			Elements []textObject
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return "", fmt.Errorf("invalid_payload: %w", err)
	}
	if m.Text == "" && len(m.Blocks) == 0 || len(m.Blocks) > 50 || len(m.Text) > 40_000 {
		return "", fmt.Errorf("no_text, or %d blocks", len(m.Blocks))
	}
	texts := []string{m.Text}
	for _, b := range m.Blocks {
		most, all := 3000, b.Elements
		if b.Text != nil {
			all = append(all, *b.Text)
		}
		if b.Type == "header" {
			most = 150
		}
		for _, one := range all {
			if n := utf8.RuneCountInString(one.Text); n == 0 || n > most {
				return "", fmt.Errorf("a text of a %s has %d characters", b.Type, n)
			}
			texts = append(texts, one.Text)
		}
	}
	return strings.Join(texts, "\n"), nil
}

// messages are those that it has taken.
func (k *slackSink) messages() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string(nil), k.taken...)
}

// sound fails the test where a message was refused for what it held.
func (k *slackSink) sound(t testing.TB) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.faults {
		t.Errorf("Slack would refuse it: %s", f)
	}
}
