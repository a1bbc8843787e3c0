package words

import (
	"strings"

	"nightshift/api/wire"
)

// Changed names the fields that an entry of the audit changed, behind its note.
func Changed(e *wire.AuditEntry) string {
	var fields []string
	for _, c := range e.Changes {
		if c.Location != "" {
			fields = append(fields, c.Location)
		}
	}
	text := strings.Join(fields, ", ")
	if e.Note != "" && text != "" {
		return e.Note + " (" + text + ")"
	}
	return e.Note + text
}
