package cli_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// wantResult compares the result of a run that has succeeded.
func (p *process) wantResult(id, want string) {
	p.t.Helper()
	run := p.end(id)
	if run.State != "succeeded" || squeezed(string(run.Result)) != want {
		p.t.Errorf("%s: %s, result %s, want %s; %+v\n%s", id, run.State, run.Result, want, run.Error, p.logOf(id))
	}
}

func squeezed(text string) string { return strings.ReplaceAll(text, " ", "") }

// receiver is the receiver of an example. Its port stays its own over a restart.
type receiver struct {
	t    *testing.T
	cmd  *exec.Cmd
	env  []string
	args []string
	host string
	out  *lockedBuffer
}

// receiverOf starts a receiver of the examples on any free port; arguments come after the port.
func receiverOf(t *testing.T, env []string, script string, args ...string) *receiver {
	t.Helper()
	needs(t, "python3")
	r := &receiver{t: t, env: env, host: "127.0.0.1:0", args: append([]string{example(t, script)}, args...)}
	r.start()
	t.Cleanup(r.kill)
	return r
}

func (r *receiver) start() {
	r.t.Helper()
	_, port, _ := strings.Cut(r.host, ":")
	r.cmd = exec.Command("python3", append([]string{"-B", r.args[0], port}, r.args[1:]...)...)
	r.cmd.Env = environment(append(r.env, "PYTHONPATH="+example(r.t, "clients"))...)
	r.out = &lockedBuffer{}
	said, err := r.cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	line, err := lines.ReadString('\n')
	if err != nil {
		r.t.Fatalf("the receiver does not start: %v", err)
	}
	r.host = strings.TrimSpace(strings.TrimPrefix(line, "receiving on http://"))
	go func(out *lockedBuffer) { _, _ = lines.WriteTo(out) }(r.out)
}

func (r *receiver) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

func TestSlicesExampleIndexesInOneAttempt(t *testing.T) {
	t.Parallel()
	r := receiverOf(t, nil, "slices/receiver.py", "0.1")
	p := start(t, t.TempDir(), "--apply", calling(t, "slices/jobs.yaml", "127.0.0.1:8903", r.host))
	id := p.enqueue("index-articles", doc{"payload": doc{"articles": 60}})
	p.wantResult(id, `{"articles":60,"words":15000}`)
	run := p.run(id)
	if len(run.Attempts) != 1 || run.Attempts[0].Slices < 3 {
		t.Errorf("attempts: %+v", run.Attempts)
	}
	if got := run.Progress; got == nil || got.Total != 60 || got.Done == 0 || got.Note == "" {
		t.Errorf("progress: %+v", got)
	}
}

func TestSlicesExampleIsTheSameInPHP(t *testing.T) {
	t.Parallel()
	needs(t, "php")
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := free.Addr().String()
	_ = free.Close()
	php := exec.Command("php", "-S", host, example(t, "slices/receiver.php"))
	php.Env = environment("SLICE=0.1")
	if err := php.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = php.Process.Kill()
		_ = php.Wait()
	})
	p := start(t, t.TempDir(), "--apply", calling(t, "slices/jobs.yaml", "127.0.0.1:8903", host))
	p.until("PHP listens", func() bool {
		c, err := net.Dial("tcp", host)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	id := p.enqueue("index-articles", doc{"payload": doc{"articles": 60}})
	p.wantResult(id, `{"articles":60,"words":15000}`)
	if run := p.run(id); len(run.Attempts) != 1 || run.Attempts[0].Slices < 3 {
		t.Errorf("attempts: %+v", run.Attempts)
	}
}

func TestSlicesExampleGoesOnWhereItsReceiverDied(t *testing.T) {
	t.Parallel()
	r := receiverOf(t, nil, "slices/receiver.py", "0.1")
	p := start(t, t.TempDir(), "--apply", calling(t, "slices/jobs.yaml", "127.0.0.1:8903", r.host))
	p.unguarded("http://" + r.host)
	id := p.enqueue("index-articles", doc{"payload": doc{"articles": 100}})
	p.awaitRun(id, "a part is done", func(r *aRun) bool { return r.Progress != nil })
	r.kill()
	r.start()
	p.wantResult(id, `{"articles":100,"words":25000}`)
	for _, a := range p.run(id).Attempts {
		if a.Error != nil && a.Error.Kind != "connection" {
			t.Errorf("attempt %d: %+v", a.Number, a.Error)
		}
	}
}

// books starts a server with the job of examples/callback, and its receiver.
func books(t *testing.T, heartbeatTimeout string) (*process, *receiver) {
	t.Helper()
	p := start(t, t.TempDir())
	r := receiverOf(t, []string{"NIGHTSHIFT_SERVER=" + p.url}, "callback/receiver.py")
	file := calling(t, "callback/jobs.yaml", "127.0.0.1:8904", r.host)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set := "heartbeat_timeout: " + heartbeatTimeout
	changed := strings.Replace(string(text), "heartbeat_timeout: 10s", set, 1)
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil || !strings.Contains(changed, set) {
		t.Fatalf("the heartbeat_timeout of render-book: %v", err)
	}
	p.cli("apply", "-f", file).want(0)
	p.unguarded("http://" + r.host)
	return p, r
}

func (p *process) book(pages int) (id string) {
	p.t.Helper()
	return p.enqueue("render-book", doc{"payload": doc{"pages": pages}})
}

// awaitPages waits until some pages of a book are saved.
func (p *process) awaitPages(id string) {
	p.t.Helper()
	p.awaitRun(id, "pages are saved", func(r *aRun) bool { return r.Progress != nil && r.Progress.Done >= 3 })
}

func TestCallbackExampleSaysWhatCameOfIt(t *testing.T) {
	t.Parallel()
	p, r := books(t, "10s")
	id, bad := p.book(10), p.book(0)
	p.awaitPages(id)
	if run := p.run(id); run.State != "waiting" && run.State != "succeeded" {
		t.Errorf("while pages are rendered: %s", run.State)
	}
	p.wantResult(id, `{"pages":10,"this_time":10}`)
	if log := p.logOf(id); log != "from page 1 on\n" {
		t.Errorf("log: %q", log)
	}
	if run := p.end(bad); run.State != "failed" || run.Error.Kind != "reported" || run.Error.Type != "ValueError" ||
		run.Error.Message != "a book has at least one page" {
		t.Errorf("of no pages: %s %+v", run.State, run.Error)
	}
	long := p.book(1000)
	p.awaitPages(long)
	p.cli("cancel", long).want(0)
	p.until("the receiver stops", func() bool { return strings.Contains(r.out.String(), "stopped: ") })
	if run := p.run(long); run.State != "cancelled" {
		t.Errorf("after cancel: %s", run.State)
	}
}

func TestCallbackExampleGoesOnWhereItsReceiverDied(t *testing.T) {
	t.Parallel()
	p, r := books(t, "1s") // it is missed sooner than where somebody tries it by hand
	id := p.book(20)
	p.awaitPages(id)
	r.kill()
	r.start()
	run := p.end(id)
	if !strings.HasPrefix(run.outcomes(), "failed:heartbeat ") || run.State != "succeeded" ||
		strings.Contains(string(run.Result), `"this_time": 20`) {
		t.Errorf("%s, result %s\n%s", run.outcomes(), run.Result, p.logOf(id))
	}
}

func TestCallbackExampleOutlivesTheServer(t *testing.T) {
	t.Parallel()
	p, _ := books(t, "10s")
	id := p.book(30)
	p.awaitPages(id)
	p.kill()
	q := start(t, p.dir, "--listen", strings.TrimPrefix(p.url, "http://"))
	q.wantResult(id, `{"pages":30,"this_time":30}`)
	if run := q.run(id); run.outcomes() != "succeeded" {
		t.Errorf("attempts: %s", run.outcomes())
	}
}

// What a client's file says on top is tried: the calls that the examples do not make, against the server.
func TestClientsOfBashAndNodeSpeakToTheServer(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--script-workers", "2")
	for language, script := range map[string]doc{
		"bash": {"source": `
			. "$CLIENTS/nightshift.sh"
			first=$(nightshift_load 40)
			nightshift_heart 20
			nightshift_log "it's \"quoted\", first $first"
			nightshift_heartbeat
			if [ "$first" = 40 ]; then
			  nightshift_save 41
			  nightshift_fail $'no "such"\tuser' ValidationError
			else
			  nightshift_progress 41 50 'half a "note"'
			  nightshift_complete '{"first": '"$first"'}'
			fi`},
		"node": {"interpreter": []string{"node"}, "source": `
			(async () => {
			  const { Attempt } = await import(process.env.CLIENTS + "/nightshift.mjs");
			  const attempt = Attempt.fromEnvironment();
			  const first = await attempt.load(40);
			  const stop = attempt.heart(20);
			  await attempt.log("it's \"quoted\", first " + first);
			  await attempt.heartbeat();
			  if (first === 40) {
			    await attempt.save(41);
			    await attempt.fail(Object.assign(new Error('no "such"\tuser'), { name: "ValidationError" }));
			  } else {
			    await attempt.progress(41, 50, 'half a "note"');
			    await attempt.complete({ first });
			  }
			  stop();
			})();`},
	} {
		t.Run(language, func(t *testing.T) {
			needs(t, map[string]string{"bash": "curl", "node": "node"}[language])
			script["env"] = doc{"CLIENTS": example(t, "clients")}
			q := *p
			q.t = t
			q.put("says-"+language, doc{"script": script})
			id := q.enqueue("says-"+language, nil)
			run := q.end(id)
			if run.State != "failed" || run.Error.Kind != "reported" || run.Error.Type != "ValidationError" ||
				!strings.HasPrefix(run.Error.Message, `no "such"`) {
				t.Errorf("%s %+v\n%s", run.State, run.Error, q.logOf(id))
			}
			var again aRun
			q.call("POST", "/v1/runs/"+id+"/requeue", nil, &again)
			q.wantResult(again.ID, `{"first":41}`)
			if got := q.run(again.ID).Progress; got == nil || got.Done != 41 || got.Total != 50 || got.Note != `half a "note"` {
				t.Errorf("progress: %+v", got)
			}
			if log := q.logOf(again.ID); log != "it's \"quoted\", first 41\n" {
				t.Errorf("log: %q", log)
			}
		})
	}
}
