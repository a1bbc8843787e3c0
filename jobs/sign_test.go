package jobs

import (
	"encoding/base64"
	"strings"
	"testing"
)

// What the libraries of Standard Webhooks publish as their example.
const (
	standardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	standardID     = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	standardTime   = "1614265330"
	standardBody   = `{"test": 2432232314}`
	standardSum    = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func signingKey(t testing.TB, secret string) []byte {
	t.Helper()
	key, err := SigningKey(secret)
	if err != nil {
		t.Fatalf("%q: %v", secret, err)
	}
	return key
}

func TestSignatureIsThatOfStandardWebhooks(t *testing.T) {
	keys := [][]byte{signingKey(t, standardSecret)}
	if got := SignWebhook(keys, standardID, standardTime, []byte(standardBody)); got != standardSum {
		t.Errorf("got %s, want %s", got, standardSum)
	}
}

func TestEachKeySignsWhileOneIsRotated(t *testing.T) {
	old, fresh := signingKey(t, standardSecret), signingKey(t, "a text of its own")
	both := SignWebhook([][]byte{fresh, old}, standardID, standardTime, []byte(standardBody))
	sums := strings.Split(both, " ")
	if len(sums) != 2 || sums[1] != standardSum || sums[0] == sums[1] {
		t.Errorf("got %q", both)
	}
	if alone := SignWebhook([][]byte{fresh}, standardID, standardTime, []byte(standardBody)); alone != sums[0] {
		t.Errorf("alone %q, with another %q", alone, sums[0])
	}
}

func TestSigningKeyIsDecodedOnlyAfterItsPrefix(t *testing.T) {
	for secret, want := range map[string]string{
		"plain text secret":        "plain text secret",
		"MfKQ9r8GKYqrTwjUPD8ILPZI": "MfKQ9r8GKYqrTwjUPD8ILPZI",
		"whsec_" + base64.StdEncoding.EncodeToString([]byte("1234567890")):    "1234567890",
		"whsec_" + base64.RawStdEncoding.EncodeToString([]byte("1234567890")): "1234567890",
		"WHSEC_MTIz": "WHSEC_MTIz",
	} {
		if got := string(signingKey(t, secret)); got != want {
			t.Errorf("%q: key %q, want %q", secret, got, want)
		}
	}
}

func TestSecretThatIsNoKeyIsRefusedWithoutBeingQuoted(t *testing.T) {
	for secret, want := range map[string]string{
		"":                  "empty",
		"whsec_":            "nothing else",
		"whsec_not base64!": "not base64",
		"whsec_MTIz=MTIz":   "not base64",
	} {
		key, err := SigningKey(secret)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: key %q, error %v: want %q", secret, key, err, want)
		} else if len(secret) > 6 && strings.Contains(err.Error(), secret[6:]) {
			t.Errorf("%q is quoted in %q", secret, err)
		}
	}
}
