package webhook

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

const (
	secretA = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	secretB = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
)

// verified gives the id of a request that its signature proves; the sender's rules are those of
// a door, which are checked against published vectors.
func verified(t *testing.T, secret string, h http.Header, body string, now time.Time) string {
	t.Helper()
	id, err := jobs.VerifyDoor(jobs.VerifyStandardWebhooks, secret,
		jobs.DoorRequest{Headers: allHeaders(h), Body: []byte(body)}, now)
	if err != nil {
		t.Errorf("by %.9s: %v", secret, err)
	}
	return id
}

func TestSignatureIsOverTheBytesThatAreSent(t *testing.T) {
	for name, c := range map[string]struct{ payload, body, method, want string }{
		"odd spacing":     {payload: "{ \"a\" :\t1.0 ,\n\"b\":[ ] }", want: "{ \"a\" :\t1.0 ,\n\"b\":[ ] }"},
		"escapes":         {payload: `"\u00e9\ud800\u0000\/"`, want: `"\u00e9\ud800\u0000\/"`},
		"no payload":      {want: "{}"},
		"body of its own": {payload: "1", body: "<a>é</a>", want: "<a>é</a>"},
		"no body":         {payload: "1", method: "GET"},
	} {
		t.Run(name, func(t *testing.T) {
			var operation string
			_, _, body, h := sent(t, func(w *jobs.Webhook, c2 *jobs.Call) {
				w.SigningSecret, w.Method, c2.Payload = jobs.Texts{secretA}, c.method, jobs.Raw(c.payload)
				if c.body != "" {
					c2.Body = []byte(c.body)
				}
				operation = c2.Operation.String()
			})
			if body != c.want {
				t.Errorf("body %q, want %q", body, c.want)
			}
			if id := verified(t, secretA, h, body, time.Now()); id != operation {
				t.Errorf("id %q, want %q", id, operation)
			}
			if _, err := jobs.VerifyDoor(jobs.VerifyStandardWebhooks, secretB, jobs.DoorRequest{
				Headers: allHeaders(h), Body: []byte(body),
			}, time.Now()); err == nil {
				t.Error("another secret verifies it")
			}
		})
	}
}

func TestEachOfTwoSecretsVerifiesWhileOneIsRotated(t *testing.T) {
	_, _, body, h := sent(t, func(w *jobs.Webhook, _ *jobs.Call) {
		w.SigningSecret = jobs.Texts{secretB, secretA}
	})
	verified(t, secretA, h, body, time.Now())
	verified(t, secretB, h, body, time.Now())
	if n := len(strings.Fields(h.Get("webhook-signature"))); n != 2 {
		t.Errorf("%d signatures", n)
	}
}

// The id is the operation's over all attempts; the time is the attempt's.
func TestEachAttemptIsSignedAnew(t *testing.T) {
	r := receive(t, answers(ok("")))
	k := newKind(t, Config{})
	clock := time.Unix(1764460800, 0)
	k.now = func() time.Time { return clock }
	c := kindtest.NewCall(jobs.Spec{Webhook: &jobs.Webhook{URL: r.url, SigningSecret: jobs.Texts{secretA}}})
	for range 2 {
		if rep := k.Run(context.Background(), c); rep.Failure != nil {
			t.Fatal(rep.Failure)
		}
		clock = clock.Add(time.Hour)
	}
	for i, want := range []string{"1764460800", "1764464400"} {
		h := r.heads[i]
		if h.Get("webhook-id") != c.Operation.String() || h.Get("webhook-timestamp") != want {
			t.Errorf("attempt %d: id %q, time %q: want %s and %s", i+1, h.Get("webhook-id"),
				h.Get("webhook-timestamp"), c.Operation, want)
		}
		verified(t, secretA, h, r.bodies[i], time.Unix(1764460800+3600*int64(i), 0))
	}
}

func TestUnsignedWebhookHasNoHeadersOfASignature(t *testing.T) {
	_, _, _, h := sent(t, nil)
	for name := range h {
		if strings.HasPrefix(name, "Webhook-") {
			t.Errorf("%s was sent", name)
		}
	}
}

func TestHeadersOfItsOwnAreSignedAsTheyAreSent(t *testing.T) {
	_, _, body, h := sent(t, func(w *jobs.Webhook, _ *jobs.Call) {
		w.SigningSecret = jobs.Texts{secretA}
		w.Headers = map[string]string{"WEBHOOK-id": " order-7 ", "webhook-timestamp": "1764460800"}
	})
	if id := verified(t, secretA, h, body, time.Unix(1764460800, 0)); id != "order-7" {
		t.Errorf("id %q", id)
	}
	_, _, _, h = sent(t, func(w *jobs.Webhook, _ *jobs.Call) {
		w.SigningSecret = jobs.Texts{secretA}
		w.Headers = map[string]string{"webhook-signature": "mine"}
	})
	wantHeaders(t, h, map[string]string{"Webhook-Signature": "mine"})
}

func TestSecretThatCannotSignIsInvalid(t *testing.T) {
	for _, w := range []jobs.Webhook{
		{SigningSecret: jobs.Texts{""}},
		{SigningSecret: jobs.Texts{secretA, "whsec_hunter2!"}},
		{SigningSecret: jobs.Texts{secretA}, Headers: map[string]string{"Webhook-Id": "hunter2.1"}},
	} {
		w.URL = "http://127.0.0.1:1/"
		rep := call(t, newKind(t, Config{}), jobs.Spec{Webhook: &w})
		wantFailure(t, rep, jobs.FailInvalid)
		if strings.Contains(rep.Failure.Message, "hunter2") {
			t.Errorf("message %q", rep.Failure.Message)
		}
	}
}

func TestSignaturesOutliveNightshiftHeadersLeftOut(t *testing.T) {
	no := false
	_, _, body, h := sent(t, func(w *jobs.Webhook, _ *jobs.Call) {
		w.SigningSecret, w.NightshiftHeaders = jobs.Texts{secretA}, &no
	})
	verified(t, secretA, h, body, time.Now())
}
