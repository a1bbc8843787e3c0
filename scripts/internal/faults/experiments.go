package main

// experiments are all there are.
var experiments = []experiment{
	{name: "kill-at-write", about: "kill -9 at the Nth write to the file", needs: []string{"strace"}, run: killAtWrite},
	{
		name: "powercut", about: "the power fails, and a random part of what was not synced is kept",
		needs: []string{"strace", "go"}, run: powerCut,
	},
	{name: "fsync-eio-once", about: "one sync fails with an I/O error", needs: []string{"strace"}, run: fsyncOnce},
	{name: "fsync-eio-forever", about: "each sync fails with an I/O error", needs: []string{"strace"}, run: fsyncForever},
	{name: "enospc", about: "writes fail for want of space, for a while", needs: []string{"strace"}, run: noSpace},
	{name: "tmpfs", about: "a small file system is filled under load, and freed", needs: []string{"root", "mount"}, run: smallDisk},
	{name: "fsize", about: "the system limits how large a file may grow", needs: []string{"prlimit"}, run: limitedFiles},
	{
		name: "readonly", about: "the disk becomes read-only; files and folders that may not be written",
		needs: []string{"root", "mount", "mkfs.ext4", "setpriv", "findmnt"}, run: readOnly,
	},
	{name: "wal-truncated", about: "the log of a crashed server is cut at each length", run: cutLog},
	{name: "bitflip", about: "one bit of the database or its log is flipped", run: flipBits},
	{name: "wal-deleted", about: "the database, its log or its index is removed or replaced, running and stopped", run: filesTaken},
	{name: "outside-lock", about: "another process holds the lock for writes over ticks of a schedule", run: outsideLock},
	{name: "two-servers", about: "a second server on the same file, by six routes to it", run: twoServers},
	{name: "sigstop", about: "the server stands still for longer than anything waits, and goes on", run: freeze},
	{name: "kills", about: "kill -9 at random while groups, schedules, limits and checkpoints are in play at once", run: killStorm},
	{name: "long-reader", about: "readers that never pause, in the server and in another process", run: longReader},
	{name: "ten-million", about: "10,000,000 ended runs and 100,000 queued ones in the file", run: tenMillion},
}
