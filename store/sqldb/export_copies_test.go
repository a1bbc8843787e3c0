package sqldb

import "maps"

// copyStatements are those of copies and of what is held.
var copyStatements = map[string]string{"deleteMeta": deleteMeta, "selectNewestRun": selectNewestRun}

func init() { maps.Copy(Statements, copyStatements) }
