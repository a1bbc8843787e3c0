package sqldb

import "maps"

// Those of failures.
func init() {
	maps.Copy(Statements, map[string]string{
		"upsertFailureGroup":       upsertFailureGroup,
		"updateFailed":             updateFailed,
		"selectEarlierOf":          selectEarlierOf,
		"selectEarlierTicks":       selectEarlierTicks,
		"selectRequeuedOf":         selectRequeuedOf,
		"selectRequeuedTicks":      selectRequeuedTicks,
		"insertEarlierOf":          insertEarlierOf,
		"insertEarlierTicks":       insertEarlierTicks,
		"updateEarlierOf":          updateEarlierOf,
		"updateEarlierTicks":       updateEarlierTicks,
		"selectLink":               selectLink,
		"updateDealt":              updateDealt,
		"upsertDealing":            upsertDealing,
		"updateDealing":            updateDealing,
		"deleteDealing":            deleteDealing,
		"updateTo":                 updateTo,
		"updateFrom":               updateFrom,
		"selectOpen":               selectOpen,
		"selectListed":             selectListed,
		"selectFailure":            selectFailure,
		"selectFailureGroups":      selectFailureGroups,
		"selectFailureGroupsAlike": selectFailureGroupsAlike,
		"selectOpenAlike":          selectOpenAlike,
		"selectNewestAlike":        selectNewestAlike,
		"updateGroupIgnored":       updateGroupIgnored,
		"updateGroupHeard":         updateGroupHeard,
		"selectGroupsOver":         selectGroupsOver,
		"selectCame":               selectCame,
		"selectPruneGroups":        selectPruneGroups,
		"deleteFailureGroup":       deleteFailureGroup,
		"failuresAll.rows":         failuresAll.rows, "failuresAll.bounds": failuresAll.bounds,
		"failuresJob.rows": failuresJob.rows, "failuresJob.bounds": failuresJob.bounds,
		"failuresAlike.rows": failuresAlike.rows, "failuresAlike.bounds": failuresAlike.bounds,
		"failuresRetrying.rows": failuresRetrying.rows, "failuresRetrying.bounds": failuresRetrying.bounds,
	})
}
