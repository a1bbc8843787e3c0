package jobs

import (
	"crypto/hmac"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Ways in which a door verifies who sends (contract 3.3).
const (
	VerifyGitHub           = "github"
	VerifyStripe           = "stripe"
	VerifyStandardWebhooks = "standard-webhooks"
	VerifySecret           = "secret" // the last element of the path
)

// doorTolerance is how far the time that a sender signed may lie from now.
const doorTolerance = 5 * time.Minute

// DoorRequest is what came to a door.
type DoorRequest struct {
	Headers    map[string]string // lower-case names
	Body       []byte            // the bytes as they came
	PathSecret string            // what follows the door's name in the path; "": nothing
}

// Reasons for which a door refuses a request.
const (
	RefusedMissing   = "missing"   // a header, or the secret
	RefusedMalformed = "malformed" // what is signed cannot be read
	RefusedStale     = "stale"     // signed too long ago, or ahead of now: perhaps a replay
	RefusedForged    = "forged"    // the signature is not of this body and secret
	RefusedSecret    = "secret"    // the door's own secret cannot be used: not the sender's fault
)

// RefusedError is why a door refuses a request. The message is fit for the sender: it holds
// nothing of the secret, nor of what would have been right.
type RefusedError struct{ Reason, Message string }

func (e *RefusedError) Error() string { return e.Message }

func refuse(reason, format string, args ...any) error {
	return &RefusedError{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// VerifyDoor checks that who knows the secret sent the request, and gives the sender's id of the
// delivery, by which it is known when it comes again. The error is a *RefusedError.
//
//   - github: X-Hub-Signature-256 is sha256= and the hex of the HMAC-SHA256 over the body
//     (https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries); the id is
//     X-GitHub-Delivery, which is not signed, nor is a time.
//   - stripe: Stripe-Signature is t=TIME,v1=HEX and perhaps more v1, each an HMAC-SHA256 over
//     TIME.body by the secret as it is written, whsec_ included
//     (https://docs.stripe.com/webhooks/signature); the id is the event's, in the body.
//   - standard-webhooks: see SignWebhook; headers webhook-id, -timestamp, -signature, or the same
//     with svix-; the secret as SigningKey reads it; the id is webhook-id.
//   - secret: the last element of the path is the secret; the id is the header Idempotency-Key,
//     "" where there is none.
//
// A time that is signed may lie 5 minutes before or after now.
func VerifyDoor(verify, secret string, rq DoorRequest, now time.Time) (string, error) {
	if secret == "" {
		return "", refuse(RefusedSecret, "this door has no secret: nothing can come in")
	}
	if rq.PathSecret != "" && verify != VerifySecret {
		return "", refuse(RefusedMalformed, "the path: want it to end with the name of the door")
	}
	switch verify {
	case VerifyGitHub:
		return verifyGitHub(secret, rq)
	case VerifyStripe:
		return verifyStripe(secret, rq, now)
	case VerifyStandardWebhooks:
		return verifyStandard(secret, rq, now)
	case VerifySecret:
		return verifySecret(secret, rq)
	}
	return "", refuse(RefusedSecret, "this door cannot verify anything: want github, stripe, "+
		"standard-webhooks or secret")
}

func verifyGitHub(secret string, rq DoorRequest) (string, error) {
	given, err := rq.header("X-Hub-Signature-256")
	if err != nil {
		return "", err
	}
	delivery, err := rq.header("X-GitHub-Delivery")
	if err != nil {
		return "", err
	}
	text, found := strings.CutPrefix(given, "sha256=")
	sum, err := hex.DecodeString(text)
	if !found || err != nil {
		return "", refuse(RefusedMalformed,
			"header X-Hub-Signature-256: want sha256= and 64 hexadecimal digits")
	}
	if !hmac.Equal(sum, hmacSHA256([]byte(secret), rq.Body)) {
		return "", errForged
	}
	return deliveryOf("header X-GitHub-Delivery", delivery)
}

func verifyStripe(secret string, rq DoorRequest, now time.Time) (string, error) {
	given, err := rq.header("Stripe-Signature")
	if err != nil {
		return "", err
	}
	var stamp string
	var sums []string
	for item := range strings.SplitSeq(given, ",") {
		switch name, value, found := strings.Cut(strings.TrimSpace(item), "="); {
		case name == "t":
			stamp = value
		case name == "v1" && found:
			sums = append(sums, value)
		}
	}
	at, ok := parseStamp(stamp)
	if !ok || len(sums) == 0 {
		return "", refuse(RefusedMalformed,
			"header Stripe-Signature: want t= with a Unix time in seconds, and v1= with the signature")
	}
	want := hmacSHA256([]byte(secret), []byte(stamp), []byte("."), rq.Body)
	if !oneEqual(sums, want, hex.DecodeString) {
		return "", errForged
	}
	if err := fresh(at, now); err != nil {
		return "", err
	}
	var event struct {
		ID string `json:"id"`
	}
	if err := DecodeLenient(rq.Body, &event); err != nil || event.ID == "" {
		return "", refuse(RefusedMalformed, "the body: want an event with its id, a text")
	}
	return deliveryOf("id of the body", event.ID)
}

func verifyStandard(secret string, rq DoorRequest, now time.Time) (string, error) {
	key, err := SigningKey(secret)
	if err != nil {
		return "", refuse(RefusedSecret, "the secret of this door cannot be used")
	}
	prefix := "webhook-"
	if rq.Headers["webhook-signature"] == "" && rq.Headers["svix-signature"] != "" {
		prefix = "svix-"
	}
	id, err := rq.header(prefix + "id")
	if err != nil {
		return "", err
	}
	stamp, err := rq.header(prefix + "timestamp")
	if err != nil {
		return "", err
	}
	given, err := rq.header(prefix + "signature")
	if err != nil {
		return "", err
	}
	at, ok := parseStamp(stamp)
	if !ok {
		return "", refuse(RefusedMalformed,
			"header %stimestamp: want a Unix time in whole seconds", prefix)
	}
	var sums []string
	for item := range strings.FieldsSeq(given) {
		if sum, v1 := strings.CutPrefix(item, signatureVersion); v1 {
			sums = append(sums, sum)
		}
	}
	if len(sums) == 0 {
		return "", refuse(RefusedMalformed,
			"header %ssignature: want v1, and the base64 of the signature; several by spaces", prefix)
	}
	want := hmacSHA256(key, []byte(id), []byte("."), []byte(stamp), []byte("."), rq.Body)
	if !oneEqual(sums, want, base64.StdEncoding.Strict().DecodeString) {
		return "", errForged
	}
	if err := fresh(at, now); err != nil {
		return "", err
	}
	if strings.Contains(id, ".") {
		// The same bytes could be split into another id, time and body.
		return "", refuse(RefusedMalformed, "header %sid: want an id without a full stop", prefix)
	}
	return deliveryOf("header "+prefix+"id", id)
}

func verifySecret(secret string, rq DoorRequest) (string, error) {
	if rq.PathSecret == "" {
		return "", refuse(RefusedMissing, "the secret is missing: it is the last part of the path")
	}
	// Sums have one length, so that the time it takes tells nothing of the secret's.
	key := []byte("door")
	if !hmac.Equal(hmacSHA256(key, []byte(rq.PathSecret)), hmacSHA256(key, []byte(secret))) {
		return "", refuse(RefusedForged, "the secret in the path is not that of this door")
	}
	id := rq.Headers["idempotency-key"]
	if id == "" {
		return "", nil
	}
	return deliveryOf("header Idempotency-Key", id)
}

var errForged = refuse(RefusedForged,
	"the signature is not that of this body by the secret of this door")

// header gives a header that must be there.
func (rq DoorRequest) header(name string) (string, error) {
	value := strings.TrimSpace(rq.Headers[strings.ToLower(name)])
	if value == "" {
		return "", refuse(RefusedMissing, "header %s is missing", name)
	}
	return value, nil
}

// parseStamp reads a Unix time as senders write it: digits alone.
func parseStamp(text string) (time.Time, bool) {
	seconds, err := strconv.ParseUint(text, 10, 40)
	return time.Unix(int64(seconds), 0), err == nil
}

// fresh wants a time that lies within the tolerance of now.
func fresh(at, now time.Time) error {
	switch age := now.Sub(at); {
	case age > doorTolerance:
		return refuse(RefusedStale, "signed %s ago: at most 5m are accepted",
			Duration(age.Truncate(time.Second)))
	case age < -doorTolerance:
		return refuse(RefusedStale, "signed %s ahead of this server's clock: at most 5m are accepted",
			Duration((-age).Truncate(time.Second)))
	}
	return nil
}

// oneEqual reports whether one of the sums, decoded, is the wanted one.
func oneEqual(sums []string, want []byte, decode func(string) ([]byte, error)) bool {
	for _, sum := range sums {
		if given, err := decode(sum); err == nil && hmac.Equal(given, want) {
			return true
		}
	}
	return false
}

// deliveryOf accepts what an idempotency key may be.
func deliveryOf(where, id string) (string, error) {
	if err := CheckIdempotencyKey(id); err != nil {
		return "", refuse(RefusedMalformed, "%s: %v", where, err)
	}
	return id, nil
}
