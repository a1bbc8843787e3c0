package jobs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strings"
)

// Headers of a signed webhook (Standard Webhooks 1.0.0,
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
const (
	HeaderWebhookID        = "Webhook-Id"        // the operation: the same for each attempt
	HeaderWebhookTimestamp = "Webhook-Timestamp" // of the attempt, Unix time in seconds
	HeaderWebhookSignature = "Webhook-Signature" // signatures, separated by spaces
)

const (
	signingPrefix    = "whsec_"
	signatureVersion = "v1," // HMAC-SHA256
)

// SigningKey is the key that a signing secret stands for: with the prefix whsec_ the bytes whose
// base64 follows, as Standard Webhooks writes secrets, else the bytes of the text itself.
func SigningKey(secret string) ([]byte, error) {
	encoded, prefixed := strings.CutPrefix(secret, signingPrefix)
	if !prefixed {
		if secret == "" {
			return nil, errors.New("the secret is empty")
		}
		return []byte(secret), nil
	}
	key, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
	switch {
	case err != nil:
		return nil, errors.New("the secret begins with whsec_, but what follows is not base64")
	case len(key) == 0:
		return nil, errors.New("the secret is whsec_ and nothing else")
	}
	return key, nil
}

// SignWebhook is the value of the header webhook-signature: for each key, "v1," and the base64 of
// the HMAC-SHA256 over id.timestamp.body, separated by spaces, so that a receiver may know either
// of two keys while one is rotated (Standard Webhooks 1.0.0, symmetric scheme).
//
// Neither id nor timestamp may hold a full stop: the parts could be told apart in another way.
func SignWebhook(keys [][]byte, id, timestamp string, body []byte) string {
	var b strings.Builder
	for i, key := range keys {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(signatureVersion)
		b.WriteString(base64.StdEncoding.EncodeToString(hmacSHA256(key, []byte(id),
			[]byte("."), []byte(timestamp), []byte("."), body)))
	}
	return b.String()
}

func hmacSHA256(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write(part)
	}
	return mac.Sum(nil)
}
