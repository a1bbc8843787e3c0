package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// API speaks to a server with a token. It may be used by many goroutines.
type API struct {
	Addr   string // host:port
	token  string
	client *http.Client
}

// NewAPI speaks to the server at host:port with the admin token.
func NewAPI(addr string) API {
	return API{Addr: addr, token: Token, client: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
}

// With speaks to the same server with another token.
func (a API) With(token string) API {
	a.token = token
	return a
}

// Run is what the fault scripts read of a run.
type Run struct {
	ID            string          `json:"id"`
	Job           string          `json:"job"`
	State         string          `json:"state"`
	OperationID   string          `json:"operation_id"`
	CorrelationID string          `json:"correlation_id"`
	Trigger       string          `json:"trigger"`
	FinishedAt    string          `json:"finished_at"`
	Duplicate     bool            `json:"duplicate"`
	HeldBy        any             `json:"held_by"`
	Result        json.RawMessage `json:"result"`
	Progress      *Progress       `json:"progress"`
	Error         *Failure        `json:"error"`
	Attempts      []Attempt       `json:"attempts"`
}

// Terminal reports whether the run has ended.
func (r *Run) Terminal() bool {
	return r.State == "succeeded" || r.State == "failed" || r.State == "cancelled"
}

// Progress is how far a run says it is.
type Progress struct {
	Done  float64 `json:"done"`
	Total float64 `json:"total"`
}

// Attempt is one execution of a run.
type Attempt struct {
	Number     int      `json:"number"`
	Outcome    string   `json:"outcome"` // "" while it runs
	StartedAt  string   `json:"started_at"`
	FinishedAt string   `json:"finished_at"`
	Error      *Failure `json:"error"`
	HTTPStatus int      `json:"http_status"`
	Slices     int      `json:"slices"`
}

// Failure is the error of an attempt or run.
type Failure struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

func (f *Failure) String() string {
	if f == nil {
		return "no error"
	}
	return f.Kind + ": " + f.Message
}

// StatusError is an answer that is not 2xx.
type StatusError struct {
	Status int
	Body   string
}

func (e *StatusError) Error() string { return fmt.Sprintf("status %d: %s", e.Status, e.Body) }

// Passing reports whether the same request may be answered otherwise later.
func (e *StatusError) Passing() bool {
	return e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError
}

// Do sends a request, with an Idempotency-Key where key is not "", and reads a 2xx answer into out
// (nil: dropped). It gives the status. A *StatusError is any other answer.
func (a API) Do(ctx context.Context, method, path, key string, in, out any) (int, error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return 0, err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+a.Addr+path, body)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := a.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if res.StatusCode/100 != 2 {
		return res.StatusCode, &StatusError{res.StatusCode, string(text[:min(len(text), 500)])}
	}
	if out == nil {
		return res.StatusCode, nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return res.StatusCode, fmt.Errorf("%s %s: the answer is not as expected: %w: %s",
			method, path, err, text)
	}
	return res.StatusCode, nil
}

// Ready reports whether /readyz answers 200.
func (a API) Ready() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.Addr+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := a.client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode == http.StatusOK
}

// Register puts a job.
func (a API) Register(ctx context.Context, name string, document any) error {
	if _, err := a.Do(ctx, http.MethodPut, "/v1/jobs/"+name, "", document, nil); err != nil {
		return fmt.Errorf("register job %s: %w", name, err)
	}
	return nil
}

// Enqueue makes a run of a job under a key. It gives the status with the run: 202 new, 200 known.
func (a API) Enqueue(ctx context.Context, job, key string, payload any) (Run, int, error) {
	var run Run
	status, err := a.Do(ctx, http.MethodPost, "/v1/jobs/"+job+"/runs", key,
		map[string]any{"payload": payload}, &run)
	return run, status, err
}

// Entry is one run of a batch.
type Entry struct {
	Job     string `json:"job"`
	Payload any    `json:"payload"`
	Key     string `json:"idempotency_key"`
}

// Batch makes runs in one transaction and gives them in the order of the entries.
func (a API) Batch(ctx context.Context, entries []Entry) ([]Run, error) {
	var out struct{ Items []Run }
	_, err := a.Do(ctx, http.MethodPost, "/v1/runs/batch", "",
		map[string]any{"runs": entries}, &out)
	if err == nil && len(out.Items) != len(entries) {
		err = fmt.Errorf("batch of %d answered with %d items", len(entries), len(out.Items))
	}
	return out.Items, err
}

// Run reads a run with its attempts.
func (a API) Run(ctx context.Context, id string) (Run, error) {
	var run Run
	_, err := a.Do(ctx, http.MethodGet, "/v1/runs/"+id, "", nil, &run)
	return run, err
}

// Deliver brings a payload to a door whose secret is in its path, with the id of the delivery.
func (a API) Deliver(ctx context.Context, job, door, secret, id string, payload any) (Run, int, error) {
	var run Run
	status, err := a.Do(ctx, http.MethodPost, "/in/"+job+"/"+door+"/"+secret, id, payload, &run)
	return run, status, err
}

// Log reads what a run has printed.
func (a API) Log(ctx context.Context, id string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.Addr+"/v1/runs/"+id+"/log", nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	res, err := a.client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = &StatusError{res.StatusCode, string(text[:min(len(text), 500)])}
	}
	return string(text), err
}

// Runs lists the runs of a job, newest first; next is "" on the last page.
func (a API) Runs(ctx context.Context, job, after string) (runs []Run, next string, err error) {
	var page struct {
		Items []Run
		Next  string
	}
	path := "/v1/runs?limit=1000&job=" + job
	if after != "" {
		path += "&cursor=" + after
	}
	_, err = a.Do(ctx, http.MethodGet, path, "", nil, &page)
	return page.Items, page.Next, err
}
