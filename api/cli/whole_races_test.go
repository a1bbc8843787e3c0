package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
)

func TestOneOfManyEndsOfAWaitingRunCounts(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, takesOn)
	p.put("calls", callsBack(s.URL, doc{"retry": doc{"max_attempts": 1}}))
	for range 6 {
		id := p.enqueue("calls", nil)
		v := p.waiting(s, id)
		var mu sync.Mutex
		answers := map[string]map[int]int{"complete": {}, "fail": {}, "cancel": {}}
		var calls sync.WaitGroup
		for i := range 18 {
			calls.Go(func() {
				name := []string{"complete", "fail", "cancel"}[i%3]
				status := 0
				if name == "cancel" {
					status = p.call("POST", "/v1/runs/"+id+"/cancel", nil, nil)
				} else {
					status, _ = v.say("POST", name, "")
				}
				mu.Lock()
				defer mu.Unlock()
				answers[name][status]++
			})
		}
		calls.Wait()
		run := p.run(id)
		taken := map[string]string{"succeeded": "complete", "failed": "fail", "cancelled": "cancel"}[run.State]
		for name, got := range answers {
			want := 409
			if name == taken {
				want = 200
			}
			if got[want] != 6 {
				t.Errorf("the run is %s, and %s was answered %v", run.State, name, got)
			}
		}
		if len(run.Attempts) != 1 {
			t.Errorf("%s: %s", run.State, run.outcomes())
		}
	}
}

func TestCancelAndStopInASliceActWhenItIsDone(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	asked := map[string]chan struct{}{"/cancelled": make(chan struct{}), "/stopped": make(chan struct{})}
	s := newSink(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Nightshift-Checkpoint") {
		case "":
			again(w, "1")
		case "1":
			<-asked[r.URL.Path]
			again(w, "22")
		default:
			_, _ = io.WriteString(w, `"done"`)
		}
	})
	ids := map[string]string{}
	for path := range asked {
		p.put(path[1:], doc{"webhook": doc{"url": s.URL + path}})
		ids[path] = p.enqueue(path[1:], nil)
	}
	p.until("both are in their second slice", func() bool { return len(s.deliveries()) == 4 })
	p.cancelled(ids["/cancelled"], 202, "running")
	close(asked["/cancelled"])
	if run := p.end(ids["/cancelled"]); run.State != "cancelled" {
		t.Errorf("its slice made it %s", run.State)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.until("it takes no more calls", func() bool { return p.cli("jobs").code == 1 })
	close(asked["/stopped"])
	if code := p.exit(); code != 0 {
		t.Errorf("exit code %d\n%s", code, p.log)
	}
	p = start(t, p.dir)
	run := p.end(ids["/stopped"])
	if run.State != "succeeded" || run.outcomes() != "succeeded" || run.Attempts[0].Slices != 3 || s.toldOf(run) != " 1 22" {
		t.Errorf("%s: %s, %d slices, told %q", run.State, run.outcomes(), run.Attempts[0].Slices, s.toldOf(run))
	}
	if n := len(s.deliveries()); n != 5 {
		t.Errorf("%d requests, want 5", n)
	}
}

func TestSlicesTakeTheirRateAnew(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	s := newSink(t, func(n int, w http.ResponseWriter, _ *http.Request) { again(w, fmt.Sprint(n)) })
	p.put("long", doc{"webhook": doc{"url": s.URL}, "rate": doc{"limit": 3, "per": "1h"}})
	id := p.enqueue("long", nil)
	run := p.awaitRun(id, "the rate holds it", func(r *aRun) bool { return r.State == "running" && r.HeldBy != nil && r.HeldBy.Kind == "rate" })
	if len(s.deliveries()) != 3 || run.HeldBy.Until == "" {
		t.Errorf("%d requests, held by %+v", len(s.deliveries()), run.HeldBy)
	}
	p.cancelled(id, 200, "cancelled")
}

func TestNewCheckpointBetweenDeathsIsNoCrashLoop(t *testing.T) { // P7
	t.Parallel()
	p := start(t, t.TempDir())
	p.put("job", script(`n=$(($(nightshift checkpoint get) + 1))
[ $n -lt 8 ] || exit 0
nightshift checkpoint set $n; touch "`+p.dir+`/saved-$n"; sleep 600`, nil))
	id := p.enqueue("job", nil)
	for n := 1; n < 8; n++ {
		p.waitFor(fmt.Sprint("saved-", n))
		p = p.kill9()
	}
	if run := p.end(id); run.State != "succeeded" || strings.Count(run.outcomes(), "interrupted:lost") != 7 {
		t.Errorf("%s: %s", run.State, run.outcomes())
	}
}

func TestURLIsForReceiversAndScriptsCallLocally(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--url", "https://jobs.example.com/")
	s := newSink(t, func(int, http.ResponseWriter, *http.Request) {})
	p.put("hook", doc{"webhook": doc{"url": s.URL}})
	p.put("script", doc{"script": doc{
		"source": keepsVoice + "nightshift checkpoint set 1; exit 1", "env": doc{"VOICES": p.dir},
	}})
	run := p.end(p.enqueue("hook", nil))
	if got := s.deliveries()[0].header.Get("Nightshift-Callback"); got != "https://jobs.example.com/v1/callback/"+run.ID {
		t.Errorf("a receiver is to call %s", got)
	}
	run = p.end(p.enqueue("script", nil))
	words := strings.Fields(p.waitFor(run.ID + "-1"))
	if len(words) != 2 || words[0] != p.url+"/v1/callback/"+run.ID || p.checkpoint(run.ID) != "1" {
		t.Fatalf("a script is to call %q, saved %q", words, p.checkpoint(run.ID))
	}
	(&voice{t, words[0], run.ID, words[1]}).refusedAll("its attempt is over", 409, "over")
}

func TestScriptOfAnotherUserSpeaksByEachWay(t *testing.T) {
	t.Parallel()
	if syscall.Geteuid() != 0 {
		t.Skip("only root runs scripts as others")
	}
	p := start(t, t.TempDir(), "--script-user", "daemon")
	p.put("other", script(`id -un; `+readsFile+`
case $NIGHTSHIFT_ATTEMPT in
1) nightshift checkpoint set 1 && exit 75;;
2) [ "$(nightshift checkpoint get)" = 1 ] && echo '::nightshift {"checkpoint": 2, "result": 3}' && exit 75;;
3) nightshift progress 1/2 && nightshift result 4;;
esac`, nil))
	run := p.end(p.enqueue("other", nil))
	if text := withoutLines(p.logOf(run.ID)); run.State != "succeeded" || string(run.Result) != "4" || run.Progress == nil ||
		text != "daemon\nfrom \ndaemon\nfrom 1\ndaemon\nfrom 2\n" {
		t.Errorf("%s with %s: %s", run.State, run.Result, text)
	}
}
