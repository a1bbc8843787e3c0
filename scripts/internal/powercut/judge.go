package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"nightshift/scripts/internal/rig"
)

// mostKept are the images kept to be looked at.
const mostKept = 5

// verdict is what the replay of a recording shows.
type verdict struct {
	name    string // of the database
	disk    *disk
	acked   map[string]bool // ids of runs and names of schedules and checkpoints in answers, up to now
	cuts    int
	poorest int    // images with nothing but what was synced
	mixed   int    // images with a random part of the rest
	damaged [2]int // of each sort
	lossy   [2]int
	faults  []string
}

// judge replays a recording and cuts the power at each acknowledgement, just before the answer is
// written, and once more after the end.
func (p *plan) judge(ctx context.Context, rec *recording) (*verdict, error) {
	v := &verdict{name: filepath.Base(rec.db), acked: map[string]bool{}}
	random := rand.New(rand.NewPCG(p.seed, 1<<32))
	replay := newReplay(rec.db, rec.server, func(ids []string) error {
		v.cuts++
		for _, id := range ids {
			v.acked[id] = true
		}
		return v.cut(ctx, p, rec, random)
	})
	v.disk = replay.disk
	trace, err := os.Open(rec.trace)
	if err != nil {
		return nil, err
	}
	defer trace.Close()
	if err := readTrace(trace, replay); err != nil {
		return nil, err
	}
	if err := v.cut(ctx, p, rec, random); err != nil {
		return nil, err
	}
	// The trace must show what the clients saw, or this would prove nothing.
	for id := range rec.told {
		if !v.acked[id] {
			v.faults = append(v.faults, fmt.Sprintf("%s was acknowledged to a client, "+
				"but the answer is not in the trace: the recording is blind", id))
		}
	}
	return v, nil
}

// cut looks into the poorest image and into some random ones.
func (v *verdict) cut(ctx context.Context, p *plan, rec *recording, random *rand.Rand) error {
	v.poorest++
	if err := v.look(ctx, rec, v.disk.image(nil), 0); err != nil {
		return err
	}
	for range p.random {
		v.mixed++
		if err := v.look(ctx, rec, v.disk.image(random), 1); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// look opens an image and looks for every acknowledged run, schedule and checkpoint. Images of the first
// faults are kept.
func (v *verdict) look(
	ctx context.Context, rec *recording, files map[string][]byte, sort int,
) error {
	folder := filepath.Join(rec.dir, fmt.Sprintf("cut-%d-%d", v.cuts, v.poorest+v.mixed))
	if err := store(files, folder); err != nil {
		return err
	}
	stored, err := v.stored(ctx, filepath.Join(folder, filepath.Base(rec.db)))
	var missing []string
	for id := range v.acked {
		if err == nil && !stored[id] {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	at := fmt.Sprintf("cut at acknowledgement %d (%s)", v.cuts,
		[]string{"only what was synced", "a random part of the rest"}[sort])
	before := len(v.faults)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		v.damaged[sort]++
		v.faults = append(v.faults, fmt.Sprintf("%s: %v", at, err))
	case len(missing) > 0:
		v.lossy[sort]++
		v.faults = append(v.faults, fmt.Sprintf("%s: %d of %d acknowledged runs, schedules and checkpoints are missing: %s",
			at, len(missing), len(v.acked), strings.Join(missing[:min(len(missing), 5)], " ")))
	}
	if len(v.faults) > before && before < mostKept {
		return nil
	}
	return os.RemoveAll(folder)
}

// stored gives the ids of the runs, and the names of the schedules and checkpoints in a database.
func (v *verdict) stored(ctx context.Context, db string) (map[string]bool, error) {
	stored, err := rig.Inspect(ctx, db)
	if err == nil && v.count(schedulePrefix) > 0 {
		err = v.schedules(ctx, db, stored)
	}
	if err == nil && v.count(savedPrefix) > 0 {
		err = v.checkpoints(ctx, db, stored)
	}
	return stored, err
}

func (v *verdict) schedules(ctx context.Context, db string, stored map[string]bool) error {
	rows, err := rig.Rows(ctx, db, "SELECT name FROM schedules WHERE deleted_at IS NULL")
	for _, row := range rows {
		stored[row[0]] = true
	}
	return err
}

// checkpoints finds the one that was saved last: those before it are kept by it.
func (v *verdict) checkpoints(ctx context.Context, db string, stored map[string]bool) error {
	rows, err := rig.Rows(ctx, db, "SELECT json_extract(value, '$.n') FROM checkpoints")
	for _, row := range rows {
		last, err := strconv.Atoi(row[0])
		if err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
		for n := 1; n <= last; n++ {
			stored[savedName(n)] = true
		}
	}
	return err
}

// count is how many names were acknowledged that begin so.
func (v *verdict) count(prefix string) (n int) {
	for id := range v.acked {
		if strings.HasPrefix(id, prefix) {
			n++
		}
	}
	return n
}
