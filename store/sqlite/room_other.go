//go:build !linux && !darwin

package sqlite

// freeOn does not know: nobody knows here how to ask this system.
func freeOn(string) (n int64, known bool) { return 0, false }
