package runtime

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

// outOfReach reports whether the receiver of a job of completion callback cannot call back: the server is
// called at base, an address of this machine alone, and the receiver is on another one, as far as that
// is known.
func outOfReach(base string, job *jobs.Job) bool {
	if !job.Webhook.CallsBack() {
		return false
	}
	u, err := url.Parse(base)
	if err != nil || !onThisMachine(u.Hostname()) {
		return false
	}
	host, _, _ := net.SplitHostPort(job.Spec().Host())
	return !onThisMachine(host)
}

// onThisMachine reports whether a host is this machine wherever it is called from.
func onThisMachine(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsUnspecified()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// Unreachable are the names of the jobs whose receivers cannot call back.
func (r *Runtime) Unreachable(ctx context.Context) (names []string, err error) {
	err = store.Each(func(p store.Page) ([]*jobs.Job, string, error) {
		return r.store.Jobs(ctx, p)
	}, func(job *jobs.Job) {
		if outOfReach(r.served.url, job) {
			names = append(names, job.Name)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("look for jobs that cannot be called back: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// unreachable are those of the saved jobs whose receivers cannot call back.
func (r *Runtime) unreachable(saved []store.SavedJob) (names []string) {
	for i := range saved {
		if outOfReach(r.served.url, saved[i].Job) {
			names = append(names, saved[i].Job.Name)
		}
	}
	return names
}
