package sqldb

import "maps"

// statisticsStatements are those of what has ended.
var statisticsStatements = map[string]string{
	"selectEndedCounts": selectEndedCounts, "selectEndedJob": selectEndedJob, "upsertEnded": upsertEnded,
	"deleteEndedCounts": deleteEndedCounts, "selectHeldRuns": selectHeldRuns, "selectWantedSecrets": selectWantedSecrets,
	"selectUnfinished": selectUnfinished,
}

func init() { maps.Copy(Statements, statisticsStatements) }
