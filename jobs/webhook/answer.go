package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"nightshift/jobs"
)

// Bounds on what is kept of the headers of an answer that failed.
const (
	maxKeptHeaders = 64
	maxKeptName    = 128
	maxKeptValue   = 1 << 10
	maxKeptTotal   = 8 << 10
)

func succeeded(status int) bool { return status >= 200 && status <= 299 }

// judge makes the report of a full answer.
func (k *Kind) judge(x *exchange, call *jobs.Call) jobs.Report {
	good, why := x.verdict(call)
	if !good {
		return k.judgeFailed(x, call, why)
	}
	more, notes := x.continues(call.Mask)
	if more {
		return x.slice(call)
	}
	x.hide(call.Mask)
	rep := jobs.Report{ExitCode: -1, HTTPStatus: x.resp.StatusCode, Notes: notes}
	if len(x.body) == 0 {
		return rep
	}
	if len(x.body) <= jobs.MaxResult {
		rep.Result = resultOf(x.body)
	}
	if rep.Result == nil {
		rep.ResultTruncated = true
		rep.OutputTail = logHead(x, call)
	}
	return rep
}

// hide masks what came, before any of it is cut.
func (x *exchange) hide(mask *jobs.Mask) {
	if mask == nil {
		return
	}
	x.body = mask.Bytes(x.body)
	for _, values := range x.resp.Header {
		for i := range values {
			values[i] = mask.Text(values[i])
		}
	}
}

// verdict tells whether the answer is a success, and if it is not, what the status alone does not
// say of that.
func (x *exchange) verdict(call *jobs.Call) (good bool, why string) {
	status := x.resp.StatusCode
	if call.Judge == nil {
		return succeeded(status), ""
	}
	good, err := call.Judge(jobs.Answer{
		Status: status, Headers: allHeaders(x.resp.Header),
		Body: x.body[:min(len(x.body), maxBodyBytes)],
	})
	switch {
	case err != nil:
		return false, "success could not be evaluated: " + err.Error()
	case !good && succeeded(status):
		return false, "success is not true: " + call.Spec.Webhook.Success
	}
	return good, ""
}

// allHeaders are headers by lower-case name; several values are joined by ", ".
func allHeaders(h http.Header) map[string]string {
	all := make(map[string]string, len(h))
	for name, values := range h {
		all[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return all
}

// resultOf is the body where it is JSON, byte for byte, else a JSON string of its text. Nil: that
// string is larger than a result may be.
func resultOf(body []byte) jobs.Raw {
	if jobs.ValidJSON(body) == nil {
		return body
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(strings.ToValidUTF8(string(body), "\uFFFD")); err != nil {
		return nil // a string always encodes
	}
	if b.Len()-1 > jobs.MaxResult {
		return nil
	}
	return b.Bytes()[:b.Len()-1] // less the line end that Encode adds
}

// logHead writes the head of an answer that is too large for a result to the log, and gives the
// tail of what it wrote.
func logHead(x *exchange, call *jobs.Call) string {
	head := text(x.body, jobs.MaxResult)
	size := bytesText(x.size)
	if x.past {
		size = "more than 1 MiB"
	}
	mark := fmt.Sprintf("\n[the answer of %s is no result: it is larger than 64 KiB; "+
		"its first %d bytes stand above]\n", size, len(head))
	if call.Log != nil {
		// The log never fails (jobs.Call).
		_, _ = call.Log.Write([]byte(head + mark))
	}
	kept := strings.ToValidUTF8(head[max(0, len(head)-(jobs.MaxOutput-len(mark))):], "")
	return kept + mark
}

func (k *Kind) judgeFailed(x *exchange, call *jobs.Call, why string) jobs.Report {
	resp := x.resp
	whole := x.body
	x.hide(call.Mask)
	message := x.statusMessage()
	if why != "" {
		message = oneLine(message+", but "+why, jobs.MaxMessage)
	}
	rep := x.failed(jobs.FailHTTP, message)
	if resp.StatusCode == http.StatusTooManyRequests ||
		resp.StatusCode == http.StatusServiceUnavailable {
		rep.RetryAfterFloor, rep.Notes = jobs.RetryAfter(resp.Header["Retry-After"], k.now())
	}
	if x.isProblem() {
		p := problem{body: whole, mask: call.Mask, now: k.now(), rep: &rep}
		p.read()
	}
	return rep
}

// failed is the report of an answer that fails the attempt, with what is kept of it.
func (x *exchange) failed(kind jobs.FailureKind, message string) jobs.Report {
	rep := failed(&jobs.Failure{Kind: kind, Message: message, HTTP: &jobs.HTTPFailure{
		Status:  x.resp.StatusCode,
		Headers: keptHeaders(x.resp.Header),
		Body:    text(x.body, jobs.MaxErrorBody),
	}})
	rep.HTTPStatus = x.resp.StatusCode
	return rep
}

// statusMessage is such as "503 Service Unavailable".
func (x *exchange) statusMessage() string {
	resp := x.resp
	text := http.StatusText(resp.StatusCode)
	if text == "" {
		text = "(unknown status)"
	}
	message := fmt.Sprintf("%d %s", resp.StatusCode, text)
	switch {
	case resp.StatusCode < 300 || resp.StatusCode > 399:
		return message
	case x.refusal != "":
		message += ": " + x.refusal
	case x.plan.follow:
		message += ": of redirects only 307 and 308 are followed"
	default:
		message += ": redirects are not followed"
	}
	to, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || resp.Header.Get("Location") == "" {
		return message
	}
	// Without query and user: they may hold secrets.
	where := url.URL{Scheme: to.Scheme, Host: to.Host, Path: to.Path}
	return oneLine(message+" (to "+where.String()+")", jobs.MaxMessage)
}

// keptHeaders are headers by lower-case name, valid UTF-8 and bounded; several values are joined
// by ", ". Cookies are left out: they are secrets of the other side.
func keptHeaders(h http.Header) map[string]string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	kept, total := make(map[string]string, min(len(names), maxKeptHeaders)), 0
	for _, name := range names {
		if name == "Set-Cookie" || len(name) > maxKeptName {
			continue
		}
		value := oneLine(strings.Join(h[name], ", "), maxKeptValue)
		total += len(name) + len(value)
		if len(kept) == maxKeptHeaders || total > maxKeptTotal {
			break
		}
		kept[oneLine(strings.ToLower(name), maxKeptName)] = value
	}
	return kept
}

// isProblem tells whether the answer is a problem of RFC 9457.
func (x *exchange) isProblem() bool {
	media, _, _ := strings.Cut(x.resp.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/problem+json")
}
