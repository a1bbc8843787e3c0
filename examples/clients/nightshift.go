// Package nightshift lets a Go program that Nightshift runs or calls say how its work goes.
//
// One file, the standard library alone, Go 1.21 or newer: copy it into a folder "nightshift" of your
// module. A script:
//
//	attempt, err := nightshift.FromEnvironment()
//	...
//	done := 0
//	_, err = attempt.Load(ctx, &done) // what was saved last, by whatever attempt
//	for ; done < 10000; done += 100 {
//		work(done)
//		if err := attempt.Save(ctx, done+100); err != nil { // it is on disk when this returns
//			log.Fatal(err)
//		}
//		_ = attempt.Progress(ctx, float64(done+100), 10000, "")
//	}
//	err = attempt.Complete(ctx, map[string]int{"records": 10000}) // the result of the run
//
// A webhook takes FromHeader(r.Header, ""). Of a job with "completion: callback" it answers 202 and
// works on in a goroutine, not under the request's context:
//
//	ctx, stop := attempt.Heart(context.Background(), 20*time.Second) // tells that the work goes on
//	defer stop()
//	err := attempt.Complete(ctx, work(ctx)) // or attempt.Fail
//
// Load, Save, Complete and Fail are repeated until they are answered, for Patience: to repeat them is
// safe. Progress, Log and Heartbeat are tried once; their error may be ignored. An error that is ErrOver
// says that the attempt has ended (cancelled, timed out, replaced by a newer one): nothing it says
// counts any more, so let it end the work. An Attempt may be used by several goroutines, but let one of
// them alone save. It never shows its token.
//
// MIT licence, as Nightshift.
package nightshift

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Sorts of errors, for errors.Is. What is none of them is refused, now and later.
var (
	// ErrOver: the attempt has ended: stop.
	ErrOver = errors.New("the attempt is over")
	// ErrTooLarge: a checkpoint past 256 KiB, a result past 64 KiB. What was saved before is kept.
	ErrTooLarge = errors.New("too large")
	// ErrUnreachable: no answer in time. Whether the last try was taken in is unknown.
	ErrUnreachable = errors.New("no answer")
)

// Attempt is one attempt of a run.
type Attempt struct {
	Patience time.Duration // how long calls are repeated that are; 5 minutes unless set

	callback, token string
	client          http.Client
}

// Failure says why an attempt has failed. All may be left out.
type Failure struct {
	Type       string // a class of errors, such as "ValidationError": rules of retry ask for it
	Message    string
	Stack      string
	Retryable  *bool         // whether another attempt is worth while; nil: the rules decide
	RetryAfter time.Duration // when it is
}

// FromEnvironment gives the attempt that runs this program.
func FromEnvironment() (*Attempt, error) {
	for _, name := range []string{"NIGHTSHIFT_CALLBACK", "NIGHTSHIFT_CALLBACK_TOKEN"} {
		if os.Getenv(name) == "" {
			return nil, fmt.Errorf("%s is not set: this was not started by Nightshift", name)
		}
	}
	return newAttempt(os.Getenv("NIGHTSHIFT_CALLBACK"), os.Getenv("NIGHTSHIFT_CALLBACK_TOKEN"))
}

// FromHeader gives the attempt that calls a webhook. Who can call the webhook chooses what is called
// back: where server is not "", such as "http://127.0.0.1:8700", another one is an error.
func FromHeader(h http.Header, server string) (*Attempt, error) {
	callback, token := h.Get("Nightshift-Callback"), h.Get("Nightshift-Token")
	if callback == "" || token == "" {
		return nil, errors.New("the headers Nightshift-Callback and Nightshift-Token are missing: this was " +
			"not called by Nightshift, or its job has nightshift_headers: false")
	}
	if server != "" && !strings.HasPrefix(callback, strings.TrimRight(server, "/")+"/v1/callback/") {
		return nil, fmt.Errorf("Nightshift-Callback is not of %s", server)
	}
	return newAttempt(callback, token)
}

func newAttempt(callback, token string) (*Attempt, error) {
	if !strings.HasPrefix(callback, "http://") && !strings.HasPrefix(callback, "https://") {
		return nil, fmt.Errorf("%q is not the URL of a callback", callback)
	}
	a := &Attempt{Patience: 5 * time.Minute, callback: strings.TrimRight(callback, "/"), token: token}
	a.client.Timeout = 30 * time.Second
	a.client.CheckRedirect = func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // the token is for the callback alone
	}
	return a, nil
}

// String keeps the token out of what is printed.
func (a *Attempt) String() string { return "attempt at " + a.callback }

// GoString is String.
func (a *Attempt) GoString() string { return a.String() }

// Load reads what was saved last, by this attempt or one before it. found is false, and into is left
// alone, where nothing was.
func (a *Attempt) Load(ctx context.Context, into any) (found bool, err error) {
	text, err := a.insist(ctx, "GET", "checkpoint", nil)
	if err != nil || string(bytes.TrimSpace(text)) == "null" {
		return false, err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	return true, nil
}

// Save saves what JSON can say, up to 256 KiB, for whatever attempt comes next. nil drops it.
func (a *Attempt) Save(ctx context.Context, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	_, err = a.insist(ctx, "PUT", "checkpoint", text)
	return err
}

// Progress shows how far the work is. total 0: not known.
func (a *Attempt) Progress(ctx context.Context, done, total float64, note string) error {
	text, err := json.Marshal(map[string]any{"done": done, "total": total, "note": note})
	if err != nil {
		return fmt.Errorf("progress: %w", err)
	}
	_, err = a.ask(ctx, "POST", "progress", text)
	return err
}

// Log adds a line to the log of the run.
func (a *Attempt) Log(ctx context.Context, line string) error {
	text, err := json.Marshal(map[string]string{"text": line})
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	_, err = a.ask(ctx, "POST", "log", text)
	return err
}

// Heartbeat says that the work goes on.
func (a *Attempt) Heartbeat(ctx context.Context) error {
	_, err := a.ask(ctx, "POST", "heartbeat", nil)
	return err
}

// Heart sends a heartbeat every so often until the context that it gives ends. That ends with stop,
// with its parent, and with the attempt: then context.Cause is an ErrOver.
func (a *Attempt) Heart(ctx context.Context, every time.Duration) (alive context.Context, stop context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		beat := time.NewTicker(every)
		defer beat.Stop()
		for {
			if err := a.Heartbeat(ctx); errors.Is(err, ErrOver) {
				cancel(err)
			}
			select {
			case <-ctx.Done():
				return
			case <-beat.C:
			}
		}
	}()
	return ctx, func() { cancel(nil) }
}

// Complete gives the result, up to 64 KiB of JSON. With "completion: callback" this ends the run; else
// it is the result if the attempt succeeds.
func (a *Attempt) Complete(ctx context.Context, result any) error {
	text, err := json.Marshal(map[string]any{"result": result})
	if err != nil {
		return fmt.Errorf("result: %w", err)
	}
	_, err = a.insist(ctx, "POST", "complete", text)
	return err
}

// Fail fails the attempt.
func (a *Attempt) Fail(ctx context.Context, f Failure) error {
	told := map[string]any{}
	for name, text := range map[string]string{"type": f.Type, "message": f.Message, "stack": f.Stack} {
		if text != "" {
			told[name] = text[:min(len(text), 30000)]
		}
	}
	if f.Retryable != nil {
		told["retryable"] = *f.Retryable
	}
	if f.RetryAfter > 0 {
		told["retry_after"] = f.RetryAfter.Seconds()
	}
	text, err := json.Marshal(told)
	if err != nil {
		return fmt.Errorf("fail: %w", err)
	}
	_, err = a.insist(ctx, "POST", "fail", text)
	return err
}

// insist asks until there is an answer.
func (a *Attempt) insist(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	deadline := time.Now().Add(a.Patience)
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		answer, err := a.ask(ctx, method, path, body)
		if !errors.Is(err, ErrUnreachable) || time.Now().Add(wait).After(deadline) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// ask asks once. ErrUnreachable: it may be answered another time.
func (a *Attempt) ask(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.callback+"/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/json")
	answer, err := a.client.Do(req)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrUnreachable, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if answer.StatusCode/100 != 2 {
		return nil, refusal(path, answer.StatusCode, text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrUnreachable, err)
	}
	return text, nil
}

func refusal(path string, status int, text []byte) error {
	var problem struct{ Type, Title, Detail string }
	_ = json.Unmarshal(text, &problem)
	ours := strings.HasPrefix(problem.Type, "urn:nightshift:")
	said := http.StatusText(status)
	if ours {
		said = problem.Title + ": " + problem.Detail
	}
	switch {
	case status == 409 || status == 404 && ours:
		return fmt.Errorf("%s: %w: %d %s", path, ErrOver, status, said)
	case status == 413:
		return fmt.Errorf("%s: %w: %d %s", path, ErrTooLarge, status, said)
	case status == 429 || status >= 500:
		return fmt.Errorf("%s: %w: %d %s", path, ErrUnreachable, status, said)
	}
	return fmt.Errorf("%s: %d %s", path, status, said)
}
