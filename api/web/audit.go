package web

import (
	"net/http"
	"net/url"

	"nightshift/api/wire"
	"nightshift/jobs"
)

func auditPages() []page {
	return []page{{pattern: "GET /audit", handle: listAudit}}
}

// auditFilters are the parameters of the page of the audit, which the API takes as they are.
var auditFilters = []string{"actor", "action", "kind", "name", "since", "until"}

// listedAudit is the data of the page of the audit.
type listedAudit struct {
	Entries []auditEntry
	Next    *string
	Wrong   []jobs.Fault // what is wrong with the filters
	Query   url.Values
}

// auditEntry is an entry, and where what it is about is shown.
type auditEntry struct {
	wire.AuditEntry
	Href string // "": nowhere
}

func listAudit(v *view) error {
	v.Nav = "/server"
	filter := url.Values{}
	for _, name := range auditFilters {
		if value := v.query(name); value != "" {
			filter.Set(name, value)
		}
	}
	data := listedAudit{Query: filter}
	asked, wrong := v.timesOf(filter)
	if wrong != nil {
		data.Wrong = wrong
		return v.showAs(http.StatusUnprocessableEntity, "audit", "Audit", data)
	}
	list, err := v.API.Audit(v.ctx(), asked, v.page(50))
	if p := problem(err); p != nil && p.Status == 422 {
		data.Wrong = p.Errors
	} else if err != nil {
		return err
	}
	data.Next = list.Next
	for _, e := range list.Items {
		data.Entries = append(data.Entries, auditEntry{e, auditHref(&e)})
	}
	return v.show("audit", "Audit", data)
}

// auditHref is the page of what an entry is about.
func auditHref(e *wire.AuditEntry) string {
	name := url.PathEscape(e.Name)
	switch e.Kind {
	case "job", "run", "schedule", "alert":
		return "/" + e.Kind + "s/" + name
	case "dependency":
		return "/dependencies/" + name
	case "failures":
		return "/failures/orders/" + name
	case "queue", "token", "secret", "session":
		return "/" + e.Kind + "s"
	case "server":
		return "/server"
	}
	return ""
}
