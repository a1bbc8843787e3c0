package main

import (
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// disk is a folder as a power cut could leave it. Of a file all writes that had returned before an
// fsync began are safe once it has returned. A name made, changed or taken away is safe once any
// fsync that began later has returned, as on file systems with an ordered journal (ext4, xfs).
// All else may be there after the cut, or not, or in part.
type disk struct {
	folder string // only what lies directly in it is followed

	names   map[string]*inode // now
	safe    map[string]*inode // after a cut, at least
	changes []change          // of names, not yet safe
	changed int               // changes ever: the number of the next one

	writes, syncs int
	bytes         int64
	syncsOf       map[string]int // by file name
	begun         map[string]int // writes at the beginning of a file, by its name
}

// inode is the content of a file.
type inode struct {
	safe    []byte  // what every cut leaves
	pending []write // not yet safe, in order
	done    int     // writes ever: the number of the next one
}

// write puts data at an offset, or, where data is nil, cuts the file to that length.
type write struct {
	number int
	offset int64
	data   []byte
}

// change of names, all of it or nothing: gone stands for nothing from now on, name for a file.
// Either may be "".
type change struct {
	number     int
	gone, name string
	file       *inode
}

func newDisk(folder string) *disk {
	return &disk{
		folder: folder, names: map[string]*inode{}, safe: map[string]*inode{},
		syncsOf: map[string]int{}, begun: map[string]int{},
	}
}

// name gives the name of a path in the folder; false for what lies elsewhere. The
// shared memory of SQLite is made anew by whoever opens the file first, so it is left out.
func (d *disk) name(path string) (string, bool) {
	if filepath.Dir(path) != d.folder || strings.HasSuffix(path, "-shm") {
		return "", false
	}
	return filepath.Base(path), true
}

// file gives the file of a name and makes it where there is none.
func (d *disk) file(name string) *inode {
	f := d.names[name]
	if f == nil {
		f = &inode{}
		d.change("", name, f)
	}
	return f
}

// change takes one name away and lets another stand for a file.
func (d *disk) change(gone, name string, f *inode) {
	c := change{d.changed, gone, name, f}
	d.changed++
	c.apply(d.names)
	d.changes = append(d.changes, c)
}

func (c change) apply(names map[string]*inode) {
	delete(names, c.gone)
	if c.name != "" {
		names[c.name] = c.file
	}
}

func (f *inode) write(offset int64, data []byte) {
	f.pending = append(f.pending, write{f.done, offset, data})
	f.done++
}

// promise is what an fsync that begins now makes safe when it returns.
type promise struct {
	file           *inode
	writes, change int
}

func (d *disk) promise(f *inode) promise {
	p := promise{file: f, change: d.changed}
	if f != nil {
		p.writes = f.done
	}
	return p
}

// keep makes a promise true.
func (d *disk) keep(p promise) {
	for len(d.changes) > 0 && d.changes[0].number < p.change {
		d.changes[0].apply(d.safe)
		d.changes = d.changes[1:]
	}
	if p.file == nil {
		return
	}
	f := p.file
	for len(f.pending) > 0 && f.pending[0].number < p.writes {
		f.safe = f.pending[0].on(f.safe)
		f.pending = f.pending[1:]
	}
}

// length is that of the file now, with all that is not safe yet.
func (f *inode) length() int {
	n := len(f.safe)
	for _, w := range f.pending {
		if w.data == nil {
			n = int(w.offset)
		} else {
			n = max(n, int(w.offset)+len(w.data))
		}
	}
	return n
}

// on gives the content with the write done; the content given may be changed.
func (w write) on(content []byte) []byte {
	end := int(w.offset) + len(w.data)
	if w.data == nil && end < len(content) {
		return content[:end]
	}
	if more := end - len(content); more > 0 {
		content = append(content, make([]byte, more)...)
	}
	copy(content[w.offset:], w.data)
	return content
}

// image is one folder a cut could leave now. With random nil it is the poorest: nothing but what is
// safe. Else some of the rest is kept: the first few changes of names, and of each file any
// writes, whole or by sectors.
func (d *disk) image(random *rand.Rand) map[string][]byte {
	names := maps.Clone(d.safe)
	chance := 0.0
	if random != nil {
		for _, c := range d.changes[:random.IntN(len(d.changes)+1)] {
			c.apply(names)
		}
		chance = []float64{0.2, 0.5, 0.9}[random.IntN(3)]
	}
	files := map[string][]byte{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		content := slices.Clone(names[name].safe)
		if random != nil {
			for _, w := range names[name].pending {
				content = w.perhapsOn(content, random, chance)
			}
		}
		files[name] = content
	}
	return files
}

const sector = 512

// perhapsOn does the write with a chance, one in four of them torn at the borders of sectors.
func (w write) perhapsOn(content []byte, random *rand.Rand, chance float64) []byte {
	if w.data == nil || random.IntN(4) > 0 {
		if random.Float64() < chance {
			return w.on(content)
		}
		return content
	}
	for from := 0; from < len(w.data); {
		to := min(len(w.data), from+sector-int((w.offset+int64(from))%sector))
		if random.Float64() < chance {
			content = write{offset: w.offset + int64(from), data: w.data[from:to]}.on(content)
		}
		from = to
	}
	return content
}

// store writes an image into an empty folder.
func store(files map[string][]byte, folder string) error {
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
