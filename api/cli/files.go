package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nightshift/api/words"
	"nightshift/jobs"
)

// fileSet is what several files set together.
type fileSet struct {
	jobs.Documents
	from map[string][]origin // where they were written, by kind
}

// origin is where a document was written.
type origin struct {
	file *jobs.File
	at   int
}

// stdinName is what messages call the standard input.
const stdinName = "stdin"

// readFiles reads files, and those in folders; all that is wrong with them is said at once.
func readFiles(paths []string, stdin io.Reader) (*fileSet, error) {
	paths, err := withoutFolders(paths)
	if err != nil {
		return nil, err
	}
	set := &fileSet{from: map[string][]origin{}}
	var wrong []error
	seen := map[string]string{}
	for _, path := range paths {
		name, data, err := readFile(path, stdin)
		if err != nil {
			return nil, fmt.Errorf("read the file: %w", err)
		}
		file, err := jobs.ParseFile(name, data)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		wrong = append(wrong, set.add(file, seen)...)
	}
	return set, errors.Join(wrong...)
}

// add takes what a file holds, and tells of names that stand in another one. seen has their places.
func (set *fileSet) add(file *jobs.File, seen map[string]string) (wrong []error) {
	for _, kind := range jobs.FileKinds {
		for i, name := range file.Names(kind) {
			set.from[kind] = append(set.from[kind], origin{file, i})
			at := file.PlaceFaults(kind, i, []jobs.Fault{{Location: "name"}})[0]
			if other := seen[kind+" "+name]; other != "" {
				at.Message = fmt.Sprintf("the %s %s stands at %s too", kind, name, other)
				wrong = append(wrong, errors.New(at.String()))
				continue
			}
			seen[kind+" "+name] = fmt.Sprintf("%s:%d:%d", at.File, at.Line, at.Column)
		}
	}
	set.Add(&file.Documents)
	return wrong
}

// withoutFolders puts the job files in a folder, sorted, in its place.
func withoutFolders(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == "-" || err != nil || !info.IsDir() {
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path) // sorted
		if err != nil {
			return nil, fmt.Errorf("read the folder: %w", err)
		}
		before := len(files)
		for _, e := range entries {
			if !e.IsDir() && isJobFile(e.Name()) {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("the folder %s holds no job files: no *.yaml, *.yml or *.json", path)
		}
	}
	return files, nil
}

func isJobFile(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)) &&
		!strings.HasPrefix(name, ".")
}

// readFile reads no more of a file than is refused.
func readFile(path string, stdin io.Reader) (name string, data []byte, err error) {
	name, in := stdinName, stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return path, nil, err
		}
		defer f.Close()
		name, in = path, f
	}
	data, err = io.ReadAll(io.LimitReader(in, jobs.MaxFile+1))
	return name, data, err
}

var documentLocation = regexp.MustCompile(`^(?:body\.)?([a-z]+)\[(\d+)\]\.?(.*)$`)

// placed says in which file, line and column the faults are that a server found.
func (set *fileSet) placed(faults []jobs.Fault) error {
	var all []error
	for _, f := range faults {
		all = append(all, errors.New(set.place(f)))
	}
	return errors.Join(all...)
}

func (set *fileSet) place(f jobs.Fault) string {
	m := documentLocation.FindStringSubmatch(f.Location)
	if m == nil {
		return words.Clean(strings.TrimPrefix(f.Location+": "+f.Message, ": "))
	}
	i, _ := strconv.Atoi(m[2])
	for kind, list := range jobs.FileLists {
		if from := set.from[kind]; list == m[1] && i < len(from) {
			found := []jobs.Fault{{Location: m[3], Message: words.Clean(f.Message)}}
			return from[i].file.PlaceFaults(kind, from[i].at, found)[0].String()
		}
	}
	return words.Clean(f.Location + ": " + f.Message)
}
