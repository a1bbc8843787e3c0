package cli

import (
	"errors"

	"nightshift/jobs"
	"nightshift/store"
)

// leastKept is the least bound that is taken: a smaller one is a slip of the unit.
const leastKept = 1 << 20

// keepFlag is a size up to which something is kept; 0: without a bound.
type keepFlag jobs.Size

func (f *keepFlag) UnmarshalText(text []byte) error {
	size, err := jobs.ParseSize(string(text))
	if err != nil {
		return err
	}
	if size < leastKept {
		return errors.New("want at least 1MiB; without the flag there is no bound")
	}
	*f = keepFlag(size)
	return nil
}

// keep is how much is kept at most of what has a bound.
func (cmd *serveCmd) keep() map[store.KeptKind]int64 {
	most := map[store.KeptKind]int64{}
	for kind, f := range map[store.KeptKind]keepFlag{
		store.KeptLogs: cmd.KeepLogs, store.KeptRuns: cmd.KeepRuns, store.KeptEvents: cmd.KeepEvents,
	} {
		if f != 0 {
			most[kind] = int64(f)
		}
	}
	return most
}
