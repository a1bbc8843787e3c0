package doctor

import (
	"fmt"
	"time"

	"nightshift/jobs"
)

// Disk is how full the disk of a folder is.
type Disk struct {
	Path        string
	Free, Total int64  // bytes, for others than root
	Nodes       uint64 // inodes that are free
	MaxNodes    uint64 // 0: it has no such bound
	Backups     bool   // snapshots and copies go there
	Err         string // why nothing is known
}

// fewNodes is how many files a disk should still be able to take.
const fewNodes = 10_000

// logRoom is what the write-ahead log may take beside the file.
const logRoom = 64 << 20

const checkNameDisk = "disk"

func checkDisk(f *Facts) []Finding {
	const check = checkNameDisk
	var wrong []Finding
	well := ""
	size := int64(0)
	if file := f.file(RoleFile); file != nil {
		size = file.Size
	}
	for i := range f.Disks {
		d := &f.Disks[i]
		add := func(level Level, advice, format string, args ...any) {
			wrong = append(wrong, Finding{check, level, fmt.Sprintf(format, args...), advice})
		}
		state := jobs.Disk{Path: d.Path, Free: d.Free, Total: d.Total}
		switch {
		case d.Err != "":
			add(Warning, "look at it with df", "how full the disk of %s is, is not known: %s", d.Path, d.Err)
			continue
		case d.Free < logRoom && i == 0: // the database's own
			add(Error, "make room: writes are about to be refused with 507", "%s of %s are free in %s",
				bytes(d.Free), bytes(d.Total), d.Path)
		case d.Backups && d.Free < size+logRoom:
			add(Error, fmt.Sprintf("make room for %s more: without it there is no snapshot, no backup and no upgrade",
				bytes(size+logRoom-d.Free)),
				"%s are free in %s, less than the file's %s and the %s that a copy leaves free: a snapshot has no room",
				bytes(d.Free), d.Path, bytes(size), bytes(logRoom))
		case state.Low():
			add(Warning, "make room, or let retain keep less", "%s of %s are free in %s: under 1 GiB or 5 %%",
				bytes(d.Free), bytes(d.Total), d.Path)
		}
		if d.MaxNodes > 0 && d.Nodes < fewNodes {
			level := Warning
			if d.Nodes < 100 {
				level = Error
			}
			add(level, "remove small files from that disk, df -i tells how many it takes",
				"%d of %d inodes are free in %s: no more files can be made when they are used up", d.Nodes, d.MaxNodes, d.Path)
		}
		if well == "" {
			well = fmt.Sprintf("%s of %s are free in %s, the file has %s", bytes(d.Free), bytes(d.Total), d.Path, bytes(size))
		}
	}
	return orOK(check, wrong, well)
}

// heldWhy says in words why a start holds a file.
var heldWhy = map[string]string{
	"backup":    "it is a backup",
	"elsewhere": "this path did not serve it last",
	"no_log":    "its server died, and its log with the last writes is gone",
}

// checkFile judges the file itself, and what lies beside it that should not.
func checkFile(f *Facts) []Finding {
	const check = "file"
	file, wal := f.file(RoleFile), f.file(RoleWAL)
	refused := f.Inside != nil && f.Inside.Err != ""
	if file == nil {
		if refused {
			return one(check, Error, "no server would start: "+f.Inside.Err, "put the file back, or restore it")
		}
		if wal != nil && wal.Size > 0 {
			return one(check, Error, fmt.Sprintf("%s is not there, its log %s is, with %s", f.DB, wal.Path, bytes(wal.Size)),
				"put the file back that belongs to it, or move the log away before a new one is made")
		}
		return one(check, OK, f.DB+" is not there: the first start makes it", "")
	}
	var wrong []Finding
	add := func(level Level, advice, format string, args ...any) {
		wrong = append(wrong, Finding{check, level, fmt.Sprintf(format, args...), advice})
	}
	if !file.Mode.IsRegular() {
		add(Error, "name a file with --db", "%s is not a file", file.Path)
		return wrong
	}
	if file.Links > 1 {
		add(Error, fmt.Sprintf("find . -samefile %s shows them: remove the others, copies are to be made with cp of backups/latest.db",
			file.Path), "%s has %d hard links: SQLite would keep a log for each name", file.Path, file.Links)
	}
	met := f.file(RoleDamage) != nil
	if met {
		add(Error, fmt.Sprintf("nightshift verify %[1]s says what is wrong; then restore a backup that it finds whole: nightshift restore BACKUP --db %[1]s",
			file.Path), "a server has met damage in %s, and ended", file.Path)
	}
	if wal != nil && wal.Size > 0 && !f.served() && !refused && !met {
		add(Warning, "start the server, which takes it in; copy the file only together with its log, or take backups/latest.db",
			"the server was not stopped, it died: %s with %s lies beside the file", wal.Path, bytes(wal.Size))
	}
	if f.file(RoleKey) == nil && !f.Keys && file.Size > 0 {
		add(Warning, "put back the key that belongs to the file, or set its secrets again: a start makes another key",
			"%s.key is not there: secrets in the file cannot be read without it", f.DB)
	}
	if f.Inside != nil {
		switch {
		case f.Inside.Err != "":
			add(Error, "do as it says, or restore a backup: nightshift restore BACKUP --db "+file.Path,
				"no server would serve %s: %s", file.Path, f.Inside.Err)
		case f.Inside.Schema > f.Program.Schema && f.Program.Schema > 0:
			add(Error, "start the newer one, or restore a backup", "%s was written by a newer Nightshift (schema %d, this one knows %d)",
				file.Path, f.Inside.Schema, f.Program.Schema)
		case f.Inside.Schema < f.Program.Schema && f.Inside.Schema > 0:
			add(Warning, "the next start brings it up to date, after a snapshot; older versions cannot serve it then",
				"%s has schema %d, this Nightshift %d", file.Path, f.Inside.Schema, f.Program.Schema)
		}
	}
	if f.Inside != nil && f.Inside.Held != "" && !refused {
		why := heldWhy[f.Inside.Held]
		if why == "" {
			why = f.Inside.Held
		}
		add(Warning, "nightshift resume lets it go once it runs, with --cancel-waiting without what waits; or serve --resume",
			"%s starts held: %s", file.Path, why)
	}
	return orOK(check, wrong, fmt.Sprintf("%s, %s", file.Path, bytes(file.Size)))
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func checkSQLite(f *Facts) []Finding {
	const check = "sqlite"
	if f.Program.SQLite == "" {
		return nil
	}
	var major, minor, patch int
	if _, err := fmt.Sscanf(f.Program.SQLite, "%d.%d.%d", &major, &minor, &patch); err != nil ||
		major*1_000_000+minor*1000+patch < 3_051_003 {
		return one(check, Error, "SQLite "+f.Program.SQLite+" can lose commits (the WAL reset bug)",
			"build with 3.51.3 or later: no server starts with this one")
	}
	return one(check, OK, "SQLite "+f.Program.SQLite+", built in", "")
}
