package doctor

import (
	"fmt"
	"io/fs"
)

const (
	groupBits = fs.FileMode(0o070)
	otherBits = fs.FileMode(0o007)
	writeBits = fs.FileMode(0o022)
)

func checkPermissions(f *Facts) []Finding {
	var wrong []Finding
	for i := range f.Files {
		wrong = append(wrong, f.judge(&f.Files[i])...)
	}
	return orOK("permissions", wrong, fmt.Sprintf("the file and what lies beside it are %s's alone", f.User))
}

// judge gives what is wrong with one file or folder.
func (f *Facts) judge(file *File) (wrong []Finding) {
	const check = "permissions"
	add := func(level Level, advice, format string, args ...any) {
		wrong = append(wrong, Finding{check, level, fmt.Sprintf(format, args...), advice})
	}
	if file.Err != "" {
		add(Error, "look at it as a user who may", "%s: %s", file.Path, file.Err)
		return wrong
	}
	folder := file.Role == RoleFolder || file.Role == RoleBackups
	if level, found, advice := f.judgeOwner(file, folder); found != "" {
		add(level, advice, "%s", found)
	}
	mode := file.Mode.Perm()
	switch {
	case folder && mode&0o002 != 0 && file.Mode&fs.ModeSticky == 0:
		add(Error, "chmod o-w "+file.Path, "everybody may write the folder %s (%04o) and so put another file in the place of any here",
			file.Path, mode)
	case folder && mode&0o002 != 0:
		add(Warning, "give the database a folder of its own, chmod 0700",
			"everybody may make files in %s (%s), such as a -wal beside a file that does not run", file.Path, octal(file.Mode))
	case folder && mode&0o020 != 0:
		add(Warning, "chmod g-w "+file.Path,
			"its group may write the folder %s (%04o) and so put another file in the place of any here", file.Path, mode)
	case folder:
	case mode&writeBits != 0:
		add(Error, "chmod 0600 "+file.Path, "others than its owner may write %s (%04o)", file.Path, mode)
	case mode&(groupBits|otherBits) != 0 && (file.Role == RoleKey || file.Role == RoleToken):
		add(Error, "chmod 0600 "+file.Path+", and "+renewed(file.Role),
			"others than its owner may read %s (%04o), which opens %s", file.Path, mode, opens(file.Role))
	case mode&otherBits != 0:
		add(Warning, "chmod 0600 "+file.Path, "everybody may read %s (%04o)%s", file.Path, mode, holds(file.Role))
	case mode&groupBits != 0:
		add(Warning, "chmod 0600 "+file.Path+" unless that is meant", "its group may read %s (%04o)%s",
			file.Path, mode, holds(file.Role))
	}
	return wrong
}

// judgeOwner says whether who serves the file may work with one, and owns it.
func (f *Facts) judgeOwner(file *File, folder bool) (level Level, found, advice string) {
	others := file.Owner.ID != f.User.ID
	switch {
	case file.Deny != "" && others:
		return Error, fmt.Sprintf("%s may not %s %s, which belongs to %s", f.User, file.Deny, file.Path, file.Owner),
			fmt.Sprintf("serve as %s, or chown %s %s", file.Owner, f.User, file.Path)
	case file.Deny != "":
		return Error, fmt.Sprintf("%s may not %s %s (%s)", f.User, file.Deny, file.Path, octal(file.Mode)),
			"chmod u+rwX " + file.Path + ", or see whether it is immutable or its file system read-only"
	case !others || folder && (f.User.ID == 0 || file.Owner.ID == 0):
		return OK, "", ""
	case f.User.ID == 0:
		return Warning, fmt.Sprintf("%s belongs to %s, and root would serve it", file.Path, file.Owner),
			fmt.Sprintf("serve as %s: what root makes beside the file %s cannot open later", file.Owner, file.Owner)
	}
	return Warning, fmt.Sprintf("%s belongs to %s, not to %s who serves it", file.Path, file.Owner, f.User),
		fmt.Sprintf("serve as %s, or chown %s %s", file.Owner, f.User, file.Path)
}

func octal(mode fs.FileMode) string {
	n := uint32(mode.Perm())
	if mode&fs.ModeSticky != 0 {
		n |= 0o1000
	}
	return fmt.Sprintf("%04o", n)
}

func holds(role string) string {
	if role == RoleOther || role == RoleDamage {
		return ""
	}
	return ": payloads, results and logs are in it"
}

func opens(role string) string {
	if role == RoleKey {
		return "all secrets in the file"
	}
	return "the whole server"
}

func renewed(role string) string {
	if role == RoleKey {
		return "nightshift secrets rotate-key where somebody may have read it"
	}
	return "make another token and revoke this one where somebody may have read it"
}
