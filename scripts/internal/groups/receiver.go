package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// receiver is the webhook endpoint of members and merges. It writes down what merges get.
type receiver struct {
	api    rig.API
	server *http.Server
	url    string

	mu     sync.Mutex
	groups map[string]*group // by key
	byRun  map[string]*group // by the id of the group's run, as its members' payloads and the client tell
	killed chan struct{}     // closed by the next kill
	faults []string
}

func newReceiver(api rig.API) (*receiver, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{
		api: api, url: "http://" + l.Addr().String(), groups: map[string]*group{}, byRun: map[string]*group{},
		killed: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /"+memberJob, r.member)
	mux.HandleFunc("POST /"+mergeJob, r.merge)
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(l) }()
	return r, nil
}

func (r *receiver) close() { _ = r.server.Close() }

func (r *receiver) fault(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

// expect lets the members of a group come.
func (r *receiver) expect(g *group) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups[g.key] = g
}

// told notes the run of a group.
func (r *receiver) told(g *group, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	g.id, r.byRun[id] = id, g
}

// kill tells those that hang that the server is gone.
func (r *receiver) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.killed)
	r.killed = make(chan struct{})
}

// member answers a member; the last one of its group when it may end.
func (r *receiver) member(w http.ResponseWriter, req *http.Request) {
	var in struct {
		Key   string
		Place int
	}
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return // cut off: it comes again
	}
	if err := json.Unmarshal(text, &in); err != nil {
		r.fault("a member's payload: %v", err)
	}
	r.mu.Lock()
	g := r.groups[in.Key]
	r.mu.Unlock()
	if g == nil || in.Place < 0 || in.Place >= g.members {
		r.fault("a member of %q at place %d came, which nobody asked for", in.Key, in.Place)
		http.Error(w, "unknown", http.StatusNotFound)
		return
	}
	if in.Place == g.members-1 && !r.hold(g, req) {
		return
	}
	if in.Place == g.refused || in.Place == g.members-1 && g.last == byFailure {
		http.Error(w, "refused", http.StatusUnprocessableEntity)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(g.resultOf(in.Place))
}

// hold keeps the last member until it may end. It reports false where the request was given up before.
func (r *receiver) hold(g *group, req *http.Request) bool {
	r.mu.Lock()
	first := g.lastRun == ""
	g.lastRun = req.Header.Get("Nightshift-Run")
	r.mu.Unlock()
	if first {
		close(g.held)
	}
	select {
	case <-g.open:
	case <-req.Context().Done():
		return false
	}
	if first && g.last == byCancel {
		<-req.Context().Done() // its cancel is under way
		return false
	}
	return true
}

// merge writes down what a merge got, and answers.
func (r *receiver) merge(w http.ResponseWriter, req *http.Request) {
	d := delivery{run: req.Header.Get("Nightshift-Run"), operation: req.Header.Get("Idempotency-Key")}
	text, err := io.ReadAll(req.Body)
	if err != nil {
		return // cut off: it comes again
	}
	err = json.Unmarshal(text, &d.payload)
	if err == nil && d.payload.Inlined != nil && !*d.payload.Inlined {
		d.payload.Results, err = r.results(req)
	}
	if err != nil { // where the server died under the answer, its own request ends a moment later
		select {
		case <-req.Context().Done():
		case <-time.After(5 * time.Second):
		}
	}
	if req.Context().Err() != nil {
		return // cut off: it comes again
	}
	if err != nil {
		r.fault("the merge of run %s got: %v", d.run, err)
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	r.mu.Lock()
	g := r.byRun[d.payload.Group]
	if g == nil {
		g = r.groups[keyOf(d.payload.Results)] // the answer to the client was lost
	}
	killed, hangs := r.killed, false
	if g != nil {
		g.merged = append(g.merged, d)
		g.requests++
		hangs = g.hangs && g.requests == 1
	}
	r.mu.Unlock()
	if g == nil {
		r.fault("a merge of the unknown group %q came", d.payload.Group)
	}
	if hangs {
		select {
		case <-killed:
		case <-req.Context().Done():
		case <-time.After(hangFor):
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"merged": %d}`, len(d.payload.Results))
}

// hangFor is how long a merge that hangs waits for a kill.
const hangFor = 2 * time.Second

// keyOf is the key that the results of a group bear.
func keyOf(results []result) string {
	for _, res := range results {
		var said struct{ Key string }
		if json.Unmarshal(res.Result, &said) == nil && said.Key != "" {
			return said.Key
		}
	}
	return ""
}

// results reads the whole array at the callback of a merge.
func (r *receiver) results(req *http.Request) (all []result, err error) {
	back, err := url.Parse(req.Header.Get("Nightshift-Callback"))
	if err != nil {
		return nil, fmt.Errorf("Nightshift-Callback: %w", err)
	}
	call, err := http.NewRequestWithContext(req.Context(), http.MethodGet, back.String()+"/results", nil)
	if err != nil {
		return nil, err
	}
	call.Header.Set("Authorization", "Bearer "+req.Header.Get("Nightshift-Token"))
	res, err := http.DefaultClient.Do(call)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET results: %s: %.300s", res.Status, text)
	}
	if err != nil {
		return nil, err
	}
	return all, json.Unmarshal(text, &all)
}
