package cli_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// parcel is what a sender brings to a door.
type parcel struct {
	path    string
	headers map[string]string
	body    string
}

// reply is what the door said.
type reply struct {
	status     int
	retryAfter string
	text       string
	aRun
}

// deliver brings a parcel, without a token.
func (p *process) deliver(l parcel) (r reply) {
	p.t.Helper()
	r, err := p.tryDeliver(l)
	if err != nil {
		p.t.Fatalf("POST %s: %v\n%s", l.path, err, p.log)
	}
	return r
}

func (p *process) tryDeliver(l parcel) (r reply, err error) {
	req, err := http.NewRequest("POST", p.url+"/in/"+l.path, strings.NewReader(l.body))
	if err != nil {
		return r, err
	}
	for name, value := range l.headers {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return r, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	r.status, r.retryAfter, r.text = res.StatusCode, res.Header.Get("Retry-After"), string(text)
	if res.StatusCode == 202 {
		err = json.Unmarshal(text, &r.aRun)
	}
	return r, err
}

// taken brings a parcel and wants a run made of it, or made before.
func (p *process) taken(l parcel, duplicate bool) (id string) {
	p.t.Helper()
	r := p.deliver(l)
	if r.status != 202 || r.Duplicate != duplicate || r.ID == "" {
		p.t.Errorf("%s: %d %s, want 202, duplicate %v", l.path, r.status, r.text, duplicate)
	}
	return r.ID
}

func (p *process) turnedAway(l parcel, status int, texts ...string) reply {
	p.t.Helper()
	r := p.deliver(l)
	if r.status != status {
		p.t.Errorf("%s %v: %d %s, want %d", l.path, l.headers, r.status, r.text, status)
	}
	for _, text := range texts {
		if !strings.Contains(r.text, text) {
			p.t.Errorf("%s: %s, want %q in it", l.path, r.text, text)
		}
	}
	return r
}

func mac(key []byte, parts ...string) []byte {
	sum := hmac.New(sha256.New, key)
	for _, part := range parts {
		_, _ = io.WriteString(sum, part)
	}
	return sum.Sum(nil)
}

const (
	githubSecret = "It's a Secret to Everybody"
	stripeSecret = "whsec_stripe_endpoint_secret"
	svixSecret   = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	pathSecret   = "path-cAnary/0815 +%ü"
)

func fromGitHub(job, id, event, body string) parcel {
	return parcel{job + "/github", map[string]string{
		"X-GitHub-Delivery": id, "X-GitHub-Event": event, "Content-Type": "application/json",
		"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac([]byte(githubSecret), body)),
	}, body}
}

func fromStripe(job, body string, at time.Time) parcel {
	stamp := strconv.FormatInt(at.Unix(), 10)
	return parcel{job + "/stripe", map[string]string{
		"Stripe-Signature": "t=" + stamp + ",v1=" + hex.EncodeToString(mac([]byte(stripeSecret), stamp, ".", body)),
	}, body}
}

func fromStandard(job, id, body string, at time.Time) parcel {
	stamp := strconv.FormatInt(at.Unix(), 10)
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(svixSecret, "whsec_"))
	return parcel{job + "/standard", map[string]string{
		"webhook-id": id, "webhook-timestamp": stamp,
		"webhook-signature": "v1," + base64.StdEncoding.EncodeToString(mac(key, id, ".", stamp, ".", body)),
	}, body}
}

func bySecret(job, id, body string) parcel {
	l := parcel{job + "/secret/" + "path-cAnary%2F0815%20+%25%C3%BC", map[string]string{}, body}
	if id != "" {
		l.headers["Idempotency-Key"] = id
	}
	return l
}

// doors are one of each sender.
func doors(p *process, job string, more doc) {
	p.t.Helper()
	for name, value := range map[string]string{
		"GH": githubSecret, "STRIPE": stripeSecret, "SVIX": svixSecret, "PATH_SECRET": pathSecret,
	} {
		if status := p.call("PUT", "/v1/secrets/"+name, doc{"value": value}, nil); status/100 != 2 {
			p.t.Fatalf("secret %s: %d", name, status)
		}
	}
	document := doc{"script": doc{"source": "cat", "interpreter": []string{"sh"}}, "inbound": []doc{
		{"name": "github", "verify": "github", "secret": "{{ secrets.GH }}"},
		{"name": "stripe", "verify": "stripe", "secret": "{{ secrets.STRIPE }}"},
		{"name": "standard", "verify": "standard-webhooks", "secret": "{{ secrets.SVIX }}"},
		{"name": "secret", "verify": "secret", "secret": "{{ secrets.PATH_SECRET }}"},
	}}
	for name, value := range more {
		document[name] = value
	}
	p.put(job, document)
}

const oddEvent = "{ \"id\" : \"evt_\u00e9\" , \"n\": 1.10, \"z\":9007199254740993 }\n"

func TestEachSenderIsLetInByItsSignatureOnce(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--log-level", "debug")
	doors(p, "hook", nil)
	now := time.Now()
	stripe := `{"id":"evt_1", "n": 1.10}`
	for _, l := range []parcel{
		fromGitHub("hook", "72d3162e-cc78-11e3-81ab-4c9367dc0958", "push", oddEvent), fromStripe("hook", stripe, now),
		fromStandard("hook", "msg_1", oddEvent, now), bySecret("hook", "order 7", oddEvent),
	} {
		id := p.taken(l, false)
		p.end(id)
		run := p.link(id)
		if run.Trigger != "inbound" || run.State != "succeeded" || string(run.Payload) != strings.TrimSpace(l.body) {
			t.Errorf("%s: %s %s, payload %q", l.path, run.Trigger, run.State, run.Payload)
		}
		if again := p.taken(l, true); again != id {
			t.Errorf("%s: again it is run %s, before %s", l.path, again, id)
		}
	}
	// The sender's id counts, not the body: signed anew, as a sender does when it tries again.
	p.taken(fromStripe("hook", stripe, now.Add(time.Minute)), true)
	p.taken(fromStandard("hook", "msg_1", `{"other":1}`, now.Add(-time.Minute)), true)
	p.taken(fromGitHub("hook", "another", "push", oddEvent), false)
	p.taken(bySecret("hook", "", oddEvent), false)
	p.taken(bySecret("hook", "", oddEvent), false)
	svix := fromStandard("hook", "msg_2", oddEvent, now)
	for _, part := range []string{"id", "timestamp", "signature"} {
		svix.headers["svix-"+part] = svix.headers["webhook-"+part]
		delete(svix.headers, "webhook-"+part)
	}
	p.taken(svix, false)
	if n := len(p.runsOf("trigger=inbound")); n != 8 {
		t.Errorf("%d runs came in, want 8", n)
	}
	// Spelled so that it leads nowhere it is kept out of the log all the same.
	for _, path := range []string{
		"/in/hook/secret/path-cAnary/0815", "//in/hook/secret/path-cAnary", "/IN/hook/secret/path-cAnary",
		"/in//hook/secret//path-cAnary/", "/v1/x/in/hook/secret/path-cAnary", "/in/hook/secret/path-cAnary/../x",
	} {
		if status, text, err := p.try("POST", path, "{}"); err != nil || status/100 != 4 {
			t.Errorf("%s: %d %s %v", path, status, text, err)
		}
	}
	p.stop(syscall.SIGTERM)
	for _, form := range []string{pathSecret, "cAnary", "path-"} {
		if strings.Contains(p.log.String()+p.out.String(), form) {
			t.Errorf("the log holds %q:\n%s", form, p.log)
		}
	}
	if text := sqlite(t, p.dir+"/nightshift.db", ".dump"); strings.Contains(text, "cAnary") {
		t.Error("the file holds the secret of the path")
	}
}

// One id is one run: at once, after a kill, after the run is gone; another door knows it not.
func TestADeliveryMakesOneRunHoweverOftenItComes(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	doors(p, "hook", nil)
	doors(p, "other", nil)
	for i, l := range []parcel{
		fromGitHub("hook", "d1", "push", `{}`), fromStripe("hook", `{"id":"d1"}`, time.Now()),
		fromStandard("hook", "d1", `{}`, time.Now()), bySecret("hook", "d1", `{}`), fromGitHub("other", "d1", "push", `{}`),
	} {
		replies := make([]reply, 20)
		var all sync.WaitGroup
		for n := range replies {
			all.Go(func() { replies[n], _ = p.tryDeliver(l) })
		}
		all.Wait()
		made := 0
		for _, r := range replies {
			if r.status != 202 || r.ID != replies[0].ID {
				t.Errorf("%s: %d %s", l.path, r.status, r.text)
			}
			if !r.Duplicate {
				made++
			}
		}
		if n := len(p.runsOf("trigger=inbound")); made != 1 || n != i+1 {
			t.Errorf("%s: %d answers say that the run is new, %d runs, want 1 and %d", l.path, made, n, i+1)
		}
	}
	l := fromGitHub("hook", "d1", "push", `{}`)
	id := p.taken(l, true)
	p.end(id)
	p = p.kill9()
	if again := p.taken(l, true); again != id {
		t.Errorf("after a kill it is run %s, before %s", again, id)
	}
	if status := p.call("DELETE", "/v1/runs/"+id, nil, nil); status/100 != 2 {
		t.Fatalf("delete the run: %d", status)
	}
	if r := p.deliver(l); r.status != 202 || !r.Duplicate || r.ID != id {
		t.Errorf("after its run is gone: %d %s", r.status, r.text)
	}
	// Made again, the job goes on with its keys.
	if status := p.call("DELETE", "/v1/jobs/hook", nil, nil); status/100 != 2 {
		t.Fatalf("delete the job: %d", status)
	}
	p.turnedAway(l, 401)
	doors(p, "hook", nil)
	if r := p.deliver(l); r.status != 202 || !r.Duplicate || r.ID != id {
		t.Errorf("made again: %d %s", r.status, r.text)
	}
}

func TestWhatNobodySignedIsTurnedAway(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	doors(p, "hook", nil)
	now := time.Now()
	for _, at := range []time.Time{now.Add(-6 * time.Minute), now.Add(6 * time.Minute), now.Add(-24 * time.Hour), time.Unix(0, 0)} {
		p.turnedAway(fromStripe("hook", `{"id":"evt_1"}`, at), 401, "at most 5m are accepted")
		p.turnedAway(fromStandard("hook", "msg_1", `{}`, at), 401, "at most 5m are accepted")
	}
	for _, l := range []parcel{
		fromGitHub("hook", "d1", "push", `{"a":1}`), fromStripe("hook", `{"id":"evt_1"}`, now), fromStandard("hook", "m", `{"a":1}`, now),
	} {
		forged := l
		forged.body = strings.Replace(l.body, "1", "2", 1)
		p.turnedAway(forged, 401, "signature")
		forged.body = l.body + " "
		p.turnedAway(forged, 401, "signature")
		for name := range l.headers {
			if name == "Content-Type" || name == "X-GitHub-Event" {
				continue
			}
			for _, value := range []string{"", "x", "sha256=", "t=1,v1=", "v1,", strings.Repeat("9", 4000)} {
				without := parcel{l.path, map[string]string{}, l.body}
				for n, v := range l.headers {
					without.headers[n] = v
				}
				without.headers[name] = value
				if name == "X-GitHub-Delivery" && value != "" && len(value) < 256 {
					continue // GitHub does not sign it
				}
				p.turnedAway(without, 401)
			}
		}
		elsewhere := l
		elsewhere.path = "hook/github"
		if l.path != elsewhere.path {
			p.turnedAway(elsewhere, 401)
		}
		elsewhere.path = l.path + "/secret"
		p.turnedAway(elsewhere, 401)
	}
	for _, path := range []string{
		"hook/secret", "hook/secret/", "hook/secret/x", "hook/secret/path-cAnary%2F0815%20+%25", "hook/secret/path-cAnary/0815%20+%25%C3%BC",
	} {
		if r := p.deliver(parcel{path, nil, `{}`}); r.status != 401 && r.status != 404 {
			t.Errorf("%s: %d %s", path, r.status, r.text)
		}
	}
	var known string
	for _, path := range []string{"no-such/github", "hook/no-such", "HOOK/github", "hook/github%00", "_group/x", "hook/../hook/x"} {
		l := fromGitHub("hook", "d1", "push", `{}`)
		l.path = path
		r := p.turnedAway(l, 401)
		known = r.text
	}
	if strings.Contains(known, "no-such") || strings.Contains(known, "no such") {
		t.Errorf("a stranger is told which jobs there are: %s", known)
	}
	if list := p.runsOf("job=hook"); len(list) > 0 {
		t.Errorf("made: %+v", list)
	}
	wantLog(p, "a delivery was refused", "header X-Hub-Signature-256 is missing", "the signature is not that of this body",
		"and the base64", "signed ", "the secret in the path is not", "there is no such door")
	if strings.Contains(p.log.String(), "cAnary") || strings.Contains(p.log.String(), githubSecret) {
		t.Error("the log holds a secret")
	}
}

func TestWhatIsNoPayloadIsRefusedThoughSigned(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	doors(p, "hook", nil)
	big := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	const most = 256 << 10
	id := p.taken(fromGitHub("hook", "big", "push", big(most)), false)
	if got := p.link(id).Payload; len(got) != most {
		t.Errorf("%d bytes are the payload", len(got))
	}
	p.turnedAway(fromGitHub("hook", "bigger", "push", big(most+1)), 413)
	p.turnedAway(fromGitHub("hook", "huge", "push", big(4<<20)), 413)
	p.turnedAway(parcel{"no-such/github", nil, big(most + 1)}, 413)
	for body, status := range map[string]int{
		`{`: 400, `{} x`: 400, `nonsense`: 400, "a=1&b=2": 400, "\"\xff\"": 400, "\xef\xbb\xbf{}": 400, " ": 400,
		`{"a":1,"a":2}`: 422, strings.Repeat("[", 65) + strings.Repeat("]", 65): 422,
	} {
		r := p.turnedAway(fromGitHub("hook", "d "+strconv.Itoa(len(body)), "push", body), status)
		if strings.Contains(body, `"a"`) && !strings.Contains(r.text, `body.a`) {
			t.Errorf("%s: %s", body, r.text)
		}
	}
	for _, body := range []string{"", "null", "7", `"text"`, "[]", " {} \n"} {
		id := p.taken(fromGitHub("hook", "good "+body[:min(1, len(body))]+strconv.Itoa(len(body)), "push", body), false)
		want := strings.TrimSpace(body)
		if body == "" {
			want = "{}"
		}
		if got := string(p.link(id).Payload); got != want {
			t.Errorf("%q is the payload of %q", got, body)
		}
	}
	id = p.taken(bySecret("hook", "", ""), false)
	if got := string(p.link(id).Payload); got != "{}" {
		t.Errorf("%q is the payload of nothing", got)
	}
	p.turnedAway(fromStripe("hook", "", time.Now()), 401)
	wantLog(p, "want an event with its id")
}

func TestADoorsConditionSaysWhatMakesARun(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	with := func(cond, key string) doc {
		door := doc{"name": "github", "verify": "github", "secret": "{{ secrets.GH }}"}
		if cond != "" {
			door["if"] = cond
		}
		if key != "" {
			door["key"] = key
		}
		return doc{"inbound": []doc{door}}
	}
	doors(p, "pushes", with(`headers["x-github-event"] == "push" && payload.ref == "refs/heads/main"`, ""))
	p.taken(fromGitHub("pushes", "1", "push", `{"ref":"refs/heads/main"}`), false)
	p.turnedAway(fromGitHub("pushes", "2", "push", `{"ref":"refs/heads/dev"}`), 204)
	p.turnedAway(fromGitHub("pushes", "3", "ping", `{"ref":"refs/heads/main"}`), 204)
	p.turnedAway(fromGitHub("pushes", "4", "push", `7`), 204)
	// What the door said no to is not remembered.
	p.taken(fromGitHub("pushes", "2", "push", `{"ref":"refs/heads/main"}`), false)
	doors(p, "failing", with(`int(payload.n) > 1`, ""))
	id := p.taken(fromGitHub("failing", "1", "push", `{"n":"many"}`), false)
	wantLog(p, "a door's if failed and counts as true", "inbound[0].if", id)
	p.turnedAway(fromGitHub("failing", "2", "push", `{"n":"1"}`), 204)
	p.taken(fromGitHub("failing", "3", "push", `{"n":"2"}`), false)
	if n := len(p.runsOf("trigger=inbound")); n != 4 {
		t.Errorf("%d runs, want 4", n)
	}
	for cond, want := range map[string]string{
		"secrets.GH == 'x'": "secrets", "result > 1": "result", "run.id == ''": "run", "1 +": "inbound[0].if", "7": "true or false",
	} {
		p.refusedSave("bad", doc{"script": quiet, "inbound": with(cond, "")["inbound"]}, 422, "inbound[0].if", want)
	}
}

func TestADoorsKeySaysWhichDeliveriesAreOne(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	doors(p, "keyed", doc{"inbound": []doc{{
		"name": "github", "verify": "github", "secret": "{{ secrets.GH }}", "key": `payload.key`,
	}, {
		"name": "strict", "verify": "secret", "secret": "written-out", "key": `string(int(payload.n))`,
	}}})
	send := func(id, key string) parcel { return fromGitHub("keyed", id, "push", `{"key":`+key+`}`) }
	text := p.taken(send("1", `"order 7"`), false)
	if again := p.taken(send("2", `"order 7"`), true); again != text {
		t.Errorf("run %s, then %s", text, again)
	}
	p.taken(send("1", `"order 8"`), false) // the sender's id does not count
	p.taken(send("3", `7`), false)
	p.taken(send("4", `7`), true)
	p.taken(send("5", `"7"`), true)
	p.taken(send("6", `7.0`), false)
	p.taken(send("7", `true`), false)
	// Without a key nothing is held against another.
	for _, none := range []string{`null`, `""`, `{"a":1}`, `[1]`, `"a\nb"`, `"` + strings.Repeat("x", 256) + `"`} {
		first, second := p.taken(send("8", none), false), p.taken(send("8", none), false)
		if first == second {
			t.Errorf("%s: one run for both", none)
		}
	}
	wantLog(p, "a door's key failed", "inbound[0].key")
	strict := func(body string) parcel { return parcel{"keyed/strict/written-out", nil, body} }
	p.taken(strict(`{"n":"7"}`), false)
	p.taken(strict(`{"n":7}`), true)
	p.taken(strict(`{"n":"many"}`), false)
	p.refusedSave("bad", doc{"script": quiet, "inbound": []doc{{"name": "a", "verify": "secret", "secret": "x", "key": "payload."}}}, 422, "inbound[0].key")
}

func TestADoorIsShutWhileItsSecretIsMissing(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("hook", doc{"script": quiet, "inbound": []doc{
		{"name": "github", "verify": "github", "secret": "{{ secrets.GH }}"},
		{"name": "standard", "verify": "standard-webhooks", "secret": "{{ secrets.SVIX }}"},
		{"name": "secret", "verify": "secret", "secret": "written-{{ secrets.PATH_SECRET }}"},
	}})
	l := fromGitHub("hook", "1", "push", `{}`)
	for _, shut := range []parcel{l, fromStandard("hook", "1", `{}`, time.Now()), {"hook/secret/x", nil, "{}"}, {"hook/github", nil, ""}} {
		if r := p.turnedAway(shut, 503); r.retryAfter == "" || strings.Contains(r.text, "GH") {
			t.Errorf("%s: Retry-After %q, %s", shut.path, r.retryAfter, r.text)
		}
	}
	wantLog(p, "a door is shut", "there is no secret GH")
	p.set("GH", githubSecret).want(0)
	p.taken(l, false)
	p.set("SVIX", "whsec_not base64!").want(0)
	if r := p.turnedAway(fromStandard("hook", "1", `{}`, time.Now()), 503); r.retryAfter == "" || strings.Contains(r.text, "base64!") {
		t.Errorf("Retry-After %q, %s", r.retryAfter, r.text)
	}
	p.set("SVIX", svixSecret).want(0)
	p.taken(fromStandard("hook", "1", `{}`, time.Now()), false)
	// Rotated: the old one opens nothing from now on.
	p.set("GH", "another secret").want(0)
	p.turnedAway(fromGitHub("hook", "2", "push", `{}`), 401)
	p.cli("secrets", "delete", "GH").want(0)
	p.turnedAway(l, 503)
}

func TestADoorOfAPausedOrChangedJobTakesWhatComes(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	doors(p, "hook", nil)
	p.call("POST", "/v1/jobs/hook/pause", doc{"note": "later"}, nil)
	l := fromGitHub("hook", "1", "push", `{"n":1}`)
	id := p.taken(l, false)
	held := p.awaitRun(id, "it is held", func(r *aRun) bool { return r.HeldBy != nil })
	if held.State != "queued" || held.HeldBy.Kind != "paused" {
		t.Errorf("%s %+v", held.State, held.HeldBy)
	}
	doors(p, "hook", doc{"script": doc{"source": "cat; echo changed", "interpreter": []string{"sh"}}})
	p.taken(l, true)
	newer := p.taken(fromGitHub("hook", "2", "push", `{"n":2}`), false)
	p.call("POST", "/v1/jobs/hook/resume", nil, nil)
	p.end(id)
	p.end(newer)
	if old, log := p.link(id), p.logOf(newer); old.Version != 1 || p.logOf(id) != `{"n":1}` || !strings.Contains(log, "changed") {
		t.Errorf("version %d: %q, then %q", old.Version, p.logOf(id), log)
	}
	doors(p, "hook", doc{"inbound": []doc{}})
	p.turnedAway(l, 401)
}

// A token opens no door and shuts none; other methods and origins get nothing.
func TestADoorAsksForNothingButItsSignature(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	doors(p, "hook", nil)
	l := fromGitHub("hook", "1", "push", `{}`)
	l.headers["Authorization"] = "Bearer wrong"
	p.taken(l, false)
	l.headers["Traceparent"] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	l.headers["X-GitHub-Delivery"] = "2"
	id := p.taken(l, false)
	if status, text, _ := p.try("GET", "/v1/runs/"+id, nil); status != 200 || !bytes.Contains(text, []byte("4bf92f3577b34da6a3ce929d0e0e4736")) {
		t.Errorf("%d %s", status, text)
	}
	p.refused("POST", "/in/hook/github", `{}`, 401)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		status, text, err := p.try(method, "/in/hook/github", nil)
		if err != nil || status != 405 {
			t.Errorf("%s: %d %s %v", method, status, text, err)
		}
	}
	// What came in is told of in the list, by its trigger, and as a table.
	p.cli("runs", "--trigger", "inbound").want(0).has("hook")
	p.cli("runs", "show", id).want(0).has("inbound")
}
