package jobs

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"
)

// gitHubVector is the example in GitHub's documentation of how deliveries are validated.
func gitHubVector() (secret string, rq DoorRequest) {
	return "It's a Secret to Everybody", DoorRequest{
		Body: []byte("Hello, World!"),
		Headers: map[string]string{
			"x-hub-signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
			"x-github-delivery":   "72d3162e-cc78-11e3-81ab-4c9367dc0958",
		},
	}
}

// octokitVector is what GitHub's library @octokit/webhooks-methods 6.0.0 signs.
func octokitVector() (secret string, rq DoorRequest) {
	return "mysecret", DoorRequest{
		Body: []byte(`{"foo":"bar"}`),
		Headers: map[string]string{
			"x-hub-signature-256": "sha256=4864d2759938a15468b5df9ade20bf161da9b4f737ea61794142f3484236bda3",
			"x-github-delivery":   "1",
		},
	}
}

// stripeVector is what Stripe's library stripe 23.1.0 signs (generateTestHeaderString).
func stripeVector() (secret string, rq DoorRequest, at time.Time) {
	return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", DoorRequest{
		Body: []byte("{ \"id\" : \"evt_\u00e9\" , \"n\": 1.0 }\n"),
		Headers: map[string]string{"stripe-signature": "t=1614265330," +
			"v1=f408781796d2dec643c193c303051e4d63b7c957018440e2dafd493330b5c7d5"},
	}, time.Unix(1614265330, 0)
}

// stripeEvent has an id as Stripe gives them; signed by the same library.
func stripeEvent() (secret string, rq DoorRequest, at time.Time) {
	return "whsec_test_secret", DoorRequest{
		Body: []byte(`{"id":"evt_1","object":"event"}`),
		Headers: map[string]string{"stripe-signature": "t=1700000000," +
			"v1=0c8670ed117751cc551a20e35839447075c42800ea3cf3e8a2fbda99cd1e6edd"},
	}, time.Unix(1700000000, 0)
}

func standardVector() (secret string, rq DoorRequest, at time.Time) {
	return standardSecret, DoorRequest{
		Body: []byte(standardBody),
		Headers: map[string]string{
			"webhook-id": standardID, "webhook-timestamp": standardTime,
			"webhook-signature": standardSum,
		},
	}, time.Unix(1614265330, 0)
}

// with is the request with a header changed, "" being taken away.
func (rq DoorRequest) with(name, value string) DoorRequest {
	headers := map[string]string{name: value}
	for n, v := range rq.Headers {
		if n != name {
			headers[n] = v
		}
	}
	rq.Headers = headers
	return rq
}

func (rq DoorRequest) withBody(body string) DoorRequest {
	rq.Body = []byte(body)
	return rq
}

func wantDelivery(t *testing.T, verify, secret string, rq DoorRequest, now time.Time, want string) {
	t.Helper()
	if got, err := VerifyDoor(verify, secret, rq, now); err != nil || got != want {
		t.Errorf("%s: delivery %q, error %v: want %q", verify, got, err, want)
	}
}

func wantRefused(t *testing.T, verify, secret string, rq DoorRequest, now time.Time, reason, part string) {
	t.Helper()
	got, err := VerifyDoor(verify, secret, rq, now)
	var refused *RefusedError
	switch {
	case !errors.As(err, &refused) || got != "":
		t.Errorf("%s: delivery %q, error %v: want it refused as %s", verify, got, err, reason)
	case refused.Reason != reason || !strings.Contains(refused.Message, part):
		t.Errorf("%s: %s: %s: want %s and %q", verify, refused.Reason, refused.Message, reason, part)
	case len(secret) > 7 && strings.Contains(refused.Message, secret):
		t.Errorf("%s: the secret is in %q", verify, refused.Message)
	}
}

func TestDoorOpensToWhatSendersSign(t *testing.T) {
	any := time.Unix(0, 0)
	secret, rq := gitHubVector()
	wantDelivery(t, VerifyGitHub, secret, rq, any, "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	secret, rq = octokitVector()
	wantDelivery(t, VerifyGitHub, secret, rq, any, "1")
	secret, rq, at := stripeEvent()
	wantDelivery(t, VerifyStripe, secret, rq, at, "evt_1")
	secret, rq, at = standardVector()
	wantDelivery(t, VerifyStandardWebhooks, secret, rq, at, standardID)
	svix := DoorRequest{Body: rq.Body, Headers: map[string]string{
		"svix-id": standardID, "svix-timestamp": standardTime, "svix-signature": standardSum,
	}}
	wantDelivery(t, VerifyStandardWebhooks, secret, svix, at, standardID)
	wantDelivery(t, VerifySecret, "in the path", DoorRequest{PathSecret: "in the path"}, any, "")
	keyed := DoorRequest{PathSecret: "s", Headers: map[string]string{"idempotency-key": "order 7"}}
	wantDelivery(t, VerifySecret, "s", keyed, any, "order 7")
}

// Stripe signs bytes; that this one's id is no id we take is found after its signature was good.
func TestStripeSignsBytesNotValues(t *testing.T) {
	secret, rq, at := stripeVector()
	wantRefused(t, VerifyStripe, secret, rq, at, RefusedMalformed, "id of the body")
	reencoded := rq.withBody(`{"id":"evt_é","n":1.0}`)
	wantRefused(t, VerifyStripe, secret, reencoded, at, RefusedForged, "signature")
}

func TestDoorStaysShutToChangedBodies(t *testing.T) {
	secret, rq := gitHubVector()
	wantRefused(t, VerifyGitHub, secret, rq.withBody("Hello, World"), time.Time{}, RefusedForged, "")
	wantRefused(t, VerifyGitHub, secret+"!", rq, time.Time{}, RefusedForged, "")
	secret, rq, at := stripeEvent()
	wantRefused(t, VerifyStripe, secret, rq.withBody(`{"id":"evt_2","object":"event"}`), at, RefusedForged, "")
	// Stripe's secrets are texts, whatever they begin with.
	wantRefused(t, VerifyStripe, strings.TrimPrefix(secret, "whsec_"), rq, at, RefusedForged, "")
	secret, rq, at = standardVector()
	wantRefused(t, VerifyStandardWebhooks, secret, rq.withBody(standardBody+" "), at, RefusedForged, "")
	wantRefused(t, VerifyStandardWebhooks, secret, rq.with("webhook-id", "msg_2"), at, RefusedForged, "")
	wantRefused(t, VerifyStandardWebhooks, secret, rq.with("webhook-timestamp", "1614265331"), at, RefusedForged, "")
	elsewhere := DoorRequest{Headers: rq.Headers, Body: rq.Body, PathSecret: secret}
	wantRefused(t, VerifyStandardWebhooks, secret, elsewhere, at, RefusedMalformed, "the path")
	wantRefused(t, VerifySecret, "secret-7", DoorRequest{PathSecret: "secret-8"}, at, RefusedForged, "path")
	wantRefused(t, VerifySecret, "secret-7", DoorRequest{PathSecret: "secret-"}, at, RefusedForged, "path")
}

func TestOneGoodSignatureAmongSeveralIsEnough(t *testing.T) {
	secret, rq, at := stripeEvent()
	good := rq.Headers["stripe-signature"]
	for _, value := range []string{
		good + ",v1=bad_signature", "v1=" + strings.Repeat("0", 64) + "," + good,
		strings.ReplaceAll(good, ",", " , ") + ",v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39",
	} {
		wantDelivery(t, VerifyStripe, secret, rq.with("stripe-signature", value), at, "evt_1")
	}
	v0 := rq.with("stripe-signature", strings.Replace(good, "v1=", "v0=", 1))
	wantRefused(t, VerifyStripe, secret, v0, at, RefusedMalformed, "v1=")

	secret, rq, at = standardVector()
	other := "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc="
	for _, value := range []string{
		other + " v2," + standardSum[3:] + " " + standardSum + " " + other, "v1, " + standardSum,
		"v1a,AAAA  " + standardSum + " ",
	} {
		wantDelivery(t, VerifyStandardWebhooks, secret, rq.with("webhook-signature", value), at, standardID)
	}
	v2 := rq.with("webhook-signature", "v2,"+standardSum[3:])
	wantRefused(t, VerifyStandardWebhooks, secret, v2, at, RefusedMalformed, "v1,")
}

func TestSignedTimesFarFromNowAreStale(t *testing.T) {
	for verify, vector := range map[string]func() (string, DoorRequest, time.Time){
		VerifyStripe: stripeEvent, VerifyStandardWebhooks: standardVector,
	} {
		secret, rq, at := vector()
		for _, off := range []time.Duration{-5 * time.Minute, 0, 5 * time.Minute} {
			if _, err := VerifyDoor(verify, secret, rq, at.Add(off)); err != nil {
				t.Errorf("%s: %s later: %v", verify, off, err)
			}
		}
		wantRefused(t, verify, secret, rq, at.Add(301*time.Second), RefusedStale, "signed 5m1s ago")
		wantRefused(t, verify, secret, rq, at.Add(-301*time.Second), RefusedStale, "5m1s ahead")
		wantRefused(t, verify, secret, rq, at.AddDate(9, 0, 0), RefusedStale, "ago")
	}
}

func TestMissingHeadersAreNamed(t *testing.T) {
	secret, rq := gitHubVector()
	for _, name := range []string{"X-Hub-Signature-256", "X-GitHub-Delivery"} {
		without := rq.with(strings.ToLower(name), "")
		wantRefused(t, VerifyGitHub, secret, without, time.Time{}, RefusedMissing, "header "+name+" is missing")
	}
	secret, rq, at := stripeEvent()
	wantRefused(t, VerifyStripe, secret, rq.with("stripe-signature", " "), at, RefusedMissing, "Stripe-Signature")
	secret, rq, at = standardVector()
	for name := range rq.Headers {
		wantRefused(t, VerifyStandardWebhooks, secret, rq.with(name, ""), at, RefusedMissing, name)
	}
	// The two families of headers are not mixed.
	mixed := rq.with("webhook-id", "").with("svix-id", standardID)
	wantRefused(t, VerifyStandardWebhooks, secret, mixed, at, RefusedMissing, "webhook-id")
	wantRefused(t, VerifySecret, "secret", DoorRequest{}, at, RefusedMissing, "secret is missing")
}

func TestSignaturesThatCannotBeReadAreMalformed(t *testing.T) {
	secret, rq := gitHubVector()
	for _, value := range []string{
		"757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "sha256=xyz",
		"sha1=757107ea", "=", "sha256", "SHA256=757107ea",
	} {
		wantRefused(t, VerifyGitHub, secret, rq.with("x-hub-signature-256", value), time.Time{}, RefusedMalformed, "sha256=")
	}
	for _, value := range []string{"sha256=", "sha256=75", "sha256=" + strings.Repeat("0", 66)} {
		wantRefused(t, VerifyGitHub, secret, rq.with("x-hub-signature-256", value), time.Time{}, RefusedForged, "")
	}
	long := rq.with("x-github-delivery", strings.Repeat("x", MaxIdempotencyKey+1))
	wantRefused(t, VerifyGitHub, secret, long, time.Time{}, RefusedMalformed, "X-GitHub-Delivery")

	secret, rq, at := stripeEvent()
	sum := strings.Repeat("0", 64)
	for _, value := range []string{
		"v1,t=1", "t=", "t=,v1=" + sum, "t=x,v1=" + sum, "t=-1,v1=" + sum, "t=1.5,v1=" + sum,
		"t=99999999999999999999,v1=" + sum, "v1=" + sum, "t=1700000000", "nonsense",
	} {
		wantRefused(t, VerifyStripe, secret, rq.with("stripe-signature", value), at, RefusedMalformed, "t=")
	}
	secret, rq, at = standardVector()
	for _, value := range []string{"hello", "-1", "+1614265330", "1614265330.0", "0x1", "1e9"} {
		wantRefused(t, VerifyStandardWebhooks, secret, rq.with("webhook-timestamp", value), at, RefusedMalformed, "timestamp")
	}
	for _, value := range []string{"v1", ",", standardSum[3:]} {
		wantRefused(t, VerifyStandardWebhooks, secret, rq.with("webhook-signature", value), at, RefusedMalformed, "v1,")
	}
	for _, value := range []string{"v1,", standardSum[:11], standardSum[:len(standardSum)-1], "v1,!"} {
		wantRefused(t, VerifyStandardWebhooks, secret, rq.with("webhook-signature", value), at, RefusedForged, "")
	}
}

// What is signed is id.time.body: an id with a full stop could be a cut at another place.
func TestSignedTextIsNotCutAtAnotherPlace(t *testing.T) {
	key, at := signingKey(t, standardSecret), time.Unix(1614265330, 0)
	sum := SignWebhook([][]byte{key}, "msg", "1600000000", []byte("1614265330.5"))
	moved := DoorRequest{Body: []byte("5"), Headers: map[string]string{
		"webhook-id": "msg.1600000000", "webhook-timestamp": "1614265330", "webhook-signature": sum,
	}}
	wantRefused(t, VerifyStandardWebhooks, standardSecret, moved, at, RefusedMalformed, "full stop")
}

func TestEventWithoutAnIDIsRefused(t *testing.T) {
	at := time.Unix(1700000000, 0)
	for _, body := range []string{
		`{}`, `{"id":null}`, `{"id":7}`, `{"id":""}`, `[]`, `"evt_1"`, ``, `{"id":"evt_1"`, "\xff",
		`{"id":"evt_1","id":"evt_2"}`, `{"id":"a\nb"}`,
	} {
		sum := hex.EncodeToString(hmacSHA256([]byte("secret"), []byte("1700000000."+body)))
		rq := DoorRequest{Body: []byte(body), Headers: map[string]string{"stripe-signature": "t=1700000000,v1=" + sum}}
		wantRefused(t, VerifyStripe, "secret", rq, at, RefusedMalformed, "body")
	}
}

// A key of no bytes is one that everybody knows.
func TestDoorWithoutASecretStaysShut(t *testing.T) {
	sum := hex.EncodeToString(hmacSHA256(nil, []byte("{}")))
	rq := DoorRequest{Body: []byte("{}"), Headers: map[string]string{
		"x-hub-signature-256": "sha256=" + sum, "x-github-delivery": "1",
	}}
	for _, verify := range []string{VerifyGitHub, VerifyStripe, VerifyStandardWebhooks, VerifySecret, "", "none"} {
		wantRefused(t, verify, "", rq, time.Time{}, RefusedSecret, "no secret")
	}
	wantRefused(t, "none", "secret", rq, time.Time{}, RefusedSecret, "cannot verify")
	_, standard, at := standardVector()
	for _, secret := range []string{"whsec_", "whsec_!"} {
		wantRefused(t, VerifyStandardWebhooks, secret, standard, at, RefusedSecret, "cannot be used")
	}
}

// FuzzSignature: no header, body or secret makes a door panic; what is let in bears the sum of
// its body by the door's secret; what the secret signs is let in.
func FuzzSignature(f *testing.F) {
	add := func(verify, secret string, rq DoorRequest) {
		h := rq.Headers
		f.Add(verify, secret, h["x-hub-signature-256"]+h["stripe-signature"]+h["webhook-signature"],
			h["x-github-delivery"]+h["webhook-id"], h["webhook-timestamp"], rq.Body)
	}
	secret, rq := gitHubVector()
	add(VerifyGitHub, secret, rq)
	secret, rq, _ = stripeEvent()
	add(VerifyStripe, secret, rq)
	secret, rq, at := standardVector()
	add(VerifyStandardWebhooks, secret, rq)
	add(VerifySecret, "a", DoorRequest{})
	f.Add(VerifyStripe, "s", "t=1,,v1==,v1", "", "", []byte(`{"id":"\u0000"}`))
	f.Fuzz(func(t *testing.T, verify, secret, sum, id, stamp string, body []byte) {
		rq := DoorRequest{Body: body, Headers: map[string]string{
			"x-hub-signature-256": sum, "stripe-signature": sum, "webhook-signature": sum,
			"x-github-delivery": id, "webhook-id": id, "webhook-timestamp": stamp,
		}}
		if verify == VerifySecret {
			rq.PathSecret = sum
		}
		delivery, err := VerifyDoor(verify, secret, rq, at)
		if err == nil {
			checkLetIn(t, verify, secret, delivery, rq)
		} else if refused := (*RefusedError)(nil); !errors.As(err, &refused) || delivery != "" {
			t.Fatalf("delivery %q, error %v", delivery, err)
		}
		key, err := SigningKey(secret)
		if err != nil || strings.Contains(id, ".") || id != strings.TrimSpace(id) || CheckIdempotencyKey(id) != nil {
			return
		}
		signed := rq.with("webhook-timestamp", standardTime).with("webhook-signature",
			SignWebhook([][]byte{[]byte("another"), key}, id, standardTime, body))
		signed.PathSecret = ""
		if got, err := VerifyDoor(VerifyStandardWebhooks, secret, signed, at); err != nil || got != id {
			t.Fatalf("what was signed is refused: %v", err)
		}
	})
}

// checkLetIn wants the right sum in the header, found another way.
func checkLetIn(t *testing.T, verify, secret, delivery string, rq DoorRequest) {
	t.Helper()
	sum := rq.Headers["webhook-signature"]
	in := func(text string) bool { return strings.Contains(strings.ToLower(sum), text) }
	ok := false
	switch verify {
	case VerifyGitHub:
		ok = in(hex.EncodeToString(hmacSHA256([]byte(secret), rq.Body)))
	case VerifyStripe:
		for item := range strings.SplitSeq(sum, ",") {
			stamp, found := strings.CutPrefix(strings.TrimSpace(item), "t=")
			ok = ok || found && in(hex.EncodeToString(hmacSHA256([]byte(secret), []byte(stamp+"."), rq.Body)))
		}
	case VerifyStandardWebhooks:
		signed := delivery + "." + strings.TrimSpace(rq.Headers["webhook-timestamp"]) + "."
		key, _ := SigningKey(secret)
		ok = strings.Contains(sum, base64.StdEncoding.EncodeToString(hmacSHA256(key, []byte(signed), rq.Body)))
	case VerifySecret:
		ok = sum == secret
	}
	if !ok || len(secret) == 0 {
		t.Fatalf("%s let in %q of %q by %q", verify, rq.Body, sum, secret)
	}
}
