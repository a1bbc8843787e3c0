package sqldb

import (
	"strings"

	"nightshift/jobs"
)

const (
	selectDueHostless = `
SELECT seq, p.body FROM runs r LEFT JOIN payloads p ON p.run = r.seq` + dueOf + ` AND host IS NULL`
	updateHost = `UPDATE runs SET host = $2 WHERE seq = $1`
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

// hostsAt is hostsOf for a version of the job that need not be the newest.
func (s *Store) hostsAt(tx Tx, job *jobRow, version int) (*hosts, error) {
	if version == job.version {
		return s.hostsOf(tx, job)
	}
	p, err := s.pinnedSpec(tx, specKey{job.id, version})
	if err != nil || !templated(p.spec) {
		return nil, err
	}
	row, err := storedJobRow(tx, job.name)
	if err != nil {
		return nil, err
	}
	prepared, err := jobs.Prepare(*p.spec)
	if err != nil { // as in hostsOf
		return nil, nil
	}
	return &hosts{prepared, row.job}, nil
}

// of is the host for a payload; "" also where it cannot be rendered: the attempt tells.
func (h *hosts) of(payload jobs.Raw) string {
	if h == nil {
		return ""
	}
	host, _ := h.prepared.Host(payload, h.job)
	return host
}

// moveHosts fixes the hosts of runs that are not due yet and were moved to the newest version.
func (s *Store) moveHosts(tx Tx, job *jobRow, h *hosts) error {
	if h == nil {
		return nil
	}
	named := map[int64]string{}
	err := tx.Query(selectDueHostless, func(r Row) error {
		if host := h.of(payloadOf(r, 1)); host != "" {
			named[r.Int(0)] = host
		}
		return nil
	}, job.id)
	if err != nil {
		return err
	}
	for seq, host := range named {
		if err := must(tx.Exec(updateHost, seq, host)); err != nil {
			return err
		}
	}
	return nil
}
