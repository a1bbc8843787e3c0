package storetest

import (
	"testing"

	"nightshift/store"
)

func randomWalk(t *testing.T, open func(t testing.TB) store.Store) {}
