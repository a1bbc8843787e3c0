package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"

	"nightshift/store"
)

// KeepEvent keeps an event as a change that it tells of does; fail, where it is not nil, undoes it.
func KeepEvent(ctx context.Context, s store.Store, e store.Event, fail error) error {
	st := s.(*Store)
	return st.db.Write(ctx, func(tx Tx) error {
		if err := st.keepEvent(tx, e); err != nil {
			return err
		}
		return fail
	})
}

// KeepFew makes a store keep n rows of each sort from call to call.
func KeepFew(s store.Store, n int) { s.(*Store).cached = n }

// Forget has a store that nobody calls remember nothing.
func Forget(s store.Store) { s.(*Store).forget() }

// Change executes a statement behind the back of a store.
func Change(ctx context.Context, s store.Store, query string) error {
	return s.(*Store).db.Write(ctx, func(tx Tx) error {
		_, err := tx.Exec(query)
		return err
	})
}

// Counted counts the statements of a store from now on, by their text.
func Counted(s store.Store) map[string]int {
	st, counts := s.(*Store), map[string]int{}
	st.db = countingDB{st.db, counts}
	return counts
}

type countingDB struct {
	DB
	counts map[string]int
}

func (d countingDB) Write(ctx context.Context, fn func(Tx) error) error {
	return d.DB.Write(ctx, func(tx Tx) error { return fn(countingTx{tx, d.counts}) })
}

type countingTx struct {
	Tx
	counts map[string]int
}

func (t countingTx) Exec(query string, args ...driver.Value) (int64, error) {
	t.counts[query]++
	return t.Tx.Exec(query, args...)
}

func (t countingTx) Query(query string, each func(Row) error, args ...driver.Value) error {
	t.counts[query]++
	return t.Tx.Query(query, each, args...)
}

// UndoNext undoes the next write of a store, for a cause.
func UndoNext(s store.Store, cause error) {
	st := s.(*Store)
	st.db = &undoingDB{st.db, st, cause}
}

type undoingDB struct {
	DB
	of    *Store
	cause error
}

func (d *undoingDB) Write(ctx context.Context, fn func(Tx) error) error {
	d.of.db = d.DB
	return d.DB.Write(ctx, func(tx Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		return d.cause
	})
}

// UndoOften has writes of a store be undone before they are done: at the statement that next says, or at
// their end; -1: they are done.
func UndoOften(s store.Store, next func() int) {
	st := s.(*Store)
	st.db = failingDB{st.db, next}
}

type failingDB struct {
	DB
	next func() int
}

var errFails = errors.New("it fails")

func (d failingDB) Write(ctx context.Context, fn func(Tx) error) error {
	for left := d.next(); left >= 0; left = d.next() {
		err := d.DB.Write(ctx, func(tx Tx) error {
			if err := fn(&failingTx{tx, left}); err != nil {
				return err
			}
			return errFails
		})
		if !errors.Is(err, errFails) {
			return err
		}
	}
	return d.DB.Write(ctx, fn)
}

type failingTx struct {
	Tx
	left int // statements until one fails
}

// fails has a statement fail as a full disk does: all is undone.
func (t *failingTx) fails() error {
	if t.left--; t.left != 0 {
		return nil
	}
	_, err := t.Tx.Exec(`DELETE FROM runs WHERE seq = -1`)
	return errors.Join(err, errFails)
}

func (t *failingTx) Exec(query string, args ...driver.Value) (int64, error) {
	if err := t.fails(); err != nil {
		return 0, err
	}
	return t.Tx.Exec(query, args...)
}

func (t *failingTx) Query(query string, each func(Row) error, args ...driver.Value) error {
	if err := t.fails(); err != nil {
		return err
	}
	return t.Tx.Query(query, each, args...)
}

// Statements are all that the package executes, by name.
var Statements = map[string]string{
	"updateLongAt":             updateLongAt,
	"selectNextLong":           selectNextLong,
	"selectLong":               selectLong,
	"updateLongShifted":        updateLongShifted,
	"selectWaitingLanes":       selectWaitingLanes,
	"selectFirstQueued":        selectFirstQueued,
	"selectWaitingOf":          selectWaitingOf,
	"selectAlerts":             selectAlerts,
	"selectSlicedOf":           selectSlicedOf,
	"updateWaitingShifted":     updateWaitingShifted,
	"selectContinues":          selectContinues,
	"selectSaid":               selectSaid,
	"updateContinues":          updateContinues,
	"selectLinesWaiting":       selectLinesWaiting,
	"selectCheckpoints":        selectCheckpoints,
	"selectOfOperation":        selectOfOperation,
	"selectOfBatch":            selectOfBatch,
	"selectJobDoc":             selectJobDoc,
	"updateSliced":             updateSliced,
	"updateWaiting":            updateWaiting,
	"updateProgress":           updateProgress,
	"insertCancelledAttempt":   insertCancelledAttempt,
	"selectHoldersSliced":      selectHoldersSliced,
	"selectBatchAhead":         selectBatchAhead,
	"selectBatchNext":          selectBatchNext,
	"updateBatch":              updateBatch,
	"selectBatchUnfinished":    selectBatchUnfinished,
	"deleteSlot":               deleteSlot,
	"selectAttempt":            selectAttempt,
	"selectTold":               selectTold,
	"updateAlive":              updateAlive,
	"updateSaid":               updateSaid,
	"selectWaitingRuns":        selectWaitingRuns,
	"selectLease":              selectLease,
	"selectParkedAlike":        selectParkedAlike,
	"selectParkedFirst":        selectParkedFirst,
	"selectParkedSort":         selectParkedSort,
	"updateLanesEmpty":         updateLanesEmpty,
	"updateLaneUnparked":       updateLaneUnparked,
	"updateRunning":            updateRunning,
	"updateRunningMany":        updateRunningMany,
	"selectSlots":              selectSlots,
	"deleteSlotsOf":            deleteSlotsOf,
	"deleteGate":               deleteGate,
	"deleteSlots":              deleteSlots,
	"deleteStarts":             deleteStarts,
	"insertGate":               insertGate,
	"insertSlot":               insertSlot,
	"insertSlots":              insertSlots,
	"insertStarts":             insertStarts,
	"updateLaneParked":         updateLaneParked,
	"selectGate":               selectGate,
	"selectGateByID":           selectGateByID,
	"selectGates":              selectGates,
	"selectHolders":            selectHolders,
	"selectJobRowID":           selectJobRowID,
	"selectLaneOfHost":         selectLaneOfHost,
	"selectLaneVersion":        selectLaneVersion,
	"selectNextWake":           selectNextWake,
	"selectParkedAt":           selectParkedAt,
	"selectParkedGates":        selectParkedGates,
	"selectQueuedIn":           selectQueuedIn,
	"selectRunningOf":          selectRunningOf,
	"selectStarts":             selectStarts,
	"deleteGateStarts":         deleteGateStarts,
	"selectStatefulGates":      selectStatefulGates,
	"selectSweepGates":         selectSweepGates,
	"selectSweepLanes":         selectSweepLanes,
	"selectWaiting":            selectWaiting,
	"selectWaitingFor":         selectWaitingFor,
	"selectWaitingForHost":     selectWaitingForHost,
	"selectWoken":              selectWoken,
	"updateGatePaused":         updateGatePaused,
	"updateGateState":          updateGateState,
	"updateGateWake":           updateGateWake,
	"updateLaneAnew":           updateLaneAnew,
	"updateLaneVersion":        updateLaneVersion,
	"updateLanesOfAnew":        updateLanesOfAnew,
	"updateRunVersion":         updateRunVersion,
	"updateStarts":             updateStarts,
	"updateStartsShifted":      updateStartsShifted,
	"updateStartsAhead":        updateStartsAhead,
	"updateWakesShifted":       updateWakesShifted,
	"upsertSlot":               upsertSlot,
	"selectFailedAttempts":     selectFailedAttempts,
	"selectFailedEnd":          selectFailedEnd,
	"selectFailedRuns":         selectFailedRuns,
	"selectPayload":            selectPayload,
	"deleteAttempt":            deleteAttempt,
	"deleteAttempts":           deleteAttempts,
	"deleteKey":                deleteKey,
	"deleteLog":                deleteLog,
	"deleteLogs":               deleteLogs,
	"deleteOldAudit":           deleteOldAudit,
	"deletePayload":            deletePayload,
	"deleteRun":                deleteRun,
	"deleteToken":              deleteToken,
	"insertAttempt":            insertAttempt,
	"insertJob":                insertJob,
	"insertLane":               insertLane,
	"insertPayload":            insertPayload,
	"insertRun":                insertRun,
	"insertAttemptWhole":       insertAttemptWhole,
	"insertRunWhole":           insertRunWhole,
	"insertToken":              insertToken,
	"insertVersion":            insertVersion,
	"selectAttempts":           selectAttempts,
	"selectDue":                selectDue,
	"selectEnded":              selectEnded,
	"selectFence":              selectFence,
	"selectFloor":              selectFloor,
	"selectHistory":            selectHistory,
	"selectJob":                selectJob,
	"selectJobRow":             selectJobRow,
	"selectJobs":               selectJobs,
	"selectKey":                selectKey,
	"selectLane":               selectLane,
	"selectLaneByID":           selectLaneByID,
	"selectLaneHead":           selectLaneHead,
	"selectLanesByTurn":        selectLanesByTurn,
	"selectLanesOfJob":         selectLanesOfJob,
	"selectLastTurn":           selectLastTurn,
	"selectLogBytes":           selectLogBytes,
	"selectLogs":               selectLogs,
	"selectMeta":               selectMeta,
	"selectNext":               selectNext,
	"selectOldKeys":            selectOldKeys,
	"selectKept":               selectKept,
	"selectKeptOf":             selectKeptOf,
	"updateKeptUpTo":           updateKeptUpTo,
	"selectPruneEnded":         selectPruneEnded,
	"updateLogPruned":          updateLogPruned,
	"selectEventSizes":         selectEventSizes,
	"selectAnyAlert":           selectAnyAlert,
	"selectPruneRun":           selectPruneRun,
	"selectPruneRuns":          selectPruneRuns,
	"selectRetain":             selectRetain,
	"selectRevision":           selectRevision,
	"selectRevisions":          selectRevisions,
	"selectQueued":             selectQueued,
	"selectRunState":           selectRunState,
	"selectRunWhole":           selectRunWhole,
	"selectRunning":            selectRunning,
	"selectRunsState":          selectRunsState,
	"selectSpec":               selectSpec,
	"selectStanding":           selectStanding,
	"updateReplaced":           updateReplaced,
	"updateFolded":             updateFolded,
	"upsertPayload":            upsertPayload,
	"deleteUniqueKey":          deleteUniqueKey,
	"selectStates":             selectStates,
	"selectToken":              selectToken,
	"selectTokens":             selectTokens,
	"selectVersion":            selectVersion,
	"selectVersions":           selectVersions,
	"updateAgain":              updateAgain,
	"updateCancelAsked":        updateCancelAsked,
	"updateCancelled":          updateCancelled,
	"updateDueNow":             updateDueNow,
	"updateEnded":              updateEnded,
	"updateJob":                updateJob,
	"updateJobAnew":            updateJobAnew,
	"updateJobDeleted":         updateJobDeleted,
	"updateJobPaused":          updateJobPaused,
	"updateLane":               updateLane,
	"updateLanesOpen":          updateLanesOpen,
	"updateQueued":             updateQueued,
	"updateRequeuedTo":         updateRequeuedTo,
	"updateShifted":            updateShifted,
	"updateQueuedCancelled":    updateQueuedCancelled,
	"updateDueCancelled":       updateDueCancelled,
	"updateWaitingCancelled":   updateWaitingCancelled,
	"updateRunningOrphaned":    updateRunningOrphaned,
	"updateDueVersion":         updateDueVersion,
	"updateToken":              updateToken,
	"updateTokenUsed":          updateTokenUsed,
	"upsertFloor":              upsertFloor,
	"upsertKey":                upsertKey,
	"upsertLog":                upsertLog,
	"upsertMeta":               upsertMeta,
	"deleteCheckpoint":         deleteCheckpoint,
	"deleteDocument":           deleteDocument,
	"deleteLane":               deleteLane,
	"deleteOrphanedCheckpoint": deleteOrphanedCheckpoint,
	"deleteRefs":               deleteRefs,
	"deleteSecret":             deleteSecret,
	"insertDocument":           insertDocument,
	"insertRef":                insertRef,
	"selectAnyCheckpoint":      selectAnyCheckpoint,
	"selectCheckpoint":         selectCheckpoint,
	"selectDocument":           selectDocument,
	"selectDocuments":          selectDocuments,
	"selectFollowed":           selectFollowed,
	"selectHeldLanes":          selectHeldLanes,
	"selectHoldable":           selectHoldable,
	"selectNamers":             selectNamers,
	"selectOperation":          selectOperation,
	"selectSecret":             selectSecret,
	"selectSecrets":            selectSecrets,
	"selectSetDocuments":       selectSetDocuments,
	"selectSetJobs":            selectSetJobs,
	"updateBornEnded":          updateBornEnded,
	"updateDocument":           updateDocument,
	"updateDocumentSet":        updateDocumentSet,
	"updateRevision":           updateRevision,
	"updateHeld":               updateHeld,
	"updateHost":               updateHost, "selectDueHostless": selectDueHostless,
	"updateJobSet":     updateJobSet,
	"updateReleased":   updateReleased,
	"updateResealed":   updateResealed,
	"upsertCheckpoint": upsertCheckpoint,
	"upsertSecret":     upsertSecret,
	"insertEvent":      insertEvent,
	"selectEvents":     selectEvents, "selectEventList": selectEventList, "selectEventTimes": selectEventTimes,
	"selectStreakJobs":    selectStreakJobs,
	"upsertStreak":        upsertStreak,
	"deleteStreak":        deleteStreak,
	"deleteStreaksOf":     deleteStreaksOf,
	"deleteStreaksKeyed":  deleteStreaksKeyed,
	"deleteStreaksBefore": deleteStreaksBefore,
	"selectFold":          selectFold,
	"selectDueFolds":      selectDueFolds,
	"selectNextFold":      selectNextFold,
	"selectSince":         selectSince,
	"upsertFold":          upsertFold,
	"deleteFold":          deleteFold,
	"deleteFoldsOf":       deleteFoldsOf,
	"updateFoldsShifted":  updateFoldsShifted,
	"selectUntold":        selectUntold,
	"selectNewestEvent":   selectNewestEvent, "deleteEvents": deleteEvents,
	"listAll.rows": listAll.rows, "listAll.bounds": listAll.bounds,
	"listJob.rows": listJob.rows, "listJob.bounds": listJob.bounds,
	"listFailed.rows": listFailed.rows, "listFailed.bounds": listFailed.bounds,
	"listRunning.rows": listRunning.rows, "listRunning.bounds": listRunning.bounds,
	"listCorrelation.rows": listCorrelation.rows, "listCorrelation.bounds": listCorrelation.bounds,
	"listIDs.rows": listIDs.rows, "listIDs.bounds": listIDs.bounds,
	"selectScheduleRow":      selectScheduleRow,
	"selectSchedule":         selectSchedule,
	"selectSchedulesAll":     selectSchedulesAll,
	"selectSchedulesJob":     selectSchedulesJob,
	"selectSchedulesDue":     selectSchedulesDue,
	"selectNextSchedule":     selectNextSchedule,
	"selectSchedulesStart":   selectSchedulesStart,
	"selectSchedulesBacklog": selectSchedulesBacklog,
	"updateSchedulePaused":   updateSchedulePaused,
	"selectSchedulesOfJob":   selectSchedulesOfJob,
	"selectSchedulesInJob":   selectSchedulesInJob,
	"insertSchedule":         insertSchedule,
	"updateSchedule":         updateSchedule,
	"updateScheduleAnew":     updateScheduleAnew,
	"updateScheduleDeleted":  updateScheduleDeleted,
	"selectNewest":           selectNewest,
	"selectTickAt":           selectTickAt,
	"selectTicks":            selectTicks,
	"insertTick":             insertTick,
	"updateTickGrown":        updateTickGrown,
	"updateTickCut":          updateTickCut,
	"selectMissedAhead":      selectMissedAhead,
	"deleteTick":             deleteTick,
	"updateScheduleDecided":  updateScheduleDecided,
	"selectAhead":            selectAhead,
	"selectAheadFirst":       selectAheadFirst,
	"selectAheadCause":       selectAheadCause,
	"selectInLine":           selectInLine,
	"selectLinesDue":         selectLinesDue,
	"selectLinesQueued":      selectLinesQueued,
	"updateLetGo":            updateLetGo,
	"selectNextLate":         selectNextLate,
	"selectLate":             selectLate,
	"updateTickLooked":       updateTickLooked,
	"selectProgress":         selectProgress,
	"selectSchedulesAhead":   selectSchedulesAhead,
	"updateScheduleRewound":  updateScheduleRewound,
	"selectPruneSchedule":    selectPruneSchedule,
	"selectTickJob":          selectTickJob,
	"selectOldTicks":         selectOldTicks,
	"deleteOldTicks":         deleteOldTicks,
	"deleteSchedule":         deleteSchedule,
	"listSchedule.rows":      listSchedule.rows, "listSchedule.bounds": listSchedule.bounds,
}
