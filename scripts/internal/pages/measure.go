package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"nightshift/scripts/internal/rig"
)

// heaviest is what a page or a list may weigh: no list carries payloads.
const heaviest = 200_000

// measured is a page or a list, and what it may not be.
type measured struct {
	path  string
	first bool // it is what people open first, or a counter
}

// all is what is measured.
func (l *load) all() []measured {
	job, schedule := jobName(1), "schedule-0000"
	var list []measured
	for _, path := range []string{"/", "/runs", "/failures", "/failures/groups", "/jobs", "/schedules", "/groups", "/queues", "/server"} {
		list = append(list, measured{path, true})
	}
	for _, path := range []string{
		"/v1/runs", "/v1/failures", "/v1/failure-groups", "/v1/jobs", "/v1/schedules", "/v1/groups", "/v1/queues", "/v1/dependencies",
		"/v1/server", "/v1/stats", "/v1/timeline", "/metrics", "/readyz",
	} {
		list = append(list, measured{path, true})
	}
	for _, path := range []string{
		"/dependencies", "/rules", "/alerts", "/tokens", "/secrets", "/sessions", "/audit",
		"/runs?state=failed", "/runs?state=cancelled", "/runs?job=" + job, "/runs?label=team%3Ateam-3", "/runs?queue=queue-2", "/runs?trigger=schedule",
		"/runs?q=" + l.failed[:13], "/runs?q=archive", "/runs?q=nothing+like+it", "/runs?error_type=Unavailable", "/runs?schedule=" + schedule,
		"/runs?since=" + stamp(48*time.Hour) + "&until=" + stamp(47*time.Hour), "/runs?until=" + stamp(20*24*time.Hour), "/runs?correlation_id=unknown",
		"/runs/" + l.failed, "/runs/" + l.group, "/jobs/" + job, "/jobs?q=job-1",
		"/failures?q=archive", "/failures?q=nothing+like+it", "/failures?job=" + job, "/failures?status=resolved", "/failures?fingerprint=" + l.print,
		"/failures/" + l.failed, "/failures/groups/" + l.print,
		"/groups/" + l.group, "/schedules/" + schedule, "/schedules?q=schedule-09", "/dependencies/shared-3",
		"/audit?action=run.cancel", "/audit?actor=token+environment", "/audit?kind=job",
		"/rules?job=" + job, "/rules?run=" + l.failed,
		"/v1/runs?state=failed&limit=50", "/v1/runs?q=archive", "/v1/failures?q=nothing+like+it", "/v1/stats?job=" + job, "/v1/events", "/v1/audit",
		"/v1/runs/" + l.group + "/members", "/v1/schedules/" + schedule + "/ticks",
	} {
		list = append(list, measured{path, false})
	}
	return list
}

// stamp is a time so long ago.
func stamp(ago time.Duration) string {
	return url.QueryEscape(time.Now().Add(-ago).UTC().Format("2006-01-02T15:04:05Z"))
}

// measure signs in, and measures everything.
func (l *load) measure(ctx context.Context) error {
	if err := l.signIn(ctx); err != nil {
		return err
	}
	type line struct {
		measured
		took []time.Duration
		size int
	}
	var lines []line
	for _, m := range l.all() {
		n := line{measured: m}
		for range l.rounds {
			took, size, status, err := l.load(ctx, m.path)
			if err != nil {
				return err
			}
			if status != http.StatusOK {
				l.report.Faults = append(l.report.Faults, fmt.Sprintf("%s answered %d", m.path, status))
				break
			}
			n.took, n.size = append(n.took, took), size
		}
		if len(n.took) > 0 {
			slices.Sort(n.took)
			lines = append(lines, n)
		}
	}
	slices.SortFunc(lines, func(a, b line) int { return int(b.took[len(b.took)/2] - a.took[len(a.took)/2]) })
	fmt.Printf("%-72s %9s %9s %9s\n", "page or list", "median", "p95", "bytes")
	for _, n := range lines {
		median, p95 := n.took[len(n.took)/2], n.took[len(n.took)*95/100]
		fmt.Printf("%-72s %9s %9s %9d\n", shortened(n.path), milli(median), milli(p95), n.size)
		if median > l.median {
			l.report.Faults = append(l.report.Faults, fmt.Sprintf("%s takes %s at the median; want %s", n.path, milli(median), l.median))
		}
		if n.first && p95 > l.p95 {
			l.report.Faults = append(l.report.Faults, fmt.Sprintf("%s takes %s at the 95th percentile; want %s", n.path, milli(p95), l.p95))
		}
		if n.size > heaviest && n.path != "/metrics" {
			l.report.Faults = append(l.report.Faults, fmt.Sprintf("%s weighs %d bytes; want at most %d", n.path, n.size, heaviest))
		}
	}
	l.report.Row("pages and lists", len(lines))
	if len(lines) > 0 {
		l.report.Row("slowest at the median", shortened(lines[0].path)+", "+milli(lines[0].took[len(lines[0].took)/2]))
	}
	return l.memory(ctx)
}

func milli(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
}

func shortened(path string) string {
	if len(path) > 72 {
		return path[:69] + "..."
	}
	return path
}

// memory loads the pages over and over. By then each was loaded often: what memory they need, the server has.
func (l *load) memory(ctx context.Context) error {
	before, err := l.resident()
	if err != nil {
		return err
	}
	all := l.all()
	for n := range l.loads {
		if _, _, _, err := l.load(ctx, all[n%len(all)].path); err != nil {
			return err
		}
	}
	after, err := l.resident()
	if err != nil {
		return err
	}
	l.report.Row("memory before the loads, MiB", before)
	l.report.Row(fmt.Sprintf("memory after %d loads, MiB", l.loads), after)
	if after-before > l.growth {
		l.report.Faults = append(l.report.Faults, fmt.Sprintf("memory grew by %d MiB over %d loads; want at most %d", after-before, l.loads, l.growth))
	}
	return nil
}

// resident is the server's resident memory in MiB.
func (l *load) resident() (int, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.server.PID()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return kib >> 10, err
		}
	}
	return 0, fmt.Errorf("no VmRSS in the status of %d", l.server.PID())
}

// signIn begins a session, as a browser does.
func (l *load) signIn(ctx context.Context) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	l.browser = &http.Client{Jar: jar, Timeout: time.Minute}
	form := url.Values{"token": {rig.Token}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.server.Addr+"/sign-in", strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := l.browser.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("sign in: %s", res.Status)
	}
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

// load reads a page or a list whole.
func (l *load) load(ctx context.Context, path string) (took time.Duration, size, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.server.Addr+path, nil)
	if err != nil {
		return 0, 0, 0, err
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	req.Header.Set("Accept", "text/html, application/json")
	if strings.HasPrefix(path, "/v1/") {
		req.Header.Set("Accept", "application/json") // events are a stream else
	}
	begun := time.Now()
	res, err := l.browser.Do(req)
	if err != nil {
		return 0, 0, 0, err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	return time.Since(begun), int(n), res.StatusCode, err
}
