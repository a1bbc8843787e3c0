package webhook

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"

	"code.dny.dev/ssrf"
)

// never are addresses no webhook may call, whatever the flags say.
var never = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address (RFC 3927)"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address (RFC 4291)"},
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of \"this network\" (RFC 791)"},
	{netip.MustParsePrefix("::/128"), "the unspecified address (RFC 4291)"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address (RFC 1112)"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address (RFC 4291)"},
	{netip.MustParsePrefix("255.255.255.255/32"), "the broadcast address (RFC 919)"},
	{netip.MustParsePrefix("100.100.100.200/32"), "a cloud metadata service"}, // Alibaba
	{netip.MustParsePrefix("192.0.0.192/32"), "a cloud metadata service"},     // Oracle, classic
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud metadata service"},   // Azure
	{netip.MustParsePrefix("fd00:ec2::/32"), "a cloud metadata service"},      // AWS
	{netip.MustParsePrefix("fd20:ce::254/128"), "a cloud metadata service"},   // Google
	{netip.MustParsePrefix("fd00:42::42/128"), "a cloud metadata service"},    // Scaleway
}

// neverNames are refused before they are looked up: what they mean depends on the network.
var neverNames = map[string]bool{
	"metadata.google.internal":   true,
	"metadata.goog":              true,
	"metadata.azure.internal":    true,
	"instance-data":              true,
	"instance-data.ec2.internal": true,
	"metadata.tencentyun.com":    true,
}

// blockedError is an address or name that may not be called.
type blockedError struct{ text string }

func (e *blockedError) Error() string { return e.text }

// guard judges addresses.
type guard struct {
	private PrivatePolicy
	self    func(netip.AddrPort) bool
	public  *ssrf.Guardian
}

func newGuard(private PrivatePolicy, self func(netip.AddrPort) bool) guard {
	// NAT64 stands for an IPv4 address, which is judged by itself.
	public := ssrf.New(ssrf.WithAnyPort(),
		ssrf.WithAllowedV6Prefixes(ssrf.IPv6NAT64Prefix, sixToFour))
	return guard{private: private, self: self, public: public}
}

func (g *guard) checkName(host string) error {
	if neverNames[host] {
		return &blockedError{text: host + " is a cloud metadata service, which is never called"}
	}
	return nil
}

// check judges the address that is about to be dialled for a host of a URL. An IPv6 address that
// carries an IPv4 one is judged as both.
func (g *guard) check(host string, at netip.AddrPort) error {
	forms := carried(at.Addr())
	for _, addr := range forms {
		for _, n := range never {
			if n.prefix.Contains(addr) {
				return &blockedError{text: fmt.Sprintf("%s is %s, which is never called",
					named(host, at), n.what)}
			}
		}
		if g.self != nil && g.self(netip.AddrPortFrom(addr, at.Port())) {
			return &blockedError{text: fmt.Sprintf("%s is this server itself, which is never called",
				named(host, at))}
		}
	}
	if !g.private.restricts() {
		return nil
	}
	for _, addr := range forms {
		if g.public.SafeAddr(addr) == nil {
			continue
		}
		if !g.private.lists(host, netip.AddrPortFrom(addr, at.Port())) {
			return &blockedError{text: g.private.refusal(host, at)}
		}
	}
	return nil
}

// named is the address, and the name it was found by.
func named(host string, at netip.AddrPort) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return at.String()
	}
	return fmt.Sprintf("%s (%s)", net.JoinHostPort(host, fmt.Sprint(at.Port())), at.Addr())
}

var (
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48") // RFC 8215
	sixToFour  = netip.MustParsePrefix("2002::/16")      // RFC 3056
	teredo     = netip.MustParsePrefix("2001::/32")      // RFC 4380
	compatible = netip.MustParsePrefix("::/96")          // RFC 4291, 2.5.5.1
)

// carried gives an address without zone and IPv4 mapping, and the IPv4 addresses inside it.
func carried(addr netip.Addr) []netip.Addr {
	addr = addr.WithZone("").Unmap()
	forms := []netip.Addr{addr}
	if addr.Is4() {
		return forms
	}
	b := addr.As16()
	last := [4]byte(b[12:])
	switch {
	case ssrf.IPv6NAT64Prefix.Contains(addr), nat64Local.Contains(addr):
		forms = append(forms, netip.AddrFrom4(last))
	case sixToFour.Contains(addr):
		forms = append(forms, netip.AddrFrom4([4]byte(b[2:6])))
	case teredo.Contains(addr):
		var client [4]byte
		binary.BigEndian.PutUint32(client[:], ^binary.BigEndian.Uint32(last[:]))
		forms = append(forms, netip.AddrFrom4([4]byte(b[4:8])), netip.AddrFrom4(client))
	case compatible.Contains(addr) && !addr.IsLoopback() && !addr.IsUnspecified():
		forms = append(forms, netip.AddrFrom4(last))
	}
	return forms
}

// ListensOn makes Config.Self for a server that listens on an address. Where it listens on all
// (0.0.0.0 or ::) each address of the machine with that port is its own.
func ListensOn(listen netip.AddrPort) func(netip.AddrPort) bool {
	own := listen.Addr().WithZone("").Unmap()
	return func(at netip.AddrPort) bool {
		addr := at.Addr().WithZone("").Unmap()
		switch {
		case at.Port() != listen.Port():
			return false
		case !own.IsUnspecified():
			return addr == own
		case addr.IsLoopback() || addr.IsUnspecified():
			return true
		}
		return isLocal(addr)
	}
}

// isLocal asks the system each time: addresses come and go. What cannot be told is taken as local.
func isLocal(addr netip.Addr) bool {
	locals, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	for _, local := range locals {
		prefix, err := netip.ParsePrefix(local.String())
		if err == nil && prefix.Addr().WithZone("").Unmap() == addr {
			return true
		}
	}
	return false
}

// restricts reports whether private addresses are not simply allowed.
func (p PrivatePolicy) restricts() bool { return p.deny }

// refusal says which flag to change to what.
func (p PrivatePolicy) refusal(host string, at netip.AddrPort) string {
	entry := netip.AddrPortFrom(at.Addr().WithZone("").Unmap(), at.Port())
	what := named(host, at) + " is a private address, which --webhook-private="
	if len(p.entries) == 0 {
		return fmt.Sprintf("%sdeny forbids; to allow it set --webhook-private=%s", what, entry)
	}
	return fmt.Sprintf("%s%s does not allow; to allow it add %s to that list",
		what, clip(p.String(), 200), entry)
}
