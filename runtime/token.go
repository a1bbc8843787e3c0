package runtime

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"io"
	"math"
	"strings"

	"nightshift/jobs"
	"nightshift/store"
)

// TokenPrefix begins the tokens of attempts.
const TokenPrefix = "nsa_"

// The token of an attempt is that prefix and, in URL-safe base64, the attempt's number and the first
// bytes of an HMAC-SHA256 over its run and number: which attempt it is of can be read, and nothing is
// kept.
const (
	tokenNumber  = 4 // bytes, big endian
	tokenMAC     = 18
	tokenSubject = "attempt:"
)

// CallbackToken is the token of one attempt: good for the calls of callbacks of this attempt alone.
func (r *Runtime) CallbackToken(f store.Fence) string {
	return attemptToken(r.secrets.signing((*key).forAttempt)[0], f)
}

func attemptToken(key []byte, f store.Fence) string {
	number := binary.BigEndian.AppendUint32(nil, uint32(f.Number))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(tokenSubject))
	mac.Write(f.Run[:])
	mac.Write(number)
	return TokenPrefix + base64.RawURLEncoding.EncodeToString(append(number, mac.Sum(nil)[:tokenMAC]...))
}

// OpenCallback tells of which attempt of a run a token is. ok is false for a forged one. Tokens of the
// key before the last rotation still open.
func (r *Runtime) OpenCallback(run jobs.ID, token string) (f store.Fence, ok bool) {
	text, found := strings.CutPrefix(token, TokenPrefix)
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if !found || err != nil || len(raw) != tokenNumber+tokenMAC {
		return f, false
	}
	number := binary.BigEndian.Uint32(raw)
	if number == 0 || number > math.MaxInt32 {
		return f, false
	}
	f = store.Fence{Run: run, Number: int(number)}
	for _, key := range r.secrets.signing((*key).forAttempt) {
		ok = hmac.Equal([]byte(attemptToken(key, f)), []byte(token)) || ok
	}
	return f, ok
}

// A veil hides an attempt's token in what it prints, such as a shell does that shows each command with its
// arguments: who may read the output of a run may not speak for it. w never fails.
type veil struct {
	w     io.Writer
	token []byte
	held  []byte // what may be the beginning of it
}

// Write takes in all of p.
func (v *veil) Write(p []byte) (int, error) {
	text := p
	if len(v.held) > 0 {
		v.held = append(v.held, p...)
		text = v.held
	}
	for {
		at := bytes.Index(text, v.token)
		if at < 0 {
			break
		}
		_, _ = v.w.Write(text[:at])
		_, _ = io.WriteString(v.w, "***")
		text = text[at+len(v.token):]
	}
	whole := len(text) - begins(v.token, text)
	_, _ = v.w.Write(text[:whole])
	v.held = append(v.held[:0], text[whole:]...)
	return len(p), nil
}

// begins is how many bytes at the end of a text may begin a token; fewer than the prefix have it wait for
// nothing.
func begins(token, text []byte) int {
	for n := min(len(text), len(token)-1); n >= len(TokenPrefix); n-- {
		if bytes.HasPrefix(token, text[len(text)-n:]) {
			return n
		}
	}
	return 0
}

// flush writes what was held back: no more comes that would make it the token.
func (v *veil) flush() {
	_, _ = v.w.Write(v.held)
	v.held = v.held[:0]
}
