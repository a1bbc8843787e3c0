package webhook

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nightshift/jobs"
)

// names is a name server on loopback that knows A and AAAA records (RFC 1035, 3596).
type names struct {
	addr  string
	asked atomic.Int64
}

// nameServer answers with the addresses of a name; none: the name does not exist.
func nameServer(t testing.TB, addresses func(name string) []string) *names {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ns := &names{addr: conn.LocalAddr().String()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var b [1500]byte
		for {
			n, from, err := conn.ReadFrom(b[:])
			if err != nil {
				return
			}
			ns.asked.Add(1)
			if reply := answerQuery(b[:n], addresses); reply != nil {
				_, _ = conn.WriteTo(reply, from)
			}
		}
	}()
	t.Cleanup(func() {
		conn.Close()
		<-done
	})
	return ns
}

func (ns *names) resolver() *net.Resolver {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", ns.addr)
	}
	return &net.Resolver{PreferGo: true, Dial: dial}
}

// answerQuery gives nil where it stays silent: for names that begin with "silent".
func answerQuery(query []byte, addresses func(string) []string) []byte {
	if len(query) < 12 {
		return nil
	}
	var labels []string
	at := 12
	for at < len(query) && query[at] != 0 {
		end := at + 1 + int(query[at])
		if end > len(query) {
			return nil
		}
		labels = append(labels, string(query[at+1:end]))
		at = end
	}
	if at+5 > len(query) {
		return nil
	}
	name, kind := strings.Join(labels, "."), query[at+2]
	if strings.HasPrefix(name, "silent") {
		return nil
	}
	found := addresses(name)
	reply := append([]byte{}, query[:at+5]...)
	reply[2], reply[3] = 0x81, 0x80
	clear(reply[6:12])
	if len(found) == 0 {
		reply[3] |= 3 // NXDOMAIN
		return reply
	}
	for _, text := range found {
		a := netip.MustParseAddr(text)
		if a.Is4() != (kind == 1) {
			continue
		}
		reply = append(reply, 0xc0, 12, 0, kind, 0, 1, 0, 0, 0, 0, 0, byte(a.BitLen()/8))
		reply = append(reply, a.AsSlice()...)
		reply[7]++
	}
	return reply
}

func TestNameThatDoesNotExistIsADNSFailure(t *testing.T) {
	ns := nameServer(t, func(string) []string { return nil })
	k := newKind(t, Config{})
	k.lookup = ns.resolver()
	rep := call(t, k, hook("http://gone.example/?token=secret"))
	wantFailure(t, rep, jobs.FailDNS, "no address found for gone.example: the name does not exist")
	if strings.Contains(rep.Failure.Message, "secret") {
		t.Errorf("message %q", rep.Failure.Message)
	}
}

// A proxy would dial in our place, what we must not dial too.
func TestProxiesOfTheEnvironmentAreNotAsked(t *testing.T) {
	proxy := receive(t, answers(status(200, "from the proxy")))
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.url)
	}
	t.Setenv("NO_PROXY", "")
	ns := nameServer(t, func(string) []string { return nil })
	k := newKind(t, Config{})
	k.lookup = ns.resolver()
	for _, url := range []string{"http://gone.example/", "https://gone.example/"} {
		wantFailure(t, call(t, k, hook(url)), jobs.FailDNS, "no address found for gone.example")
	}
	if k.transport.Proxy != nil {
		t.Error("there is a proxy")
	}
}

func TestConnectingHasATimeOfItsOwn(t *testing.T) {
	ns := nameServer(t, func(string) []string { return nil })
	k := newKind(t, Config{})
	k.lookup, k.connect = ns.resolver(), 50*time.Millisecond
	rep := call(t, k, hook("http://silent.example/"))
	wantFailure(t, rep, jobs.FailTimeout, "connecting to silent.example:80 took longer than")

	mute := receive(t, (*peer).gone)
	rep = call(t, k, hook("https://"+mute.addr+"/"))
	wantFailure(t, rep, jobs.FailTimeout, "connecting to "+mute.addr+" took longer than")
	until(t, "the connection to close", func() bool { return mute.open.Load() == 0 })
}

func TestDeadlineEndsALookup(t *testing.T) {
	ns := nameServer(t, func(string) []string { return nil })
	k := newKind(t, Config{})
	k.lookup = ns.resolver()
	rep := callFor(t, k, hook("http://silent.example/"), 50*time.Millisecond)
	if rep.Stopped != jobs.ErrTimeout || rep.Failure.Kind != jobs.FailTimeout ||
		!strings.Contains(rep.Failure.Message, "while connecting to silent.example:80") {
		t.Errorf("stopped %v, failure %v", rep.Stopped, rep.Failure)
	}
}

// The Transport goes on dialling for others when an attempt ends; here nothing is left of it.
func TestDeadlineEndsAHandshake(t *testing.T) {
	mute := receive(t, (*peer).gone)
	k := newKind(t, Config{})
	k.connect = time.Hour
	rep := callFor(t, k, hook("https://"+mute.addr+"/"), 50*time.Millisecond)
	if rep.Stopped != jobs.ErrTimeout ||
		!strings.Contains(rep.Failure.Message, "while connecting to "+mute.addr) {
		t.Errorf("stopped %v, failure %v", rep.Stopped, rep.Failure)
	}
	until(t, "the connection to close", func() bool { return mute.open.Load() == 0 })
}

func TestManyAddressesAreFine(t *testing.T) {
	r := receive(t, answers(ok("{}")))
	port := r.addr[strings.LastIndexByte(r.addr, ':'):]
	var many []string
	for i := range 64 {
		many = append(many, netip.AddrFrom4([4]byte{169, 254, 0, byte(i)}).String())
	}
	many = append(many, "127.0.0.1")
	ns := nameServer(t, func(string) []string { return many })
	k := newKind(t, Config{})
	k.lookup = ns.resolver()
	wantResult(t, call(t, k, hook("http://many.example"+port)), "{}")
}

func TestNameThatHasAnIPv6AddressAloneIsCalled(t *testing.T) {
	l, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("this machine has no IPv6: ", err)
	}
	r := receiveOn(t, l, answers(ok("{}")))
	ns := nameServer(t, func(string) []string { return []string{"::1"} })
	k := newKind(t, Config{})
	k.lookup = ns.resolver()
	wantResult(t, call(t, k, hook("http://six.example"+r.addr[strings.LastIndexByte(r.addr, ':'):])), "{}")
	ns = nameServer(t, func(string) []string { return []string{"fe80::1"} })
	k.lookup = ns.resolver()
	wantFailure(t, call(t, k, hook("http://link.example/")), jobs.FailBlocked, "link-local")
}
