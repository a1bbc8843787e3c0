package doctor

import "fmt"

// Mount is the file system that a folder lies on.
type Mount struct {
	Path     string // the folder
	Magic    int64  // f_type of statfs(2)
	Type     string // as the mount table calls it, such as fuse.sshfs; "": it is not known there
	Source   string // what is mounted
	On       string // where
	ReadOnly bool
	Err      string // why nothing is known
}

// nature is what a file system means for a database.
type nature int

const (
	local    nature = iota
	network         // locks and shared memory do not hold between machines, or not at all
	volatile        // what is written is gone after a restart
	foreign         // without owners and permissions
)

// kinds are the file systems that are not plain local ones, by f_type: see statfs(2) and the kernel's
// linux/magic.h. Those that only share a disk between machines count as network: SQLite's WAL wants one
// kernel that maps the same memory for all.
var kinds = map[int64]struct {
	name string
	is   nature
}{
	0x6969:     {"nfs", network},
	0x517b:     {"smb", network},
	0xff534d42: {"cifs", network},
	0xfe534d42: {"smb2", network},
	0x65735546: {"fuse", network},
	0x01021997: {"9p", network},
	0x5346414f: {"afs", network},
	0x6b414653: {"afs", network},
	0x73757245: {"coda", network},
	0x564c:     {"ncp", network},
	0x00c36400: {"ceph", network},
	0x0bd00bd0: {"lustre", network},
	0x47504653: {"gpfs", network},
	0x7461636f: {"ocfs2", network},
	0x01161970: {"gfs2", network},
	0x20030528: {"orangefs", network},
	0x19830326: {"beegfs", network},
	0xaad7aaea: {"panfs", network},
	0x786f4256: {"vboxsf", network},
	0xbacbacbc: {"vmhgfs", network},
	0x7c7c6673: {"prl_fs", network},
	0x61636673: {"acfs", network},

	0x01021994: {"tmpfs", volatile},
	0x858458f6: {"ramfs", volatile},
	0x794c7630: {"overlay", volatile},
	0x61756673: {"aufs", volatile},

	0x4d44:     {"vfat", foreign},
	0x2011bab0: {"exfat", foreign},
	0x5346544e: {"ntfs", foreign},
	0x7366746e: {"ntfs3", foreign},
}

// name is how the file system is called.
func (m *Mount) name() string {
	if m.Type != "" {
		return m.Type
	}
	if k, known := kinds[m.Magic]; known {
		return k.name
	}
	return fmt.Sprintf("a file system of type %#x", m.Magic)
}

// place says what is mounted where.
func (m *Mount) place() string {
	text := m.name()
	if m.Source != "" && m.Source != m.Type && m.Source != "none" {
		text += " of " + m.Source
	}
	if m.On != "" {
		text += ", mounted on " + m.On
	}
	return text
}

const checkNameMount = "file system"

func checkFolderMount(f *Facts) []Finding {
	const check = checkNameMount
	m := &f.Folder
	if m.Err != "" {
		return one(check, Warning, "the file system of "+m.Path+" is not known: "+m.Err,
			"see that it is one of a local disk")
	}
	found := m.Path + " is on " + m.place()
	switch is := kinds[m.Magic].is; {
	case m.ReadOnly:
		return one(check, Error, found+", read-only",
			"mount it for writing; where it went read-only by itself the disk has failed: see the kernel's log")
	case is == network && f.Force:
		return one(check, Warning, found+": locks and shared memory of SQLite do not hold there, which you have forced",
			"see to it that one machine alone ever opens the file, and take backups to somewhere else")
	case is == network:
		return one(check, Error, found+": locks and shared memory of SQLite do not hold there, the file will be damaged",
			"put --db on a local disk and copy backups/ to the network; --force-network-filesystem serves it all the same")
	case is == volatile:
		return one(check, Warning, found+": what is written there is gone after a restart of the machine or container",
			"put --db on a disk, in a container on a volume")
	case is == foreign:
		return one(check, Warning, found+", which keeps no owners and permissions: whoever may read it may read secrets' key and tokens",
			"put --db on a file system of this system, such as ext4 or xfs")
	}
	return one(check, OK, found, "")
}

func checkScriptsMount(f *Facts) []Finding {
	const check = "scripts folder"
	m := f.Scripts.Folder
	if m == nil {
		return nil
	}
	if m.Err != "" {
		return one(check, Error, "the scripts folder "+m.Path+" cannot be read: "+m.Err,
			"make it, or name another with --scripts")
	}
	found := m.Path + " is on " + m.place()
	switch kinds[m.Magic].is {
	case network:
		return one(check, Warning, found+": a script that is changed there while it runs, or a network that is away, fails attempts",
			"keep scripts on a local disk and deploy them by rename")
	case volatile:
		return one(check, Warning, found+": the scripts are gone after a restart of the machine or container",
			"put them on a disk, or into the image of the container")
	}
	return one(check, OK, found, "")
}

// Refusal says why no server may work on a file of that folder; "": it may.
func (m *Mount) Refusal() string {
	if m.Err != "" || kinds[m.Magic].is != network {
		return ""
	}
	return fmt.Sprintf("%s is on %s, a network file system: locks and shared memory of SQLite do not hold there, and the "+
		"file will be damaged. Put --db on a local disk and copy backups/ to the network; --force-network-filesystem "+
		"serves it all the same", m.Path, m.place())
}
