package sqldb

import "maps"

// copyStatements are those of copies and of what is held.
var copyStatements = map[string]string{
	"deleteMeta": deleteMeta, "selectNewestRun": selectNewestRun, "selectCancelWaiting": selectCancelWaiting,
	"selectCancelQueued": selectCancelQueued, "selectCancelDue": selectCancelDue,
}

func init() { maps.Copy(Statements, copyStatements) }
