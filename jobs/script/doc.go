// Package script is the kind that runs programs. It owns how a script is started, watched, stopped
// and cleared away; it must not know of stores, retries or states.
//
// Between the server and each script stands a shim: the running binary once more, which main hands
// over to ShimMain before anything else. It is started through a descriptor opened once, so that an
// upgrade on disk changes nothing under way. The shim starts the script in a session of its own and
// stays until nothing of it is left. Two pipes join it to the server: over one come the order, the
// stop and the kill, and its end of file is the server's death; over the other goes what happened.
//
// # What a script prints, and what it says
//
// stdout and stderr are the log. Each comes in its own order, as it is printed. Of both, the one that
// was written to first comes first; what a script prints to them by turns within a millisecond or so
// may come as some lines of the one, then some of the other. Who needs the exact order says
// `exec 2>&1`. Lines of stdout that begin with ::nightshift are for the server, and not in the log but
// where something is wrong in them: then they stay, and a line behind says what. They are short, up
// to 4 KiB, or written by one process alone: the kernel mixes longer ones of several.
//
// On a script's PATH is nightshift: the running binary, by a second name or as a copy. The server's
// PATH comes behind it. A job that sets PATH itself has nightshift last on it.
//
// # What holds at which level
//
// New probes what the machine permits and Level says it.
//
// Subreaper, everywhere on Linux: whatever a script starts, by however many forks and in whatever
// session or process group, stopped or not, stays a descendant of its shim, for the kernel hands
// orphans to the nearest living subreaper. When the attempt is over or the server has died the shim
// kills its descendants until wait(2) says that it has no child, which proves that none is left.
// The next New waits for shims whose server died, some seconds at most, so that nothing is started
// beside what they kill.
// The server is a subreaper as well: where the shim was killed (kill -9 $PPID, out of memory) the
// script's first process dies with it, the rest becomes the server's, which kills it; the attempt
// has failed and says so. What can still live on: the rest of the tree, where server and shim are
// killed at one moment (a systemd unit then ends it), and processes of another user (sudo) where
// the server is not root: those hold the attempt until they end or the server stops.
//
// Cgroup, where cgroup v2 is writable (root; a systemd unit with Delegate=yes) and cgroup.kill is
// there (Linux 5.14): as above, and each attempt has a cgroup of its own which the kernel kills at
// one instant, fork bombs and processes of other users included. What outlived both server and
// shim is killed by the next New.
//
// # Memory
//
// script.memory bounds the resident memory of the whole tree; past it the tree is killed. Where
// cgroup v2 has the memory controller for it (root, or a unit with Delegate=yes, in a cgroup that holds
// the server alone: it moves into one below) the kernel sees to it: nothing gets past the limit, files
// in tmpfs and the page cache count, the cache is given back first, and there is no swap. Elsewhere the
// shim looks, every 20 ms near the limit and twice a second far from it, at what the processes hold,
// what they share counted once: that can be past the limit until the next look. Memory that the
// machine itself runs out of is told as well: by the cgroup's own count, else by the machine's.
//
// # What is left alone
//
// PID namespaces are left alone on purpose: in one, `kill -HUP $(cat /run/nginx.pid)`, pgrep and
// pkill no longer mean the machine's processes, and without root the user namespace around it takes
// sudo away. Such lines are what scripts are made of.
//
// At every level what is started through another service (systemd-run, at, docker run -d) is not
// the script's and lives on. What a script leaves mounted in its folder stays mounted, with all in it, and
// the attempt says that its folder could not be removed. A script runs as the server's user and is trusted like it. As root it
// may do anything, to the server as well. As a plain user it can read neither environment, memory
// nor descriptors of the server and the shim, which make themselves undumpable (so neither leaves
// a core file), but it may signal them, and write what the user may write.
//
// A script starts with umask 077, no core files, a higher rank with the out-of-memory killer than
// the server, and no descriptor but its three.
//
// Under systemd the unit must say KillMode=mixed: else systemd itself sends SIGTERM to scripts when
// the service is stopped, and they cannot use the time that the server gives them.
package script
