package sqldb

import (
	"strings"

	"nightshift/jobs"
)

const (
	waitingRuns = `SELECT seq, p.body FROM runs r LEFT JOIN payloads p ON p.run = r.seq`

	selectQueuedHostless = waitingRuns + queuedOf + ` AND host IS NULL`
	selectDueHostless    = waitingRuns + dueOf + ` AND host IS NULL`
	updateHost           = `UPDATE runs SET host = $2 WHERE seq = $1`
)

// hosts tells which host the URL of a job's newest version names. nil: it is written out.
type hosts struct {
	prepared *jobs.Prepared
	job      *jobs.Job
}

// templated reports whether a URL may depend on what a run brings.
func templated(spec *jobs.Spec) bool {
	return spec.Webhook != nil && strings.Contains(spec.Webhook.URL, "{{")
}

// hostsOf is read once for a job as it stands.
func (s *Store) hostsOf(tx Tx, job *jobRow) (*hosts, error) {
	if !job.templated {
		return nil, nil
	}
	if job.hosts == nil {
		p, err := s.pinnedSpec(tx, specKey{job.id, job.version})
		if err != nil {
			return nil, err
		}
		row, err := storedJobRow(tx, job.name)
		if err != nil {
			return nil, err
		}
		prepared, err := jobs.Prepare(*p.spec)
		if err != nil { // by another version of this program: its attempts tell
			job.templated = false
			return nil, nil
		}
		h := &hosts{prepared, row.job}
		if host, failure := prepared.Host(emptyPayload, row.job); host == "" && failure == nil {
			job.templated = false
			return nil, nil
		}
		job.hosts = h
	}
	return job.hosts, nil
}

// of is the host for a payload; "" also where it cannot be rendered: the attempt tells.
func (h *hosts) of(payload jobs.Raw) string {
	if h == nil {
		return ""
	}
	host, _ := h.prepared.Host(payload, h.job)
	return host
}

// moveHosts fixes the hosts of runs that were moved to the newest version.
func (s *Store) moveHosts(tx Tx, job *jobRow) error {
	h, err := s.hostsOf(tx, job)
	if err != nil || h == nil {
		return err
	}
	runs := map[string][]int64{}
	for _, q := range []string{selectQueuedHostless, selectDueHostless} {
		err := tx.Query(q, func(r Row) error {
			host := h.of(payloadOf(r, 1))
			runs[host] = append(runs[host], r.Int(0))
			return nil
		}, job.id)
		if err != nil {
			return err
		}
	}
	delete(runs, "")
	for host, seqs := range runs {
		for _, seq := range seqs {
			if err := must(tx.Exec(updateHost, seq, host)); err != nil {
				return err
			}
		}
	}
	return nil
}
