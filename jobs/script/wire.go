package script

import (
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
	"syscall"
)

// Commands to the shim, one byte each, after the order.
const (
	stopCommand = 'T' // SIGTERM to the process group; the shim ends when the group has
	killCommand = 'K' // SIGKILL to everything
)

// What the shim says, one line each: "failed ERRNO", "stopping", "exited WAITSTATUS", "left COUNT".
const (
	saidFailed   = "failed"   // the script could not be started
	saidStopping = "stopping" // a stop or kill reached the script before it had ended by itself
	saidExited   = "exited"   // its first process is over
	saidLeft     = "left"     // how many others were alive then and have been killed
)

// An order is what a shim is to start.
type order struct {
	Path   string // of the program
	Dir    string // to start in
	Cgroup string // folder of the attempt's cgroup; "": none
	Folder string // of the attempt: removed by the shim where the server is dead
	Args   []string
	Env    []string
}

// An order is written as its length and its fields, each ended by NUL, which none can hold.
func (o order) encode() []byte {
	fields := []string{o.Path, o.Dir, o.Cgroup, o.Folder, strconv.Itoa(len(o.Args))}
	fields = append(append(fields, o.Args...), o.Env...)
	body := strings.Join(fields, "\x00")
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

var errBadOrder = errors.New("this is not an order to a shim")

func readOrder(r io.Reader) (order, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return order{}, err
	}
	body := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(r, body); err != nil {
		return order{}, err
	}
	f := strings.Split(string(body), "\x00")
	if len(f) < 5 {
		return order{}, errBadOrder
	}
	args, err := strconv.Atoi(f[4])
	if err != nil || args < 1 || args > len(f)-5 {
		return order{}, errBadOrder
	}
	return order{
		Path: f[0], Dir: f[1], Cgroup: f[2], Folder: f[3],
		Args: f[5 : 5+args], Env: f[5+args:],
	}, nil
}

// A told is what the server knows of an attempt from its shim.
type told struct {
	failed   syscall.Errno // why it could not be started; 0: it was
	stopping bool          // it had not ended when the stop reached it
	exited   bool
	status   syscall.WaitStatus // where exited
	over     bool               // nothing is left
	left     int                // had to be killed for that
}

// hear takes one line of the shim. Lines that make no sense count as not said.
func (t *told) hear(line string) {
	word, rest, _ := strings.Cut(line, " ")
	n, err := strconv.ParseUint(rest, 10, 32)
	switch {
	case word == saidStopping:
		t.stopping = true
	case err != nil:
	case word == saidFailed:
		t.failed = syscall.Errno(n)
	case word == saidExited:
		t.exited, t.status = true, syscall.WaitStatus(n)
	case word == saidLeft:
		t.over, t.left = true, int(n)
	}
}
