// Package storetest is the contract of a store.Store as one suite: every claim is a subtest, and
// a random walk compares the store with a small model of it. A store's own package calls Run.
//
// It must know nothing of how a store keeps things: it sees only the interface.
package storetest

import (
	"math/rand/v2"
	"slices"
	"testing"

	"nightshift/store"
)

// Run tests a store. open opens an empty store for each new t; called again with the same t
// after Close, it opens the same store again, as a new process would.
func Run(t *testing.T, open func(t testing.TB) store.Store) {
	for _, area := range []struct {
		name   string
		claims []claim
	}{
		{"Enqueue", enqueueClaims},
		{"Keys", slices.Concat(keyClaims, deliveryClaims)},
		{"Unique", uniqueClaims},
		{"Jobs", jobClaims},
		{"Save", slices.Concat(saveClaims, refClaims, alertSaveClaims)},
		{"Documents", documentClaims},
		{"Versions", versionClaims},
		{"Pause", pauseClaims},
		{"Delete", deleteClaims},
		{"Claim", slices.Concat(claimClaims, turnClaims)},
		{"Finish", slices.Concat(finishClaims, recoveryClaims)},
		{"Follow", slices.Concat(spawnClaims, checkpointClaims)},
		{"Groups", slices.Concat(groupClaims, groupCancelClaims, groupRequeueClaims)},
		{"Slices", slices.Concat(sliceClaims, sliceGateClaims)},
		{"Waiting", slices.Concat(waitingClaims, leaseClaims)},
		{"Underway", noteClaims},
		{"Batches", slices.Concat(batchClaims, batchLineClaims)},
		{"Kept", keepClaims()},
		{"Hold", heldClaims},
		{"Hosts", hostClaims},
		{"Slots", slices.Concat(slotClaims(), limitClaims)},
		{"Breakers", breakerClaims},
		{"Fairness", fairClaims},
		{"Gates", roomClaims},
		{"CatchUp", slices.Concat(catchUpClaims, catchUpEnds(), catchUpMoves())},
		{"Shift", shiftClaims},
		{"Cancel", cancelClaims},
		{"Requeue", requeueClaims},
		{"Remove", removeClaims},
		{"Failures", slices.Concat(failureClaims, dealClaims, alikeClaims, earlierClaims)},
		{"Bulk", slices.Concat(bulkClaims, bulkStopClaims)},
		{"Log", logClaims},
		{"Prune", pruneClaims},
		{"Sizes", keptClaims},
		{"Runs", slices.Concat(listClaims, searchClaims)},
		{"FailedAttempts", failedClaims},
		{"Tokens", tokenClaims},
		{"Sessions", sessionClaims},
		{"Secrets", secretClaims},
		{"Events", eventClaims},
		{"Alerts", alertClaims},
		{"Ledger", ledgerClaims},
		{"Statistics", statisticsClaims},
		{"Unfinished", unfinishedClaims},
		{"Audit", auditClaims},
		{"Schedules", slices.Concat(scheduleClaims, scheduleListClaims)},
		{"ScheduleDocuments", scheduleDocumentClaims},
		{"SchedulePause", schedulePauseClaims},
		{"Decide", decideClaims},
		{"Overlap", slices.Concat(allowClaims, skipClaims, queueClaims, replaceClaims, lineClaims)},
		{"Backlog", backlogClaims},
		{"Ticks", slices.Concat(tickClaims, rewindClaims)},
		{"Late", lateClaims},
		{"Long", slices.Concat(longClaims, overClaims())},
		{"Interrupted", interruptClaims},
		{"Stuck", slices.Concat(waitClaims, noWaitClaims(), standingClaims)},
	} {
		first := rand.IntN(sampled) // of those that are tried under the race detector
		t.Run(area.name, func(t *testing.T) {
			t.Parallel()
			for i, c := range area.claims {
				if raced && i%sampled != first {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.test(newWorld(t, open))
				})
			}
		})
	}
	t.Run("RandomWalkAgreesWithModel", func(t *testing.T) {
		t.Parallel()
		Walk(t, open, 2000)
	})
	t.Run("RandomWalkOfGroups", func(t *testing.T) {
		t.Parallel()
		WalkGroups(t, open, 400)
	})
}

// sampled is of how many claims one is tried under the race detector: what a store does is mostly done by
// one after the other.
const sampled = 4

// claim is a sentence about stores and the test of it.
type claim struct {
	name string
	test func(*world)
}
