package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"nightshift/scripts/internal/rig"
)

// load is clients that enqueue under keys and remember what they were answered. It may be begun and ended more
// than once; what was answered is kept over that.
type load struct {
	api     rig.API
	seed    uint64
	clients int
	pause   time.Duration // between two requests of a client
	size    int           // bytes of the largest payloads
	jobs    []string      // drawn from
	groups  int           // of a hundred requests

	mu      sync.Mutex
	begun   int
	keys    map[string]*sent
	acked   []string       // ids of runs in 2xx answers, in order
	answers map[string]int // by what they said
	lastAck time.Time
	reads   map[string]int // answers to reads
	odd     []string       // answers that no fault explains

	end, giveUp context.CancelFunc
	over        *sync.WaitGroup
}

// sent is what became of a key.
type sent struct {
	job     string
	id      string // "": not acknowledged
	refused bool   // the last answer said that nothing was written, and no answer before left that open
	open    bool   // an answer left open whether it was done
}

func newLoad(api rig.API, seed uint64) *load {
	return &load{
		api: api, seed: seed, clients: 4, pause: 10 * time.Millisecond, size: 4 << 10,
		jobs: []string{"quick", "quick", "quick", "slow", "flaky"}, groups: 3,
		keys: map[string]*sent{}, answers: map[string]int{}, reads: map[string]int{},
	}
}

// begin lets the clients loose.
func (c *load) begin(ctx context.Context) {
	c.begun++
	var work, patience context.Context
	work, c.end = context.WithCancel(ctx)
	patience, c.giveUp = context.WithCancel(ctx)
	c.over = &sync.WaitGroup{}
	for i := range c.clients {
		c.over.Go(func() { c.client(work, patience, i) })
	}
	c.over.Go(func() { c.reader(work) })
}

// stop ends the clients; what is not answered within a while stays open.
func (c *load) stop(within time.Duration) {
	c.end()
	timer := time.AfterFunc(within, c.giveUp)
	c.over.Wait()
	timer.Stop()
	c.giveUp()
}

func (c *load) client(work, patience context.Context, i int) {
	random := rand.New(rand.NewPCG(c.seed, uint64(c.begun*1000+i)))
	for n := 0; work.Err() == nil; n++ {
		key := fmt.Sprintf("key-%d-%d-%d", c.begun, i, n)
		switch draw := random.IntN(100); {
		case draw < 5:
			c.batch(patience, random, key)
		case draw < 5+c.groups:
			c.group(patience, random, key)
		default:
			c.one(patience, random, key)
		}
		pause(work, time.Duration(random.Float64()*2*float64(c.pause)))
	}
}

func pause(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

func (c *load) draw(random *rand.Rand) (job string, payload any) {
	size := 50
	if random.IntN(5) == 0 {
		size = 1 + random.IntN(c.size)
	}
	return c.jobs[random.IntN(len(c.jobs))], map[string]string{"text": strings.Repeat("p", size)}
}

func (c *load) one(ctx context.Context, random *rand.Rand, key string) {
	job, payload := c.draw(random)
	c.until(ctx, random, []string{key}, []string{job}, func() ([]rig.Run, error) {
		run, _, err := c.api.Enqueue(ctx, job, key, payload)
		return []rig.Run{run}, err
	})
}

func (c *load) batch(ctx context.Context, random *rand.Rand, key string) {
	entries := make([]rig.Entry, 5)
	keys, jobs := make([]string, 5), make([]string, 5)
	for i := range entries {
		job, payload := c.draw(random)
		keys[i], jobs[i] = fmt.Sprintf("%s-%d", key, i), job
		entries[i] = rig.Entry{Job: job, Payload: payload, Key: keys[i]}
	}
	c.until(ctx, random, keys, jobs, func() ([]rig.Run, error) { return c.api.Batch(ctx, entries) })
}

func (c *load) group(ctx context.Context, random *rand.Rand, key string) {
	members := make([]map[string]any, 1+random.IntN(4))
	for i := range members {
		members[i] = map[string]any{"name": fmt.Sprint("m", i), "job": "quick"}
	}
	body := map[string]any{"members": members, "merge": map[string]any{"job": "quick"}, "need": 0}
	c.until(ctx, random, []string{key}, []string{"_group"}, func() ([]rig.Run, error) {
		var run rig.Run
		_, err := c.api.Do(ctx, http.MethodPost, "/v1/groups", key, body, &run)
		return []rig.Run{run}, err
	})
}

// until repeats a request until it is answered with 2xx. Where an answer says that nothing was written half of
// them are not asked again, so that the file can be seen not to hold them.
func (c *load) until(ctx context.Context, random *rand.Rand, keys, jobs []string, send func() ([]rig.Run, error)) {
	c.mu.Lock()
	for i, key := range keys {
		c.keys[key] = &sent{job: jobs[i]}
	}
	c.mu.Unlock()
	for {
		runs, err := send()
		if c.note(keys, runs, err) || ctx.Err() != nil {
			return
		}
		if c.nothingWritten(keys) && random.IntN(2) == 0 {
			return
		}
		pause(ctx, 30*time.Millisecond)
	}
}

// note remembers an answer and reports whether it was the last.
func (c *load) note(keys []string, runs []rig.Run, err error) (final bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	said := saidBy(err)
	c.answers[said]++
	for i, key := range keys {
		k := c.keys[key]
		switch {
		case err == nil:
			k.id, k.refused = runs[i].ID, false
			c.acked = append(c.acked, runs[i].ID)
			c.lastAck = time.Now()
		case writesNothing(said):
			k.refused = !k.open
		default:
			k.open, k.refused = true, false
		}
	}
	if err == nil {
		return true
	}
	var answer *rig.StatusError
	if errors.As(err, &answer) && (!answer.Passing() || answer.Status == http.StatusInternalServerError) {
		c.odd = append(c.odd, fmt.Sprintf("key %s: %v", keys[0], err))
		return true
	}
	return false
}

// writesNothing reports whether an answer promises that nothing was done.
func writesNothing(said string) bool {
	return said == "507 disk-full" || said == "503 busy" || said == "429 overload"
}

func (c *load) nothingWritten(keys []string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.keys[keys[0]].refused
}

// saidBy is what an answer said in short: 2xx, "507 disk-full" or "no answer".
func saidBy(err error) string {
	if err == nil {
		return "2xx"
	}
	var answer *rig.StatusError
	if !errors.As(err, &answer) {
		return "no answer"
	}
	var problem struct{ Type string }
	_ = json.Unmarshal([]byte(answer.Body), &problem)
	return fmt.Sprintf("%d %s", answer.Status, problem.Type[strings.LastIndexByte(problem.Type, ':')+1:])
}

// reader reads a list and a run, over and over.
func (c *load) reader(ctx context.Context) {
	for ctx.Err() == nil {
		_, err := c.api.Do(ctx, http.MethodGet, "/v1/runs?limit=20", "", nil, nil)
		c.noteRead(ctx, err)
		c.mu.Lock()
		n := len(c.acked)
		id := ""
		if n > 0 {
			id = c.acked[n-1]
		}
		c.mu.Unlock()
		if id != "" {
			_, err := c.api.Run(ctx, id)
			c.noteRead(ctx, err)
		}
		pause(ctx, 100*time.Millisecond)
	}
}

func (c *load) noteRead(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reads[saidBy(err)]++
}

// acks is how many runs were acknowledged so far.
func (c *load) acks() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.acked)
}

// said counts the answers so far that said something.
func (c *load) said(text string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers[text]
}

// told are the counts of all answers, of writes or reads, as text.
func (c *load) told(counts map[string]int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var parts []string
	for _, said := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s: %d", said, counts[said]))
	}
	return strings.Join(parts, ", ")
}
