// Package doctor says what is wrong with the machine, the folder and the file that a server runs on,
// and what to do about it.
//
// It owns the checks, which are functions of facts, and the probes that find those facts. It must not
// open the database, its -wal or its -shm: of these it only asks the file system (closing a descriptor
// would drop the locks of a server in this process), and what stands inside is handed to it.
package doctor

import (
	"fmt"
	"io/fs"
	"time"
)

// Level says how bad a finding is.
type Level string

// The levels.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Error   Level = "error"
)

// Finding is what a check found. A check has one finding at least, and one for each thing that is wrong.
type Finding struct {
	Check  string `json:"check"`
	Level  Level  `json:"level"`
	Found  string `json:"found"`  // one line
	Advice string `json:"advice"` // one line; "": nothing is to be done
}

// Facts are what the checks judge. Where a pointer is nil the matter was not looked at.
type Facts struct {
	Now     time.Time
	DB      string // the resolved path
	Force   bool   // a network file system is to be put up with
	Keys    bool   // the environment has the keys of secrets
	User    User   // who serves the file, else who asks
	Server  *Server
	Folder  Mount // of the database
	Files   []File
	Inside  *Inside
	Program Program
	Clock   Clock
	Disks   []Disk
	Limits  *Limits
	Cgroup  Cgroup
	Network *Network
	Scripts Scripts
	Mail    *Mail
}

// User is somebody of this machine.
type User struct {
	ID   int
	Name string
}

func (u User) String() string {
	if u.Name == "" {
		return fmt.Sprintf("user %d", u.ID)
	}
	return u.Name
}

// Roles of files.
const (
	RoleFile    = "file"
	RoleWAL     = "wal"
	RoleSHM     = "shm"
	RoleKey     = "key"
	RoleToken   = "token"
	RoleFolder  = "folder"
	RoleBackups = "backups" // their folder
	RoleBackup  = "backup"  // a file in it
	RoleDamage  = "damage"  // a server has met some
	RoleOther   = "other"   // what else lies beside the database
)

// File is a file or a folder as the file system tells of it.
type File struct {
	Role  string
	Path  string
	Mode  fs.FileMode // type and permissions
	Owner User
	Links uint64
	Size  int64
	At    time.Time // of the last change
	Deny  string    // what this user may not do with it, such as "write"; "": nothing that is needed
	Err   string    // why nothing is known
}

// file is the first of a role; nil: there is none.
func (f *Facts) file(role string) *File {
	for i := range f.Files {
		if f.Files[i].Role == role {
			return &f.Files[i]
		}
	}
	return nil
}

// served reports whether a process serves the file.
func (f *Facts) served() bool { return f.Server != nil && f.Server.Held }

// Program is this binary.
type Program struct {
	Version string
	SQLite  string
	Schema  int64 // the newest it knows
}

// Inside is what stands in a file that nobody serves, or what its server tells.
type Inside struct {
	Schema int64     // 0: not known
	Newest time.Time // when the newest run or event was made; zero: there is none
	Held   string    // why a start would hold it, one of the keys of heldWhy; "": it would not
	Err    string    // why a start would refuse it; "": it would not
}

// checks of everything, in the order in which they are told.
var checks = []func(*Facts) []Finding{
	checkServer, checkFile, checkFolderMount, checkScriptsMount, checkPermissions, checkDisk, checkClock,
	checkLimits, checkCgroup, checkNetwork, checkScripts, checkInterpreters, checkMail, checkAlerts,
	checkSQLite,
}

// startChecks are those of a server that starts.
var startChecks = []func(*Facts) []Finding{
	checkFolderMount, checkScriptsMount, checkPermissions, checkDisk, checkClock, checkLimits, checkCgroup,
}

// Examine judges everything.
func Examine(f *Facts) []Finding { return run(checks, f) }

// AtStart judges what matters when a server starts, and gives what is wrong. That little is free on the
// disk the server tells by itself, for as long as it is so.
func AtStart(f *Facts) (wrong []Finding) {
	for _, found := range run(startChecks, f) {
		if found.Level != OK && (found.Check != checkNameDisk || found.Level == Error) {
			wrong = append(wrong, found)
		}
	}
	return wrong
}

func run(checks []func(*Facts) []Finding, f *Facts) (all []Finding) {
	for _, check := range checks {
		all = append(all, check(f)...)
	}
	return all
}

// Count counts the findings of a level.
func Count(all []Finding, level Level) (n int) {
	for _, f := range all {
		if f.Level == level {
			n++
		}
	}
	return n
}

// one is the finding of a check that finds one thing.
func one(check string, level Level, found, advice string) []Finding {
	return []Finding{{Check: check, Level: level, Found: found, Advice: advice}}
}

// orOK are the findings, else that all is well.
func orOK(check string, wrong []Finding, well string) []Finding {
	if len(wrong) > 0 {
		return wrong
	}
	return one(check, OK, well, "")
}

// bytes is a number of bytes as people say it.
func bytes(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
