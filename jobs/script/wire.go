package script

import (
	"encoding/binary"
	"errors"
	"fmt"
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

// What the shim says, one line each: "failed ERRNO", "stopping", "exited WAITSTATUS", "left COUNT",
// "memory KIB", "starved COUNT".
const (
	saidFailed   = "failed"   // the script could not be started
	saidStopping = "stopping" // a stop or kill reached the script before it had ended by itself
	saidExited   = "exited"   // its first process is over
	saidLeft     = "left"     // how many others were alive then and have been killed
	saidMemory   = "memory"   // what it held as it passed its limit, and was killed for that
	saidStarved  = "starved"  // how many the kernel has killed as memory ran out; not said: unknown
)

// An order is what a shim is to start.
type order struct {
	Path   string              // of the program
	Dir    string              // to start in
	Cgroup string              // folder of the attempt's cgroup; "": none
	Folder string              // of the attempt: removed by the shim at the end
	User   *syscall.Credential // nil: that of the shim
	Memory int64               // bytes that its tree may hold; 0: any, or the kernel sees to it
	Args   []string
	Env    []string
}

// An order is written as its length and its fields, each ended by NUL, which none can hold.
func (o order) encode() []byte {
	fields := []string{
		o.Path, o.Dir, o.Cgroup, o.Folder, encodeUser(o.User), strconv.FormatInt(o.Memory, 10),
		strconv.Itoa(len(o.Args)),
	}
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
	const fixed = 7
	if len(f) < fixed {
		return order{}, errBadOrder
	}
	user, err := decodeUser(f[4])
	if err != nil {
		return order{}, err
	}
	memory, err := strconv.ParseInt(f[5], 10, 64)
	if err != nil {
		return order{}, errBadOrder
	}
	args, err := strconv.Atoi(f[6])
	if err != nil || args < 1 || args > len(f)-fixed {
		return order{}, errBadOrder
	}
	return order{
		Path: f[0], Dir: f[1], Cgroup: f[2], Folder: f[3], User: user, Memory: memory,
		Args: f[fixed : fixed+args], Env: f[fixed+args:],
	}, nil
}

// encodeUser writes the numbers of the user, its group and its other groups; "" is nil.
func encodeUser(c *syscall.Credential) string {
	if c == nil {
		return ""
	}
	return strings.Trim(fmt.Sprint(append([]uint32{c.Uid, c.Gid}, c.Groups...)), "[]")
}

func decodeUser(text string) (*syscall.Credential, error) {
	if text == "" {
		return nil, nil
	}
	var n []uint32
	for _, word := range strings.Fields(text) {
		number, err := strconv.ParseUint(word, 10, 32)
		if err != nil {
			return nil, errBadOrder
		}
		n = append(n, uint32(number))
	}
	if len(n) < 2 {
		return nil, errBadOrder
	}
	return &syscall.Credential{Uid: n[0], Gid: n[1], Groups: n[2:]}, nil
}

// A told is what the server knows of an attempt from its shim.
type told struct {
	failed   syscall.Errno // why it could not be started; 0: it was
	stopping bool          // it had not ended when the stop reached it
	exited   bool
	status   syscall.WaitStatus // where exited
	over     bool               // nothing is left
	left     int                // had to be killed for that

	memory  int64 // bytes that it held past its limit; 0: it kept to it
	counted bool  // whether starved is known
	starved int   // processes that the kernel killed as memory ran out
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
	case word == saidMemory:
		t.memory = int64(n) << 10
	case word == saidStarved:
		t.counted, t.starved = true, int(n)
	}
}
