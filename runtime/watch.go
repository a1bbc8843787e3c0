package runtime

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"

	"nightshift/jobs"
)

// WatchKey is the key of a run's watch link: an HMAC-SHA256 over its id, the first 18 bytes in
// URL-safe base64. The id alone opens nothing.
func (r *Runtime) WatchKey(id jobs.ID) string {
	return watchKey(r.secrets.signing((*key).forWatch)[0], id)
}

func watchKey(key []byte, id jobs.ID) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("watch:"))
	mac.Write(id[:])
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

// CheckWatchKey compares in constant time. Links of the key before the last rotation still open.
func (r *Runtime) CheckWatchKey(id jobs.ID, given string) bool {
	ok := false
	for _, key := range r.secrets.signing((*key).forWatch) {
		ok = hmac.Equal([]byte(watchKey(key, id)), []byte(given)) || ok
	}
	return ok
}
