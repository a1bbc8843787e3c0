package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nightshift/scripts/internal/rig"
)

// counted is a script that prints a line, and more of them as time goes on.
const counted = `cat "$NIGHTSHIFT_PAYLOAD"; echo
for n in 1 2 3 4 5 6; do echo "line $n"; nightshift progress $n/6 "line $n"; sleep 0.3; done
nightshift result '{"lines": 6}'`

func TestAJobIsRunFromItsPageAndItsLogComesAsItRuns(t *testing.T) {
	l := need(t)
	job := named(t, "job")
	l.job(t, job, script(counted))
	b := l.signedIn(t)
	b.expect("status of 422") // the payload that is none
	b.visit("/jobs")
	b.press(job)
	b.at("/jobs/" + job)
	b.fill("#run textarea[name=payload]", `{"order": 17,}`)
	b.press("#run button.main")
	b.until("what is wrong with it", "document.querySelector('[role=alert]')?.innerText")
	if kept := ask[string](b, "document.querySelector('#run textarea[name=payload]').value"); kept != `{"order": 17,}` {
		t.Errorf("what was typed is lost: %q", kept)
	}
	b.fill("#run textarea[name=payload]", `{"order": 17}`)
	b.press("#run button.main")
	b.at("/runs/")
	b.sees("running")
	b.sees("line 2")
	if ask[bool](b, "document.body.innerText.includes('line 6')") {
		t.Error("the log came at once, not as it was written")
	}
	at := ask[string](b, "location.href")
	b.sees("line 6")
	b.sees("succeeded")
	b.sees(`"order": 17`)
	b.sees(`"lines": 6`)
	if now := ask[string](b, "location.href"); now != at {
		t.Errorf("the page was left: %s", now)
	}
	if n := ask[int](b, "document.querySelector('#log').innerText.split('line 3').length - 1"); n != 1 {
		t.Errorf("line 3 is in the log %d times", n)
	}
}

func TestARunningRunIsCancelledAfterAQuestion(t *testing.T) {
	l := need(t)
	job := named(t, "job")
	l.job(t, job, script("echo at work; sleep 600"))
	run := l.start(t, job, "running")
	b := l.signedIn(t)
	b.visit("/runs/" + run.ID)
	b.sees("at work")
	b.press("Cancel")
	time.Sleep(1500 * time.Millisecond) // a question that is open is not taken away by what changes meanwhile
	b.until("the question", "document.querySelector('details.confirm[open] button')")
	b.press("details.confirm[open] button")
	b.sees("cancelled")
	within(t, "the run to be cancelled", func() bool {
		l.call(t, "GET", "/v1/runs/"+run.ID, nil, &run)
		return run.State == "cancelled"
	})
}

func TestAFailureIsRequeuedWithAnEditedPayload(t *testing.T) {
	l := need(t)
	job := named(t, "job")
	l.job(t, job, script(`grep -q '"good"' "$NIGHTSHIFT_PAYLOAD" || { echo "the order is bad" >&2; exit 3; }; nightshift result '"mended"'`))
	failed := l.run(t, job, fields{"payload": fields{"order": "bad"}})
	b := l.signedIn(t)
	b.expect("status of 422") // the payload that is none
	b.size(390)               // at night it is a phone
	b.visit("/failures?job=" + job)
	b.press(fmt.Sprintf("a[href^='/failures/%s']", failed.ID))
	b.at("/failures/" + failed.ID)
	b.sees("the order is bad")
	b.until("the payload", "document.querySelector('textarea[name=payload]')?.value.includes('bad')")
	b.fill("textarea[name=payload]", "{\n  \"order\": good\n}")
	b.submit("textarea[name=payload]")
	b.until("what is wrong with it, and where", "/line 2/.test(document.querySelector('[role=alert]')?.innerText || '')")
	b.fill("textarea[name=payload]", "{\n  \"order\": \"good\"\n}")
	b.submit("textarea[name=payload]")
	var after rig.Run
	within(t, "the requeue to succeed", func() bool {
		var list struct{ Items []rig.Run }
		l.call(t, "GET", "/v1/runs?job="+job, nil, &list)
		after = list.Items[0]
		return after.ID != failed.ID && after.State == "succeeded"
	})
	b.visit("/failures?job=" + job)
	if text := ask[string](b, "document.querySelector('main').innerText"); strings.Contains(text, "the order is bad") {
		t.Errorf("it is open still:\n%s", text)
	}
}

// submit presses the button of the form that a field is in.
func (b *tab) submit(field string) {
	b.t.Helper()
	b.until("a form around "+field, fmt.Sprintf(`(f => {
		const button = f && (f.form.querySelector('button.main') || f.form.querySelector('button'));
		document.querySelectorAll('[data-submit]').forEach(e => e.removeAttribute('data-submit'));
		if (button) button.setAttribute('data-submit', '');
		return button;
	})(document.querySelector(%s))`, quoted(field)))
	b.press("[data-submit]")
}

func TestAPageShowsWhatHappensWithoutBeingLoadedAgain(t *testing.T) {
	l := need(t)
	job := named(t, "job")
	l.job(t, job, script("true"))
	b := l.signedIn(t)
	b.visit("/runs?job=" + job)
	b.sees("No run")
	ask[any](b, "window.stays = true")
	run := l.run(t, job, nil)
	b.until("the run", fmt.Sprintf("document.querySelector('a[href=\"/runs/%s\"]')", run.ID))
	b.sees("succeeded")
	if !ask[bool](b, "window.stays === true") {
		t.Error("the page was loaded again")
	}
}

// beside opens another tab of the same profile, which has signed in.
func (b *tab) beside() *tab {
	b.t.Helper()
	ctx, closed := chromedp.NewContext(b.ctx)
	b.t.Cleanup(closed)
	other := &tab{t: b.t, lab: b.lab, ctx: ctx}
	other.do(chromedp.Steps())
	return other
}

// inSight has the page believe that its tab is looked at, or not.
func (b *tab) inSight(is bool) {
	b.t.Helper()
	ask[any](b, fmt.Sprintf(`Object.defineProperty(document, 'hidden', {value: %t, configurable: true}),
		document.dispatchEvent(new Event('visibilitychange'))`, !is))
}

func TestMoreTabsAreOpenedThanABrowserHasConnections(t *testing.T) {
	l := need(t)
	job := named(t, "job")
	l.job(t, job, script("sleep 300"))
	id := l.start(t, job, "running").ID
	t.Cleanup(func() { _, _ = l.server.Do(context.Background(), "POST", "/v1/runs/"+id+"/cancel", "", nil, nil) })
	first := l.signedIn(t)
	first.visit("/runs?job=" + job)
	first.sees("running")
	first.inSight(false)
	for i := range 8 { // with a stream of what happens, or of a log
		b := first.beside()
		b.visit([]string{"/runs?job=" + job, "/runs/" + id}[i%2])
		b.sees(job)
		b.inSight(false)
	}
	l.call(t, "POST", "/v1/runs/"+id+"/cancel", nil, nil)
	within(t, "the run to be cancelled", func() bool {
		var run rig.Run
		l.call(t, "GET", "/v1/runs/"+id, nil, &run)
		return run.Terminal()
	})
	first.inSight(true)
	first.sees("cancelled")
	again := l.start(t, job, "running")
	first.until("what happens after that", fmt.Sprintf("document.querySelector('a[href=\"/runs/%s\"]')", again.ID))
	l.call(t, "POST", "/v1/runs/"+again.ID+"/cancel", nil, nil)
}

func TestTheMainThingsAreDoneByKeysAlone(t *testing.T) {
	l := need(t)
	job := named(t, "job")
	l.job(t, job, script("echo by keys"))
	b := l.signedIn(t)
	b.visit("/")
	b.key("g")
	b.key("j")
	b.at("/jobs")
	b.tabTo(fmt.Sprintf("a[href='/jobs/%s']", job))
	b.key(kb.Enter)
	b.at("/jobs/" + job)
	b.tabTo("#run button.main")
	b.key(kb.Enter)
	b.at("/runs/")
	b.sees("by keys")
	b.key("/")
	b.until("the field that finds", "document.activeElement.matches('.find input')")
	b.key("nothing like it")
	b.key(kb.Enter)
	b.at("nothing+like+it") // chromedp types the / as well, which a keyboard would not
}

// tabTo moves the focus on until it is on what a selector finds, and checks that one sees where it is.
func (b *tab) tabTo(want string) {
	b.t.Helper()
	for range 400 {
		b.key(kb.Tab)
		if ask[bool](b, "document.activeElement.matches("+quoted(want)+")") {
			if !ask[bool](b, `(e => { const s = getComputedStyle(e); return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== 'none'; })(document.activeElement)`) {
				b.t.Errorf("one does not see that the focus is on %s", want)
			}
			return
		}
	}
	b.t.Fatalf("the focus does not come to %s", want)
}

func TestTheMainThingsAreDoneWithoutScripts(t *testing.T) {
	l := need(t)
	job := named(t, "job")
	l.job(t, job, script(`grep -q fail "$NIGHTSHIFT_PAYLOAD" && exit 1; sleep 0.2`))
	failed := l.run(t, job, fields{"payload": "fail"})
	b := l.signedIn(t)
	b.withoutScripts()
	b.visit("/jobs/" + job)
	b.fill("#run textarea[name=payload]", `"from a form"`)
	b.press("#run button.main")
	b.at("/runs/")
	id := ask[string](b, "location.pathname.split('/').pop()")
	within(t, "the run to succeed", func() bool {
		var run rig.Run
		l.call(t, "GET", "/v1/runs/"+id, nil, &run)
		return run.State == "succeeded"
	})
	b.visit("/runs/" + id)
	b.sees("succeeded")
	b.visit("/runs?job=" + job + "&state=failed")
	b.until("the run that failed, and it alone", fmt.Sprintf("document.querySelectorAll('main a[href^=\"/runs/0\"]').length === 1 && document.querySelector('a[href=\"/runs/%s\"]')", failed.ID))
	b.visit("/failures/" + failed.ID)
	b.fill("textarea[name=payload]", `"good"`)
	b.submit("textarea[name=payload]")
	b.until("a page that says what came of it", "document.querySelector('[role=status]')")
	waits := named(t, "waits")
	l.job(t, waits, script("sleep 600"))
	run := l.start(t, waits, "running")
	b.visit("/runs/" + run.ID)
	b.confirm("Cancel")
	b.sees("cancel")
	within(t, "the run to be cancelled", func() bool {
		l.call(t, "GET", "/v1/runs/"+run.ID, nil, &run)
		return run.State == "cancelled"
	})
}

func TestManyFailuresAreResolvedAtOnce(t *testing.T) {
	l := need(t)
	job := named(t, "job")
	l.job(t, job, script("exit 1"))
	for range 3 {
		l.run(t, job, nil)
	}
	b := l.signedIn(t)
	b.size(390)
	b.visit("/failures?job=" + job)
	b.press("input[data-all=ids]")
	if n := ask[int](b, "document.querySelectorAll('input[name=ids]:checked').length"); n != 3 {
		t.Errorf("%d are ticked, want 3", n)
	}
	b.press("button[name=do][value=resolve]")
	b.sees("3 failures")
	b.fill("input[name=note]", "the disk was full")
	b.press("button[name=sure].main")
	b.until("a page that says what came of it", "document.querySelector('[role=status]') || location.pathname.includes('/orders/')")
	within(t, "all to be resolved", func() bool {
		var list struct{ Items []struct{ Note string } }
		l.call(t, "GET", "/v1/failures?status=resolved&job="+job, nil, &list)
		return len(list.Items) == 3 && list.Items[0].Note == "the disk was full"
	})
}

func TestARuleIsTriedOnAnErrorAndOnThePastAndSaved(t *testing.T) {
	l := need(t)
	job := named(t, "job")
	l.job(t, job, script("exit 3", fields{"retry": fields{"rules": []fields{{"if": "exit.code == 3", "then": "fail"}}}}))
	l.run(t, job, nil)
	b := l.signedIn(t)
	b.visit("/rules?job=" + job)
	b.fill("textarea[name=rules]", "- if: exit.code == 3 and attempt < 9\n  then: retry\n  after: 2m\n  max_attempts: 4\n")
	b.fill("input[name=exit]", "3")
	b.press("button[name=do][value=check]")
	b.until("who decides", "/retry/.test(document.querySelector('#checked')?.innerText || '')")
	b.press("button[name=do][value=backtest]")
	b.until("what they would have changed", "/1 decision/.test(document.querySelector('#backtested')?.innerText || '')")
	b.press("Save into " + job)
	b.until("the question", "document.querySelector('details.confirm[open] button[value=save]')")
	b.press("details.confirm[open] button[value=save]")
	within(t, "the rule to be the job's", func() bool {
		var doc struct {
			Retry struct{ Rules []struct{ If string } }
		}
		l.call(t, "GET", "/v1/jobs/"+job, nil, &doc)
		return len(doc.Retry.Rules) == 1 && doc.Retry.Rules[0].If == "exit.code == 3 and attempt < 9"
	})
}

func TestAMissedTickIsSeen(t *testing.T) {
	l := need(t)
	name := outageJob + ":second"
	var ticks struct {
		Items []struct{ Outcome, Reason string }
	}
	l.call(t, "GET", "/v1/schedules/"+name+"/ticks", nil, &ticks)
	missed := false
	for _, tick := range ticks.Items {
		missed = missed || tick.Reason == "missed"
	}
	if !missed {
		t.Fatalf("the server was down for four seconds and missed no tick: %+v", ticks.Items)
	}
	b := l.signedIn(t)
	for _, path := range []string{"/schedules", "/schedules/" + name} {
		b.visit(path)
		b.until("the missed tick at "+path, "/missed/i.test(document.querySelector('main').textContent)")
	}
}

// bound is what a list of 50 runs may weigh, whatever they carry.
const bound = 200_000

func TestAListOfHeavyRunsIsLight(t *testing.T) {
	l := need(t)
	job := named(t, "job")
	l.job(t, job, script(`head -c 60000 /dev/zero | tr '\0' x | sed 's/.*/"&"/' | nightshift result -`))
	var runs []fields
	for range 50 {
		runs = append(runs, fields{"job": job, "payload": fields{"text": strings.Repeat("y", 250<<10)}})
	}
	for from := 0; from < len(runs); from += 25 {
		l.call(t, "POST", "/v1/runs/batch", fields{"runs": runs[from : from+25]}, nil)
	}
	var list json.RawMessage
	within(t, "50 runs to succeed", func() bool {
		l.call(t, "GET", "/v1/runs?limit=50&state=succeeded&job="+job, nil, &list)
		return strings.Count(string(list), `"id":`) == 50
	})
	if len(list) > bound {
		t.Errorf("the list weighs %d bytes, want at most %d", len(list), bound)
	}
	b := l.signedIn(t)
	b.visit("/runs?job=" + job)
	if n := ask[int](b, "performance.getEntriesByType('navigation')[0].decodedBodySize"); n == 0 || n > bound {
		t.Errorf("the page weighs %d bytes, want at most %d", n, bound)
	}
}
