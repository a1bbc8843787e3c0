// Package storetest is the contract of a store.Store as one suite: every claim is a subtest, and
// a random walk compares the store with a small model of it. A store's own package calls Run.
//
// It must know nothing of how a store keeps things: it sees only the interface.
package storetest

import (
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
		{"Jobs", jobClaims},
		{"Save", slices.Concat(saveClaims, refClaims)},
		{"Documents", documentClaims},
		{"Versions", versionClaims},
		{"Pause", pauseClaims},
		{"Delete", deleteClaims},
		{"Claim", slices.Concat(claimClaims, turnClaims)},
		{"Finish", slices.Concat(finishClaims, recoveryClaims)},
		{"Follow", slices.Concat(spawnClaims, checkpointClaims)},
		{"Hold", heldClaims},
		{"Hosts", hostClaims},
		{"Shift", shiftClaims},
		{"Cancel", cancelClaims},
		{"Requeue", requeueClaims},
		{"Remove", removeClaims},
		{"Log", logClaims},
		{"Prune", pruneClaims},
		{"Runs", slices.Concat(listClaims, searchClaims)},
		{"FailedAttempts", failedClaims},
		{"Tokens", tokenClaims},
		{"Secrets", secretClaims},
		{"Ledger", ledgerClaims},
	} {
		t.Run(area.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range area.claims {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.test(newWorld(t, open))
				})
			}
		})
	}
	t.Run("RandomWalkAgreesWithModel", func(t *testing.T) {
		t.Parallel()
		randomWalk(t, open)
	})
}

// claim is a sentence about stores and the test of it.
type claim struct {
	name string
	test func(*world)
}
