package browser

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"

	"nightshift/scripts/internal/rig"
)

// streamIsOver is what htmx says of a stream that the server has ended.
const streamIsOver = `[object Event]`

func TestAWrongTokenIsToldAndARightOneSignsIn(t *testing.T) {
	b := need(t).open(t)
	b.expect("401")        // what the browser says of the page that refuses
	b.expect(streamIsOver) // when the session ends
	b.visit("/runs")
	b.fill("input[name=token]", "ns_wrong")
	b.press("Sign in")
	b.sees("This token is not known")
	b.fill("input[name=token]", rig.Token)
	b.press("Sign in")
	b.at("/runs")
	b.sees("Signed in as")
	if cookies := ask[string](b, "document.cookie"); strings.Contains(cookies, "session") {
		t.Errorf("a script can read the session: %s", cookies)
	}
	b.press("Sign out")
	b.at("/sign-in")
	b.visit("/runs")
	b.at("/runs")
	b.until("be asked to sign in", "document.querySelector('input[name=token]')")
}

func TestALinkSignsInOnce(t *testing.T) {
	l := need(t)
	var made struct{ Link string }
	l.call(t, "POST", "/v1/tokens", fields{"name": named(t, "token"), "scopes": []string{"read"}}, nil)
	l.call(t, "POST", "/v1/tokens/"+named(t, "token")+"/link", nil, &made)
	link, err := url.Parse(made.Link)
	if err != nil || link.RequestURI() == "" {
		t.Fatalf("the link %q: %v", made.Link, err)
	}
	b := l.open(t)
	b.expect("401")
	b.visit(link.RequestURI())
	b.press("Sign in")
	b.sees("Signed in as " + named(t, "token"))
	again := l.open(t)
	again.expect("401")
	again.visit(link.RequestURI())
	again.press("Sign in")
	again.sees("has been used")
}

func TestThePageIsInTheColoursAndTheZoneThatWereChosen(t *testing.T) {
	l := need(t)
	l.job(t, named(t, "job"), script("echo hello"))
	l.run(t, named(t, "job"), nil)
	b := l.signedIn(t)
	must(b, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Kolkata"})
	b.visit("/runs")
	shows := func(zone string) {
		t.Helper()
		b.until("times in "+zone, "[...document.querySelectorAll('main td')].some(t => t.innerText.includes("+quoted(zone)+"))")
	}
	shows("IST") // of who looks, without a word
	zone := func(mode string) {
		b.fill("select[name=times]", mode)
		b.press("footer form[action='/times'] button")
	}
	zone("utc")
	shows("UTC")
	zone("viewer")
	shows("IST")

	ground := func() string { return ask[string](b, "getComputedStyle(document.body).backgroundColor") }
	b.prefers("light")
	light := ground()
	b.fill("select[name=theme]", "dark")
	b.press("footer form[action='/theme'] button")
	b.until("dark colours", "document.documentElement.dataset.theme === 'dark'")
	if dark := ground(); dark == light {
		t.Errorf("dark is %s, as light", dark)
	}
	b.visit("/")
	b.until("dark colours on the next page", "document.documentElement.dataset.theme === 'dark'")
}

func TestASessionThatIsRevokedElsewhereEndsThePage(t *testing.T) {
	l := need(t)
	var made struct{ Secret string }
	name := named(t, "token")
	l.call(t, "POST", "/v1/tokens", fields{"name": name, "scopes": []string{"read"}}, &made)
	b := l.open(t)
	b.expect("401")
	b.expect(streamIsOver)
	b.signIn(made.Secret)
	b.visit("/runs")
	l.call(t, "DELETE", "/v1/tokens/"+name, nil, nil)
	l.job(t, named(t, "job"), script("true"))
	l.run(t, named(t, "job"), nil) // what the page would show
	b.press("header a[href='/failures'], a[href='/failures']")
	b.until("be asked to sign in", "document.querySelector('input[name=token]')")
}

func TestASessionThatIsEndedOnThePageOfSessionsEnds(t *testing.T) {
	l := need(t)
	var made struct{ Secret string }
	name := named(t, "token")
	l.call(t, "POST", "/v1/tokens", fields{"name": name, "scopes": []string{"read"}}, &made)
	lost := l.open(t)
	lost.expect("401")
	lost.expect(streamIsOver)
	lost.signIn(made.Secret)
	lost.visit("/runs")
	b := l.signedIn(t)
	b.visit("/sessions")
	b.until("the session of "+name, fmt.Sprintf(`(row => {
		const end = row && row.querySelector('summary, button');
		if (end) end.setAttribute('data-end', '');
		return end;
	})([...document.querySelectorAll('main tr')].find(r => r.innerText.includes(%s)))`, quoted(name)))
	b.press("[data-end]")
	if ask[bool](b, "!!document.querySelector('details.confirm[open] button')") {
		b.press("details.confirm[open] button")
	}
	b.until("the session to be gone", fmt.Sprintf("document.readyState === 'complete' && document.querySelector('main') && !document.querySelector('main').innerText.includes(%s)", quoted(name)))
	lost.visit("/runs")
	lost.until("be asked to sign in", "document.querySelector('input[name=token]')")
}

func TestWhoMayOnlyReadIsOfferedNothingElse(t *testing.T) {
	l := need(t)
	job := named(t, "job")
	l.job(t, job, script("exit 1"))
	run := l.run(t, job, nil)
	var made struct{ Secret string }
	l.call(t, "POST", "/v1/tokens", fields{"name": named(t, "token"), "scopes": []string{"read"}}, &made)
	b := l.open(t)
	b.signIn(made.Secret)
	for _, path := range []string{"/jobs/" + job, "/runs/" + run.ID, "/failures", "/failures/" + run.ID, "/schedules", "/dependencies", "/queues", "/alerts"} {
		b.visit(path)
		b.sees("Signed in as")
		const forms = `JSON.stringify([...document.querySelectorAll('main form')].filter(f => f.method === 'post' && f.querySelector('button')).map(f => f.getAttribute('action')))`
		var offered []string
		_ = json.Unmarshal([]byte(ask[string](b, forms)), &offered)
		for _, action := range offered {
			if !harmless(action) {
				t.Errorf("%s offers %s", path, action)
			}
		}
	}
}

// harmless reports whether a form changes nothing of the server.
func harmless(action string) bool {
	for _, part := range []string{"/check", "/preview", "/backtest", "/rules", "/times", "/theme"} {
		if strings.HasPrefix(action, part) || strings.HasSuffix(action, part) {
			return true
		}
	}
	return false
}
