package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// calledAs is how the program can be called again from this folder, as typed into a shell: as it
// was built by go run, by its name where that is found, else by its path.
func calledAs() string {
	exe, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	if ofGoRun(exe) && inModule() {
		return "go run ."
	}
	if name := filepath.Base(exe); onPath(name, exe) {
		return name
	}
	if strings.Contains(os.Args[0], "/") {
		exe = os.Args[0]
	}
	return quoted(exe)
}

// goRunPath is where go run builds: in a folder for the time it runs, or in the build cache.
var goRunPath = regexp.MustCompile(`/go-build[^/]*/|/[0-9a-f]{64}-d/[^/]+$`)

func ofGoRun(exe string) bool { return goRunPath.MatchString(exe) }

// inModule reports whether go run . builds this program here.
func inModule() bool {
	text, err := os.ReadFile("go.mod")
	return err == nil && strings.HasPrefix(string(text), "module nightshift\n")
}

// onPath reports whether a shell that is told the name runs exe.
func onPath(name, exe string) bool {
	want, err := os.Stat(exe)
	if err != nil {
		return false
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		got, err := os.Stat(filepath.Join(dir, name))
		if err == nil && got.Mode().IsRegular() && got.Mode()&0o111 != 0 {
			return os.SameFile(got, want)
		}
	}
	return false
}

var plainPath = regexp.MustCompile(`^[A-Za-z0-9_./+:@%,=-]+$`)

// quoted writes a path as one word of a shell.
func quoted(path string) string {
	if plainPath.MatchString(path) {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
