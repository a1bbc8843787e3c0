package webhook

import (
	"fmt"
	"strings"
)

// framing are headers that say where a message ends or what becomes of the connection.
var framing = map[string]bool{
	"content-length": true, "transfer-encoding": true, "connection": true, "keep-alive": true,
	"upgrade": true, "te": true, "trailer": true, "expect": true, "proxy-connection": true,
	"http2-settings": true,
}

// checkHeaders gives the names in lower case.
func checkHeaders(headers map[string]string) (map[string]bool, error) {
	names := make(map[string]bool, len(headers))
	for name, value := range headers {
		lower := strings.ToLower(name)
		switch {
		case !isToken(name):
			return nil, fmt.Errorf("the header name %.60q has characters no header may have", name)
		case framing[lower]:
			return nil, fmt.Errorf("the header %s cannot be set: it belongs to the connection", name)
		case names[lower]:
			return nil, fmt.Errorf("the header %s is set twice, in different spelling", name)
		case strings.IndexFunc(value, isControl) >= 0:
			return nil, fmt.Errorf("the value of header %s has a line break or control character", name)
		}
		names[lower] = true
	}
	return names, nil
}

// isToken follows RFC 9110, 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0:
		default:
			return false
		}
	}
	return s != ""
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
