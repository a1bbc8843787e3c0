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
	mac := hmac.New(sha256.New, r.cfg.Key)
	mac.Write([]byte("watch:"))
	mac.Write(id[:])
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

// CheckWatchKey compares in constant time.
func (r *Runtime) CheckWatchKey(id jobs.ID, key string) bool {
	return len(r.cfg.Key) > 0 && hmac.Equal([]byte(r.WatchKey(id)), []byte(key))
}
