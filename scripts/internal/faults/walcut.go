package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The log begins with 32 bytes; a frame is 24 and a page. Of the last frame of a transaction bytes 4 to 7 say how many
// pages the file has; of others they are zero.
const (
	logHead   = 32
	frameHead = 24
	pageSize  = 4096
	frame     = frameHead + pageSize
)

// cutLog cuts the log of a crashed server at very many lengths. Each time the file opens, is sound, and holds the
// transactions up to some point: more of them the longer the log is, and with the whole log all.
func cutLog(ctx context.Context, l *lab) error {
	c, err := l.crash(ctx, pick(l, 25, 60))
	if err != nil {
		return err
	}
	lengths := c.lengths()
	copied := filepath.Join(c.root, "cut")
	if err := os.Mkdir(copied, 0o700); err != nil {
		return err
	}
	db := filepath.Join(copied, dbName)
	last, at := 0, time.Now()
	for _, length := range lengths {
		_ = os.Remove(db + "-shm")
		if err := os.WriteFile(db, c.main(), 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(db+"-wal", c.wal()[:length], 0o600); err != nil {
			return err
		}
		n, err := prefix(ctx, db)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			c.fault("log cut at %d of %d bytes: %v", length, len(c.wal()), err)
		case n < last:
			c.fault("log cut at %d bytes: %d runs, with less of the log there were %d", length, n, last)
		}
		last = max(last, n)
	}
	if last != c.serial {
		c.fault("with the whole log %d runs are there; %d were acknowledged", last, c.serial)
	}
	c.Row("bytes of the log", len(c.wal()))
	c.Row("lengths tried", fmt.Sprintf("%d in %v", len(lengths), time.Since(at).Round(time.Millisecond)))

	// The server itself on some of them.
	starts := pick(c.lab, 2, 60)
	for range starts {
		length := lengths[c.random.IntN(len(lengths))]
		if err := c.restore(dbName+"-wal", c.wal()[:length]); err != nil {
			return err
		}
		if outcome, err := c.attempt(readyWithin); err != nil || outcome != "ready" {
			c.fault("log cut at %d bytes: the server: %s: %v: %s", length, outcome, err, c.lastLine())
		}
		if err := c.server.Kill(); err != nil {
			return err
		}
	}
	c.Row("starts of the server", starts)
	if err := c.restore("", nil); err != nil {
		return err
	}
	return c.settle(ctx)
}

// lengths are each byte of the last transaction, the borders of all frames and a byte to either side of them, and
// none of it; of the short form some.
func (c *crashed) lengths() []int {
	whole := len(c.wal())
	// The last transaction begins behind the frame that ends the one before.
	from := whole - (whole-logHead)%frame - frame
	for from > logHead && binary.BigEndian.Uint32(c.wal()[from-frame+4:]) == 0 {
		from -= frame
	}
	var list []int
	for at := logHead; at <= whole; at += frame {
		list = append(list, at-1, at, min(at+1, whole), min(at+frameHead, whole))
	}
	for length := max(from, 0); length < whole; length++ {
		list = append(list, length)
	}
	if c.short {
		c.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		list = list[:min(len(list), 150)]
	}
	list = append(list, 0, 1, logHead-1, whole)
	slices.Sort(list)
	return slices.Compact(list)
}
