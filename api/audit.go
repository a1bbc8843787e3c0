package api

import (
	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/store"
)

// auditFilters are the parameters of the audit.
func auditFilters() []param {
	return append([]param{
		{name: "actor", wrong: empty, doc: "token NAME, sign-in NAME, schedule NAME or server"},
		{name: "action", wrong: empty, doc: "such as put, delete, pause, cancel"},
		{name: "kind", wrong: empty, doc: "of what was changed, such as job, run or token"},
		{name: "name", wrong: empty, doc: "of what was changed; the id of a run or an order"},
		{name: "since", wrong: wrongTime, doc: "at this time or later (RFC 3339)"},
		{name: "until", wrong: wrongTime, doc: "at this time or earlier (RFC 3339)"},
	}, paging...)
}

func auditRoutes() []*route {
	return []*route{{
		method: "GET", path: "/v1/audit", opens: scopeAdmin, whole: true, query: auditFilters(), handle: getAudit,
		tag: "server", id: "list-audit", summary: "List who changed what, newest first",
		more: "Kept for 90 days. Changes are the difference, field by field: before is left out of what was not there, " +
			"after of what is there no more. Values of secrets are never in it. A value over 16 KiB is cut to a text that " +
			"says so, of two texts what is alike at both ends first. An entry has 100 changes, or 64 KiB, at most: then the last has no " +
			"location and says how many are left out. What runs do, and making them, is in their own history; retention and " +
			"what expires leave no entry. A page may hold fewer than limit while next is not null.",
		out: []outcome{{status: 200, body: wire.Audit{}}},
	}}
}

func getAudit(c *call) error {
	page, q := c.page(), c.query
	f := store.AuditFilter{Actor: q.Get("actor"), Action: q.Get("action"), Kind: q.Get("kind"), Name: q.Get("name")}
	f.Since, _ = jobs.ParseTime(q.Get("since"))
	f.Until, _ = jobs.ParseTime(q.Get("until"))
	items, next, err := c.s.rt.Store().Audit(c.ctx(), f, page)
	if err != nil {
		return within("query", err)
	}
	list := wire.Audit{Items: make([]wire.AuditEntry, len(items)), Next: orNull(next), Limit: page.Limit}
	for i, e := range items {
		list.Items[i] = wire.AuditEntry{
			ID: e.ID, At: e.At, Actor: e.Actor, Action: e.Action, Kind: e.Kind, Name: e.Name, Note: e.Note,
			Changes: append([]jobs.Change{}, e.Changes...),
		}
	}
	return c.answer(200, &list)
}
