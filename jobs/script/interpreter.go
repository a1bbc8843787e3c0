package script

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"nightshift/jobs"
)

// byEnding are the interpreters of files without a #! line.
var byEnding = map[string]string{
	".py": "python3",
	".js": "node", ".mjs": "node", ".cjs": "node", ".ts": "node", ".mts": "node",
	".rb": "ruby", ".php": "php", ".pl": "perl", ".lua": "lua", ".r": "Rscript",
	".bash": "bash", ".zsh": "zsh",
}

// endings are given to files of a source, for interpreters that care and for traces that read well.
var endings = map[string]string{
	"python": ".py", "node": ".js", "ruby": ".rb", "php": ".php", "perl": ".pl",
	"bun": ".ts", "deno": ".ts", "tsx": ".ts", "ts-node": ".ts",
}

// packages are what Debian and Ubuntu call them.
var packages = map[string]string{
	"bash": "bash", "zsh": "zsh", "fish": "fish", "perl": "perl", "ruby": "ruby", "lua": "lua5.4",
	"python3": "python3", "python": "python-is-python3", "php": "php-cli", "Rscript": "r-base-core",
	"node": "nodejs", "nodejs": "nodejs", "java": "default-jre-headless", "go": "golang-go",
	"env":  "coreutils",
	"curl": "curl", "wget": "wget", "jq": "jq", "rsync": "rsync", "git": "git", "make": "make", "zip": "zip",
	"unzip": "unzip", "sqlite3": "sqlite3", "psql": "postgresql-client", "pg_dump": "postgresql-client",
	"mysql": "default-mysql-client", "mysqldump": "default-mysql-client", "npm": "npm", "pip": "python3-pip",
	"pip3": "python3-pip", "composer": "composer", "ffmpeg": "ffmpeg", "convert": "imagemagick",
}

// A lookup finds programs as the script itself would.
type lookup struct {
	path string    // the script's PATH
	dir  string    // where it starts
	user *identity // nil: the server's
}

// interpreter gives the words before the file: those of the job, else the file's #! line, else by
// its ending, else the shell. None: the file is a program.
func (l lookup) interpreter(given []string, t text) []string {
	if len(given) > 0 {
		return append([]string(nil), given...)
	}
	if strings.HasPrefix(t.head, "\x7fELF") {
		return nil
	}
	if words := hashBang(t.head); words != nil {
		return words
	}
	if name, ok := byEnding[strings.ToLower(filepath.Ext(t.file))]; ok {
		return []string{name}
	}
	if l.find("bash") != "" {
		return []string{"bash", "-eo", "pipefail"}
	}
	return []string{"sh", "-e"}
}

// hashBang reads a #! line as the kernel does: a program and one argument at most, execve(2).
// `env NAME` is looked through, so that what is missing can be named.
func hashBang(head string) []string {
	line, ok := strings.CutPrefix(head, "#!")
	if !ok {
		return nil
	}
	line, _, _ = strings.Cut(line, "\n")
	line = strings.TrimSpace(line)
	program, arg := line, ""
	if i := strings.IndexAny(line, " \t"); i > 0 {
		program, arg = line[:i], strings.TrimSpace(line[i:])
	}
	if program == "" {
		return nil
	}
	if filepath.Base(program) == "env" && arg != "" {
		split, ok := strings.CutPrefix(arg, "-S")
		words := strings.Fields(split)
		plain := !strings.ContainsAny(split, `'"\$=`) && len(words) > 0 && words[0][0] != '-'
		if plain && (ok || len(words) == 1) {
			return words
		}
	}
	if arg == "" {
		return []string{program}
	}
	return []string{program, arg}
}

// endingOf is the ending that suits an interpreter: python3.12 as python.
func endingOf(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return endings[strings.TrimRight(filepath.Base(words[0]), "0123456789.")]
}

// program is the file of a command, found as the script itself would find it.
func (l lookup) program(name string) (string, *jobs.Failure) {
	if found := l.find(name); found != "" {
		return found, nil
	}
	pkg := packages[filepath.Base(name)]
	switch {
	case strings.Contains(name, "/") && unix.Access(l.absolute(name), unix.F_OK) == nil:
		return "", spawnFailure("%s is not executable: chmod +x it", name)
	case pkg != "":
		return "", spawnFailure("%s is not installed: apt install %s", name, pkg)
	case strings.Contains(name, "/"):
		return "", spawnFailure("%s, which is to run the script, does not exist: install it, or name another in "+
			"script.interpreter or the #! line", name)
	}
	return "", spawnFailure("%s, which is to run the script, is not installed, or not on the script's PATH", name)
}

// find gives "" where there is none. Of what the server may execute the first is taken that the user
// may as well.
func (l lookup) find(name string) string {
	found := l.first(name, func(path string) bool {
		return executable(path) && (l.user == nil || l.user.may(path, 1))
	})
	if found == "" && l.user != nil {
		found = l.first(name, executable)
	}
	return found
}

// first leaves out folders of the PATH that are not absolute.
func (l lookup) first(name string, ok func(path string) bool) string {
	if strings.Contains(name, "/") {
		if name = l.absolute(name); ok(name) {
			return name
		}
		return ""
	}
	for _, folder := range filepath.SplitList(l.path) {
		if full := filepath.Join(folder, name); filepath.IsAbs(folder) && ok(full) {
			return full
		}
	}
	return ""
}

func (l lookup) absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(l.dir, name)
}

func executable(path string) bool {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false
	}
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS) == nil
}
