package sqldb

import "maps"

// auditStatements are those of the audit.
var auditStatements = map[string]string{
	"insertAuditEntry": insertAuditEntry,
	"selectAuditUntil": selectAuditUntil, "selectAuditSince": selectAuditSince,
	"auditAll.rows": auditAll.rows, "auditAll.bounds": auditAll.bounds,
	"auditName.rows": auditName.rows, "auditName.bounds": auditName.bounds,
	"auditActor.rows": auditActor.rows, "auditActor.bounds": auditActor.bounds,
}

func init() { maps.Copy(Statements, auditStatements) }
