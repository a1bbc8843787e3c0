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
}
