package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestANewcomerMakesAFirstJobFromTheOverview(t *testing.T) {
	s := newSite(t)
	s.page("/", "Run a first job", "nightshift apply -f jobs.yaml", s.url, "Hello from the night shift")
	status, text := s.post("/first", url.Values{"name": {"no good"}, "source": {"echo typed"}})
	if status != http.StatusUnprocessableEntity {
		t.Errorf("a name that is none: %d", status)
	}
	s.says("the refused form", text, `value="no good"`, "echo typed", "not valid")
	status, text = s.post("/first", url.Values{"name": {"hello"}, "source": {"echo 'Hello from the night shift'"}})
	if status != http.StatusOK {
		t.Fatalf("the first job: %d\n%s", status, text)
	}
	s.says("its run", text, "hello", "is registered")
	if status, text = s.post("/first", url.Values{"name": {"hello"}, "source": {"echo other"}}); status != http.StatusConflict {
		t.Errorf("a name that is taken: %d\n%s", status, text)
	}
	if text := s.page("/"); strings.Contains(text, "Run a first job") {
		t.Error("the overview still asks for a first job")
	}
}

func TestTheOverviewSaysFirstWhatNeedsAPerson(t *testing.T) {
	s := newSite(t)
	quoted := strings.ReplaceAll(hostile, `"`, `\"`)
	s.job("fail", `{"script":{"source":"echo 'ValidationError: `+strings.ReplaceAll(quoted, "'", "")+`' >&2; exit 3"},"retry":{"max_attempts":1}}`)
	s.job("fine", `{"script":{"source":"true"},"schedules":[{"cron":"0 2 * * *","timezone":"Europe/Berlin"}]}`)
	s.run("fail", `{}`)
	s.run("fine", `{}`)
	s.call("POST", "/v1/queues/default/pause", `{"note":"`+strings.TrimSuffix(quoted, "\u202e")+`"}`)
	text := s.page("/", "Needs a person", "1 open failure", "/failures/groups/", "Failures are silent", "The queue default is paused",
		"open failures", "50 %", "Runs and retries in 24 hours", `data-value="1"`, "Next ticks", "/schedules/fine")
	for _, bad := range []string{"<img src=x", "<script>alert"} {
		if strings.Contains(text, bad) {
			t.Errorf("the overview holds %s", bad)
		}
	}
	if strings.Index(text, "Needs a person") > strings.Index(text, "open failures</a>") {
		t.Error("what needs a person does not come first")
	}
	_, after, _ := strings.Cut(s.call("POST", "/v1/tokens", `{"name":"narrow","scopes":["read"],"jobs":["fine"]}`), `"secret":"`)
	secret, _, _ := strings.Cut(after, `"`)
	narrow := s.browser(secret)
	if status, text := s.getAs(narrow, "/"); status != http.StatusOK || strings.Contains(text, "/jobs/fail") || strings.Contains(text, "retry</a>") {
		t.Errorf("a narrowed token sees %d\n%s", status, text)
	}
	if status, text := s.getAs(narrow, "/server"); status != http.StatusOK || strings.Contains(text, "n.db") || strings.Contains(text, "Drain") {
		t.Errorf("of the server a narrowed token sees %d\n%s", status, text)
	}
}

func TestTheOverviewSaysWhatHoldsRuns(t *testing.T) {
	s := newSite(t)
	s.job("sealed", `{"script":{"source":"true","env":{"KEY":"{{ secrets.NOT_SET }}"}}}`)
	s.call("POST", "/v1/jobs/sealed/runs", `{}`)
	s.until("/", "Runs wait for the secret NOT_SET")
	s.job("resting", `{"script":{"source":"true"}}`)
	s.call("POST", "/v1/jobs/resting/pause", `{"note":"until they call back"}`)
	s.page("/", "The job resting is paused: until they call back.")
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.job(name, `{"script":{"source":"true"}}`)
		s.call("POST", "/v1/jobs/"+name+"/pause", `{}`)
	}
	s.page("/", "6 jobs are paused.", `href="/jobs?only=paused"`)
	s.call("PUT", "/v1/secrets/NOT_SET", `{"value":"something secret"}`)
	if text := s.page("/"); strings.Contains(text, "NOT_SET") {
		t.Error("it still waits for a secret that is set")
	}
	// The newest job is not theirs.
	_, after, _ := strings.Cut(s.call("POST", "/v1/tokens", `{"name":"narrow","scopes":["read"],"jobs":["sealed"]}`), `"secret":"`)
	secret, _, _ := strings.Cut(after, `"`)
	if _, text := s.getAs(s.browser(secret), "/"); strings.Contains(text, "Run a first job") {
		t.Error("a narrowed token is told that there is no job")
	}
}

func TestTheOverviewNamesWhatItTellsOf(t *testing.T) {
	s := newSite(t)
	s.job("slow", `{"script":{"source":"sleep 1"},"long_after":"100ms"}`)
	s.job("bad", `{"script":{"source":"exit 3"},"retry":{"max_attempts":1}}`)
	s.job("both", `{"group":{"members":[{"name":"first","job":"slow"},{"name":"second","job":"bad"}],"need":1}}`)
	for range 2 {
		s.run("both", `{}`)
	}
	text := s.page("/", "run long: slow, it has not ended 100ms after its first attempt started", "group partial: both, without second", "(2 times)")
	if n := strings.Count(text, "group partial"); n != 1 {
		t.Errorf("what is told twice stands there %d times", n)
	}
}

func TestWhatTheServerAsAWholeWantsComesBeforeFailures(t *testing.T) {
	s := newSite(t)
	s.job("tell", `{"webhook":{"url":"http://127.0.0.1:9/"},"retry":{"max_attempts":1,"rules":[{"if":"true","then":"fail"}]}}`)
	s.call("PUT", "/v1/alerts/ops", `{"on":["run.failed"],"run":"tell"}`)
	s.job("bad", `{"script":{"source":"exit 3"},"retry":{"max_attempts":1}}`)
	s.run("bad", `{}`)
	text := s.until("/", "could not be delivered")
	if strings.Index(text, "could not be delivered") > strings.Index(text, "/failures/groups/") {
		t.Error("a failure comes first")
	}
}

func TestTheServerIsDrainedAndResumedFromItsPage(t *testing.T) {
	s := newSite(t)
	s.page("/server", "Database", "n.db", "Takes work", "Drain", `href="/tokens"`, `href="/audit"`)
	_, text := s.post("/server/drain", nil)
	s.says("the draining server", text, "It is draining", "Resume")
	s.page("/", "The server is draining")
	_, text = s.post("/server/resume", nil)
	s.says("the resumed server", text, "The server goes on.")
}
