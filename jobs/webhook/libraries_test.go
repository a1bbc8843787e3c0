package webhook

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightshift/jobs"
	"nightshift/jobs/kindtest"
)

// The public libraries for Node by which receivers verify signatures.
const libraries = `{"private": true, "dependencies": {"standardwebhooks": "1.1.1", "svix": "1.99.1"}}`

// libraryReceiver starts testdata/receiver.cjs with the libraries beside it and gives its address.
// Where they cannot be had the test is skipped.
func libraryReceiver(t *testing.T, secrets ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: npm is not asked for the public libraries")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: signatures are not verified by the public libraries", program)
		}
	}
	dir := t.TempDir()
	script, err := os.ReadFile(filepath.Join("testdata", "receiver.cjs"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"package.json": []byte(libraries), "receiver.cjs": script} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund",
		"--no-update-notifier", "--loglevel=error", "--fetch-retries=1", "--fetch-retry-mintimeout=1000")
	install.Dir, install.WaitDelay = dir, time.Second
	if said, err := install.CombinedOutput(); err != nil {
		t.Skipf("npm cannot install standardwebhooks and svix (%v): signatures are not verified by the "+
			"public libraries\n%s", err, said)
	}
	return startNode(t, dir, "SECRETS="+strings.Join(secrets, ","))
}

// startNode runs the receiver until the test ends.
func startNode(t *testing.T, dir, env string) string {
	t.Helper()
	node := exec.Command("node", "receiver.cjs")
	node.Dir, node.Env, node.Stderr = dir, append(os.Environ(), env), os.Stderr
	said, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = node.Process.Kill()
		_ = node.Wait()
	})
	port, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return "http://127.0.0.1:" + strings.TrimSpace(port)
}

// verdicts are what the receiver found, by library and then by secret.
type verdicts map[string][]struct{ AsSent, Changed string }

func TestPublicLibrariesAgreeOnSignatures(t *testing.T) {
	url := libraryReceiver(t, secretA, secretB, "a text of its own")
	t.Run("ours are good", func(t *testing.T) { librariesVerify(t, url) })
	t.Run("a stale one is refused", func(t *testing.T) { librariesRefuseStale(t, url) })
	t.Run("theirs open a door", func(t *testing.T) { librariesSign(t, url) })
}

// judgedByLibraries runs an attempt against the receiver.
func judgedByLibraries(t *testing.T, call *jobs.Call, at time.Time) verdicts {
	t.Helper()
	k := newKind(t, Config{})
	k.now = func() time.Time { return at }
	rep := k.Run(t.Context(), call)
	var found verdicts
	if rep.Failure != nil || json.Unmarshal(rep.Result, &found) != nil || len(found) != 2 {
		t.Fatalf("failure %v, result %s", rep.Failure, rep.Result)
	}
	return found
}

func librariesVerify(t *testing.T, url string) {
	a := jobs.Texts{secretA}
	for name, c := range map[string]struct {
		payload, body string
		secrets       jobs.Texts
		good          [3]bool // by which of the receiver's secrets
	}{
		"plain":       {payload: `{"a":1}`, secrets: a, good: [3]bool{true}},
		"odd spacing": {payload: "{ \"a\" :\t1.0 ,\r\n \"b\":[ ]}\n", secrets: a, good: [3]bool{true}},
		"escapes": {
			payload: `["\u00e9","\ud800","\u0000","\/","é\u2028"]`, secrets: a, good: [3]bool{true},
		},
		"rotating": {
			payload: `1e2`, secrets: jobs.Texts{secretB, secretA}, good: [3]bool{true, true},
		},
		"text secret": {
			payload: `{}`, secrets: jobs.Texts{"a text of its own"}, good: [3]bool{2: true},
		},
		"not JSON": {payload: `{}`, body: "<a>é</a>", secrets: a, good: [3]bool{true}},
	} {
		w := &jobs.Webhook{URL: url, SigningSecret: c.secrets}
		call := kindtest.NewCall(jobs.Spec{Webhook: w})
		call.Payload = jobs.Raw(c.payload)
		if c.body != "" {
			call.Body = []byte(c.body)
		}
		// Two attempts of one operation, four minutes apart: beyond five they would be stale.
		for attempt, off := range []time.Duration{-2 * time.Minute, 2 * time.Minute} {
			for library, by := range judgedByLibraries(t, call, time.Now().Add(off)) {
				for i, good := range c.good {
					if (by[i].AsSent == "good") != good || by[i].Changed == "good" {
						t.Errorf("%s: attempt %d: %s by secret %d: %+v, want good: %t",
							name, attempt+1, library, i+1, by[i], good)
					}
				}
			}
		}
	}
}

func librariesRefuseStale(t *testing.T, url string) {
	w := &jobs.Webhook{URL: url, SigningSecret: jobs.Texts{secretA}}
	call := kindtest.NewCall(jobs.Spec{Webhook: w})
	for library, by := range judgedByLibraries(t, call, time.Now().Add(-6*time.Minute)) {
		if by[0].AsSent == "good" {
			t.Errorf("%s takes it", library)
		}
	}
}

func librariesSign(t *testing.T, url string) {
	const body = "{ \"n\" : 1.0, \"s\": \"\\u00e9é\" }"
	answer, err := http.Post(url+"/sign", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var signed map[string]map[string]string
	if err := json.NewDecoder(answer.Body).Decode(&signed); err != nil || len(signed) != 2 {
		t.Fatalf("signed %v, error %v", signed, err)
	}
	for library, headers := range signed {
		id, err := jobs.VerifyDoor(jobs.VerifyStandardWebhooks, secretA,
			jobs.DoorRequest{Headers: headers, Body: []byte(body)}, time.Now())
		if err != nil || id != "msg_1" {
			t.Errorf("%s: id %q, error %v", library, id, err)
		}
	}
}
