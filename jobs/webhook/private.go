package webhook

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// PrivatePolicy says which private addresses may be called: loopback, RFC 1918, 100.64.0.0/10,
// fc00::/7 and all else that is not of the public internet. The zero value allows them.
type PrivatePolicy struct {
	deny    bool // but for entries
	entries []privateEntry
}

// privateEntry allows one target: a name as the URL has it, or addresses.
type privateEntry struct {
	text   string
	host   string       // lower case; "": prefix counts
	prefix netip.Prefix // of the address dialled
	port   uint16       // 0: any
}

// ParsePrivate reads the flag --webhook-private: "" or "allow", "deny", or a list of what is
// allowed, by commas, each host:port or CIDR[:port], such as
// "127.0.0.1:8080,api.internal:443,10.1.0.0/16,[fd00::/8]:443".
//
// A name allows the private addresses it has under that name only; it does not allow them under
// another, nor does an address allow names that point elsewhere.
func ParsePrivate(s string) (PrivatePolicy, error) {
	switch strings.TrimSpace(s) {
	case "", "allow":
		return PrivatePolicy{}, nil
	case "deny":
		return PrivatePolicy{deny: true}, nil
	}
	p := PrivatePolicy{deny: true}
	for i, item := range strings.Split(s, ",") {
		entry, err := parseEntry(strings.TrimSpace(item))
		if err != nil {
			return PrivatePolicy{}, fmt.Errorf("--webhook-private: entry %d: %w", i+1, err)
		}
		p.entries = append(p.entries, entry)
	}
	return p, nil
}

// String is the text that ParsePrivate reads back.
func (p PrivatePolicy) String() string {
	if !p.deny {
		return "allow"
	}
	if len(p.entries) == 0 {
		return "deny"
	}
	texts := make([]string, len(p.entries))
	for i, e := range p.entries {
		texts[i] = e.text
	}
	return strings.Join(texts, ",")
}

// UnmarshalText reads what ParsePrivate reads.
func (p *PrivatePolicy) UnmarshalText(b []byte) error {
	parsed, err := ParsePrivate(string(b))
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// lists reports whether an entry allows the address, dialled for that host of a URL.
func (p PrivatePolicy) lists(host string, at netip.AddrPort) bool {
	for _, e := range p.entries {
		if e.port != 0 && e.port != at.Port() {
			continue
		}
		if e.host != "" && e.host == host || e.host == "" && e.prefix.Contains(at.Addr()) {
			return true
		}
	}
	return false
}

const entryForms = "want host:port or CIDR[:port], " +
	"such as 127.0.0.1:8080, api.internal:443, 10.0.0.0/8"

func parseEntry(item string) (privateEntry, error) {
	e := privateEntry{text: item}
	switch item {
	case "":
		return e, fmt.Errorf("it is empty: %s", entryForms)
	case "allow", "deny":
		return e, fmt.Errorf("%q stands alone or not at all: %s", item, entryForms)
	}
	if strings.Contains(item, "/") {
		return parseRange(e)
	}
	host, port, err := net.SplitHostPort(item)
	if err != nil {
		if addr, err := netip.ParseAddr(strings.Trim(item, "[]")); err == nil {
			return e, fmt.Errorf("%q has no port: write %s or %s/%d", item,
				netip.AddrPortFrom(addr, 8080), addr, addr.BitLen())
		}
		return e, fmt.Errorf("%.100q cannot be read: %s", item, entryForms)
	}
	if e.port, err = parsePort(port); err != nil {
		return e, fmt.Errorf("%.100q: %w", item, err)
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap()
		e.prefix = netip.PrefixFrom(addr, addr.BitLen())
		return e, notNever(e)
	}
	e.host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !isHostName(e.host) {
		return e, fmt.Errorf("%.100q has no valid host: %s", item, entryForms)
	}
	if neverNames[e.host] {
		return e, fmt.Errorf("%s is a cloud metadata service: "+
			"it is never called, no list allows it", e.host)
	}
	return e, nil
}

// parseRange reads 10.0.0.0/8, 10.0.0.0/8:8080, fd00::/8 and [fd00::/8]:8080.
func parseRange(e privateEntry) (privateEntry, error) {
	cidr, port := e.text, ""
	if rest, ok := strings.CutPrefix(cidr, "["); ok {
		inside, after, closed := strings.Cut(rest, "]")
		if !closed || after != "" && !strings.HasPrefix(after, ":") {
			return e, fmt.Errorf("%.100q cannot be read: %s", e.text, entryForms)
		}
		cidr, port = inside, after
	} else if slash := strings.IndexByte(cidr, '/'); strings.Contains(cidr[slash:], ":") {
		colon := slash + strings.IndexByte(cidr[slash:], ':')
		cidr, port = cidr[:colon], cidr[colon:]
	}
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return e, fmt.Errorf("%.100q is not a CIDR: %s", e.text, entryForms)
	}
	if prefix.Masked() != prefix {
		return e, fmt.Errorf("%q has bits beyond its length: did you mean %s?", cidr, prefix.Masked())
	}
	if prefix.Addr().Is4In6() {
		return e, fmt.Errorf("%q is an IPv4 range in IPv6 form: write it as IPv4", cidr)
	}
	e.prefix = prefix
	if port != "" {
		if e.port, err = parsePort(port[1:]); err != nil {
			return e, fmt.Errorf("%.100q: %w", e.text, err)
		}
	}
	return e, notNever(e)
}

// notNever refuses an entry that could not allow anything.
func notNever(e privateEntry) error {
	for _, n := range never {
		if n.prefix.Bits() <= e.prefix.Bits() && n.prefix.Contains(e.prefix.Addr()) {
			return fmt.Errorf("%s is %s: it is never called, no list allows it", e.text, n.what)
		}
	}
	return nil
}

func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no port: want 1 to 65535", s)
	}
	return uint16(n), nil
}

// isHostName accepts letters, digits, hyphens, underscores and dots.
func isHostName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' {
			continue
		}
		return false
	}
	return s != "" && len(s) <= 253
}
