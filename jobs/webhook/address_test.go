package webhook

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"nightshift/jobs"
)

func policy(t testing.TB, s string) PrivatePolicy {
	t.Helper()
	p, err := ParsePrivate(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// forbidden are addresses that are never called.
var forbidden = []string{
	"169.254.169.254", "169.254.0.1", "169.254.170.2", "0.0.0.0", "0.1.2.3", "224.0.0.1",
	"239.255.255.250", "255.255.255.255", "100.100.100.200", "192.0.0.192", "168.63.129.16",
	"fe80::1", "febf::1", "::", "ff02::1", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
	"::ffff:169.254.169.254", "::ffff:0.0.0.0", "64:ff9b::169.254.169.254", "64:ff9b:1::a9fe:a9fe",
	"2002:a9fe:a9fe::1", "::169.254.169.254", "2001:0:a9fe:a9fe::1", "2001:0:1::5601:5601",
}

func TestForbiddenAddressesAreNeverCalled(t *testing.T) {
	everything := "127.0.0.0/8,10.0.0.0/8,0.0.0.0/0,::/0"
	for _, flag := range []string{"allow", "deny", everything} {
		g := newGuard(policy(t, flag), nil)
		for _, addr := range forbidden {
			at := netip.AddrPortFrom(netip.MustParseAddr(addr), 80)
			var blocked *blockedError
			if err := g.check("name.example", at); !errors.As(err, &blocked) ||
				!strings.Contains(err.Error(), "never called") {
				t.Errorf("%s: %s: %v: want it refused", flag, addr, err)
			}
		}
	}
}

func TestPrivateAddressesFollowTheFlag(t *testing.T) {
	public := []string{"1.1.1.1", "8.8.8.8", "2606:4700::1111", "64:ff9b::1.1.1.1", "2002:101:101::1"}
	private := []string{
		"127.0.0.1", "127.8.8.8", "::1", "10.0.0.5", "172.16.0.1", "172.31.255.255", "192.168.1.1",
		"100.64.0.1", "fc00::1", "fd12::1", "::ffff:10.0.0.5", "64:ff9b::10.0.0.5", "2002:a00:5::1",
		"198.18.0.1", "240.0.0.1", "::10.0.0.5",
	}
	check := func(flag, addr string) error {
		g := newGuard(policy(t, flag), nil)
		return g.check("h.example", netip.AddrPortFrom(netip.MustParseAddr(addr), 8080))
	}
	for _, addr := range append(public, private...) {
		if err := check("allow", addr); err != nil {
			t.Errorf("allow: %v", err)
		}
	}
	for _, addr := range public {
		for _, flag := range []string{"deny", "10.9.9.9:1"} {
			if err := check(flag, addr); err != nil {
				t.Errorf("%s: %v", flag, err)
			}
		}
	}
	for _, addr := range private {
		for _, flag := range []string{"deny", "10.9.9.9:8080"} {
			err := check(flag, addr)
			if err == nil || !strings.Contains(err.Error(), "--webhook-private="+flag) {
				t.Errorf("%s: %s: %v: want it refused, naming the flag", flag, addr, err)
			}
		}
	}
}

func TestAnEntryAllowsWhatItSaysAndNothingElse(t *testing.T) {
	for _, c := range []struct {
		flag, host, addr string
		port             uint16
		want             bool
	}{
		{"127.0.0.1:9000", "127.0.0.1", "127.0.0.1", 9000, true},
		{"127.0.0.1:9000", "any.example", "127.0.0.1", 9000, true},
		{"127.0.0.1:9000", "127.0.0.1", "127.0.0.1", 9001, false},
		{"127.0.0.1:9000", "127.0.0.1", "127.0.0.2", 9000, false},
		{"127.0.0.1:9000", "127.0.0.1", "::ffff:127.0.0.1", 9000, true},
		{"10.0.0.0/8", "h", "10.200.0.1", 1, true},
		{"10.0.0.0/8", "h", "192.168.0.1", 1, false},
		{"10.0.0.0/8:443", "h", "10.200.0.1", 443, true},
		{"10.0.0.0/8:443", "h", "10.200.0.1", 80, false},
		{"[fd00::/8]:443", "h", "fd00::5", 443, true},
		{"[fd00::/8]:443", "h", "fd00::5", 80, false},
		{"fd00::/8", "h", "fd00::5", 80, true},
		{"[fd00::/8]", "h", "fd00::5", 80, true},
		{"[::1]:80", "h", "::1", 80, true},
		{"API.internal.:443", "api.internal", "10.0.0.1", 443, true},
		{"api.internal:443", "api.internal", "10.0.0.1", 80, false},
		{"api.internal:443", "evil.example", "10.0.0.1", 443, false},
		{"api.internal:443", "10.0.0.1", "10.0.0.1", 443, false},
		{"10.0.0.1:1, 10.0.0.2:2", "h", "10.0.0.2", 2, true},
		{"10.0.0.1:1, 10.0.0.2:2", "h", "10.0.0.2", 1, false},
		{"10.0.0.0/8", "h", "64:ff9b::10.0.0.1", 1, true},
	} {
		g := newGuard(policy(t, c.flag), nil)
		err := g.check(c.host, netip.AddrPortFrom(netip.MustParseAddr(c.addr), c.port))
		if (err == nil) != c.want {
			t.Errorf("%s: %s at %s:%d: %v: want allowed %t",
				c.flag, c.host, c.addr, c.port, err, c.want)
		}
	}
}

func TestPrivateFlagIsReadBack(t *testing.T) {
	list := "127.0.0.1:80,10.0.0.0/8,api.internal:443,[fd00::/8]:1"
	for _, s := range []string{"allow", "deny", list} {
		if got := policy(t, s).String(); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
	if policy(t, "").String() != "allow" {
		t.Error("the zero flag does not allow")
	}
	var p PrivatePolicy
	if err := p.UnmarshalText([]byte("deny")); err != nil || p.String() != "deny" {
		t.Errorf("%v, %v", p, err)
	}
}

func TestWrongPrivateFlagSaysWhatWouldBeRight(t *testing.T) {
	for s, want := range map[string]string{
		"none":                       "want host:port or CIDR[:port]",
		"api.internal":               "want host:port",
		"10.1.2.3":                   "write 10.1.2.3:8080 or 10.1.2.3/32",
		"fd00::1":                    "write [fd00::1]:8080 or fd00::1/128",
		"10.1.2.3/8":                 "did you mean 10.0.0.0/8?",
		"10.0.0.0/33":                "not a CIDR",
		"10.0.0.0/8:0":               "1 to 65535",
		"10.0.0.0/8:x":               "1 to 65535",
		"h:70000":                    "1 to 65535",
		"h:":                         "1 to 65535",
		":80":                        "no valid host",
		"a b:80":                     "no valid host",
		"http://a:80":                "not a CIDR",
		"127.0.0.1:80,":              "entry 2: it is empty",
		"127.0.0.1:80,deny":          "stands alone",
		"169.254.169.254:80":         "never called, no list allows it",
		"fe80::/16":                  "never called, no list allows it",
		"metadata.google.internal:1": "never called, no list allows it",
		"[fd00::/8:80":               "cannot be read",
		"::ffff:10.0.0.0/104":        "write it as IPv4",
	} {
		_, err := ParsePrivate(s)
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "--webhook-private: ") {
			t.Errorf("%q: %v: want %q in it", s, err, want)
		}
	}
}

func TestServerItselfIsNeverCalled(t *testing.T) {
	r := receive(t, answers(ok("")))
	listen := netip.MustParseAddrPort(r.addr)
	port := r.addr[strings.LastIndexByte(r.addr, ':'):]
	wild4 := netip.AddrPortFrom(netip.IPv4Unspecified(), listen.Port())
	wild6 := netip.AddrPortFrom(netip.IPv6Unspecified(), listen.Port())
	for _, self := range []netip.AddrPort{listen, wild4, wild6} {
		for _, flag := range []string{"allow", "127.0.0.0/8"} {
			k := newKind(t, Config{Self: ListensOn(self), Private: policy(t, flag)})
			for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]"} {
				rep := call(t, k, hook("http://"+host+port+"/v1/jobs"))
				if host == "localhost" && flag != "allow" && rep.Failure != nil &&
					strings.Contains(rep.Failure.Message, "::1") {
					continue // localhost is ::1 first here, which this list does not hold
				}
				wantFailure(t, rep, jobs.FailBlocked, "this server itself")
			}
		}
	}
	if r.conns.Load() != 0 {
		t.Errorf("%d connections reached it", r.conns.Load())
	}
}

func TestListensOnKnowsTheAddressesOfTheMachine(t *testing.T) {
	at := func(s string) netip.AddrPort { return netip.MustParseAddrPort(s) }
	wild, one := ListensOn(at("[::]:8700")), ListensOn(at("127.0.0.1:8700"))
	for addr, want := range map[string][2]bool{
		"127.0.0.1:8700": {true, true}, "127.0.0.2:8700": {true, false}, "[::1]:8700": {true, false},
		"127.0.0.1:8701": {false, false}, "[::ffff:127.0.0.1]:8700": {true, true},
		"192.0.2.1:8700": {false, false},
	} {
		if wild(at(addr)) != want[0] || one(at(addr)) != want[1] {
			t.Errorf("%s: %t, %t: want %v", addr, wild(at(addr)), one(at(addr)), want)
		}
	}
	locals, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, local := range locals {
		addr := netip.MustParsePrefix(local.String()).Addr()
		if !wild(netip.AddrPortFrom(addr, 8700)) {
			t.Errorf("%s is not known as the machine's own", addr)
		}
	}
}

func TestMetadataNamesAreRefusedWithoutLookup(t *testing.T) {
	ns := nameServer(t, func(string) []string { return []string{"127.0.0.1"} })
	k := newKind(t, Config{})
	k.lookup = ns.resolver()
	for _, host := range []string{"metadata.google.internal", "METADATA.google.internal."} {
		rep := call(t, k, hook("http://"+host+"/computeMetadata/v1/"))
		wantFailure(t, rep, jobs.FailBlocked, "cloud metadata service")
	}
	if n := ns.asked.Load(); n != 0 {
		t.Errorf("%d look-ups", n)
	}
}

// The name answers with a good address when looked at and with a bad one when dialled: what is
// judged is what is dialled, each time.
func TestAddressThatChangesAfterALookIsJudgedAgain(t *testing.T) {
	r := receive(t, answers(ok("{}", "Connection: close")))
	port := r.addr[strings.LastIndexByte(r.addr, ':'):]
	var to atomic.Value
	to.Store("127.0.0.1")
	ns := nameServer(t, func(string) []string { return []string{to.Load().(string)} })
	k := newKind(t, Config{})
	k.lookup = ns.resolver()
	wantResult(t, call(t, k, hook("http://rebind.example"+port)), "{}")
	to.Store("169.254.169.254")
	rep := call(t, k, hook("http://rebind.example"+port))
	wantFailure(t, rep, jobs.FailBlocked,
		"rebind.example"+port+" (169.254.169.254) is a link-local address")

	deny := newKind(t, Config{Private: policy(t, "deny")})
	deny.lookup = ns.resolver()
	to.Store("127.0.0.1")
	rep = call(t, deny, hook("http://rebind.example"+port))
	wantFailure(t, rep, jobs.FailBlocked, "--webhook-private=deny forbids",
		"set --webhook-private=127.0.0.1"+port)
}

func TestNextAddressIsTriedWhereOneIsBlocked(t *testing.T) {
	r := receive(t, answers(ok("{}")))
	port := r.addr[strings.LastIndexByte(r.addr, ':'):]
	ns := nameServer(t, func(string) []string { return []string{"169.254.169.254", "127.0.0.1"} })
	k := newKind(t, Config{})
	k.lookup = ns.resolver()
	wantResult(t, call(t, k, hook("http://two.example"+port)), "{}")
}
