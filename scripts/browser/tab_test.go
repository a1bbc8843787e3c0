package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdlog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"nightshift/scripts/internal/rig"
)

// canary is what hostile text calls where it is run as a script. It says so to the console, as does each report
// of the content security policy.
const canary = `window.canary = function (what) { console.error('CANARY', String(what)); };
document.addEventListener('securitypolicyviolation', function (e) {
  console.error('CSP', e.effectiveDirective, e.blockedURI, e.sourceFile || '', e.sample || '');
});`

// tab is a profile of the browser with one page. What a page must never do is a fault, which fails the test at
// its end: a script of others' text that runs, a dialog, a report of the content security policy, a request to
// another host, an error of its own scripts.
type tab struct {
	t   *testing.T
	lab *lab
	ctx context.Context

	mu     sync.Mutex
	faults []string
	may    []string // parts of faults that this test expects
}

// open makes a tab in which nobody has signed in.
func (l *lab) open(t *testing.T) *tab {
	t.Helper()
	b := &tab{t: t, lab: l}
	ctx, closed := chromedp.NewContext(l.browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.heard))
	b.ctx = ctx
	t.Cleanup(func() {
		if t.Failed() {
			b.keep()
		}
		closed()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, f := range b.faults {
			t.Error("the page: " + f)
		}
	})
	b.do(chromedp.Steps())
	must(b, network.Enable, network.EnableParams{})
	must(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: canary})
	b.size(1280)
	return b
}

// signedIn makes a tab in which the admin has signed in.
func (l *lab) signedIn(t *testing.T) *tab {
	t.Helper()
	b := l.open(t)
	b.signIn(rig.Token)
	return b
}

func (b *tab) signIn(token string) {
	b.t.Helper()
	b.visit("/sign-in")
	b.fill("input[name=token]", token)
	b.press("Sign in")
	b.sees("Signed in as")
}

// heard takes an event of the page.
func (b *tab) heard(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		var said []string
		for _, arg := range e.Args {
			said = append(said, string(arg.Value))
		}
		b.fault("console." + string(e.Type) + ": " + strings.Join(said, " "))
	case *runtime.EventExceptionThrown:
		b.fault("a script failed: " + thrown(e.ExceptionDetails))
	case *cdlog.EventEntryAdded:
		// A page that answers 401 or 404 is no fault of the page that asks for it.
		if e.Entry.Level == cdlog.EntryLevelError || e.Entry.Source == cdlog.EntrySourceSecurity {
			b.fault(fmt.Sprintf("%s (%s): %s", e.Entry.Text, e.Entry.Source, e.Entry.URL))
		}
	case *page.EventJavascriptDialogOpening:
		b.fault("a dialog: " + e.Message)
		go func() {
			_, _ = chromedp.Call(b.ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: true})
		}()
	case *network.EventRequestWillBeSent:
		u, err := url.Parse(e.Request.URL)
		if err != nil || u.Host != b.lab.server.Addr && u.Scheme != "about" && u.Scheme != "chrome" {
			b.fault("a request to another host: " + e.Request.URL)
		}
	}
}

func thrown(e *runtime.ExceptionDetails) string {
	if e.Exception != nil && e.Exception.Description != "" {
		return e.Exception.Description
	}
	return e.Text
}

func (b *tab) fault(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, may := range b.may {
		if strings.Contains(text, may) {
			return
		}
	}
	b.faults = append(b.faults, text)
}

// expect has faults with this text be none.
func (b *tab) expect(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.may = append(b.may, part)
}

// keep writes what the browser shows beside the test, for who looks into a failure.
func (b *tab) keep() {
	dir := os.Getenv("NIGHTSHIFT_SHOTS")
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "nightshift-shots")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		b.t.Log(err)
		return
	}
	name := filepath.Join(dir, strings.ReplaceAll(b.t.Name(), "/", "-"))
	ctx, cancel := context.WithTimeout(b.ctx, 10*time.Second)
	defer cancel()
	picture, err1 := chromedp.Run(ctx, chromedp.FullScreenshot(100))
	text, err2 := chromedp.Run(ctx, chromedp.OuterHTML(chromedp.CSS("html")))
	if err := errors.Join(err1, err2); err != nil {
		b.t.Log(err)
		return
	}
	_ = os.WriteFile(name+".png", picture, 0o600)
	_ = os.WriteFile(name+".html", []byte(text), 0o600)
	b.t.Logf("what it showed: %s.png and .html", name)
}

// within is a context of one step.
func (b *tab) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.ctx, patience)
}

func (b *tab) do(a chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	// The first step starts the tab, whose life is that of its context.
	if _, err := chromedp.Run(b.ctx, a); err != nil {
		b.t.Fatal(err)
	}
}

// visit opens a path of the site.
func (b *tab) visit(path string) {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(b.lab.url()+path)); err != nil {
		b.t.Fatalf("visit %s: %v", path, err)
	}
}

// ask evaluates an expression in the page. A page that is just going gives the zero value.
func ask[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil && !errors.Is(err, chromedp.ErrJSNull) && !errors.Is(err, chromedp.ErrJSUndefined) {
		if ctx.Err() != nil {
			b.t.Fatalf("%s: %v", expression, err)
		}
		var zero T
		return zero
	}
	return v
}

// until waits for an expression to hold.
func (b *tab) until(what, expression string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for !ask[bool](b, "!!("+expression+")") {
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: not within %v; the page at %s:\n%s", what, patience, ask[string](b, "location.href"),
				ask[string](b, "document.body.innerText"))
		}
		time.Sleep(40 * time.Millisecond)
	}
}

// quoted is a text as JavaScript.
func quoted(text string) string {
	out, _ := json.Marshal(text) // of a string it cannot fail
	return string(out)
}

// sees waits until the page shows a text.
func (b *tab) sees(text string) {
	b.t.Helper()
	b.until("see "+quoted(text), "document.body.innerText.includes("+quoted(text)+")")
}

// at waits until the page is at an address that contains a text.
func (b *tab) at(part string) {
	b.t.Helper()
	b.until("be at "+part, "document.readyState === 'complete' && location.href.includes("+quoted(part)+")")
}

// fill writes into a field, as typing over what is there does.
func (b *tab) fill(field, text string) {
	b.t.Helper()
	b.until("fill "+field, fmt.Sprintf(`(f => {
		if (!f) return false;
		f.focus();
		f.value = %s;
		f.dispatchEvent(new Event('input', {bubbles: true}));
		f.dispatchEvent(new Event('change', {bubbles: true}));
		return true;
	})(document.querySelector(%s))`, quoted(text), quoted(field)))
}

// seek finds what can be pressed by its label, else by a selector, and marks it for the mouse.
const seek = `((label) => {
	document.querySelectorAll('[data-lab]').forEach(e => e.removeAttribute('data-lab'));
	const shown = e => e.checkVisibility({visibilityProperty: true}) && e.getClientRects().length > 0;
	const said = e => (e.getAttribute('aria-label') || e.innerText || e.value || '').trim();
	const all = [...document.querySelectorAll('main button, main summary, main a, main label, header a, header summary, footer button, button')].filter(shown);
	let found = all.filter(e => said(e) === label);
	if (!found.length) { try { found = [...document.querySelectorAll(label)].filter(shown); } catch (e) {} }
	const e = found[found.length - 1];
	if (!e) return false;
	e.scrollIntoView({block: 'center', behavior: 'instant'});
	e.setAttribute('data-lab', '');
	return true;
})`

// press clicks what bears a label, or what a selector finds; of several the last: the button of a question that
// is open comes after the one that opened it.
func (b *tab) press(label string) {
	b.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		b.until("something to press: "+label, seek+"("+quoted(label)+")")
		ctx, cancel := context.WithTimeout(b.ctx, 2*time.Second)
		err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS("[data-lab]"), chromedp.NodeVisible))
		cancel()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("press %s: %v", label, err)
		}
	}
}

// confirm presses a button that asks once more, and then the one that it shows.
func (b *tab) confirm(label string) {
	b.t.Helper()
	b.press(label)
	b.until("the question of "+label, "document.querySelector('details.confirm[open] button')")
	b.press("details.confirm[open] button")
}

// key presses keys.
func (b *tab) key(keys string) {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.KeyEvent(keys)); err != nil {
		b.t.Fatalf("press the key %q: %v", keys, err)
	}
}

// size sets the width of the page.
func (b *tab) size(width int64) {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 844)); err != nil {
		b.t.Fatal(err)
	}
}

// prefers sets which colours the system asks for.
func (b *tab) prefers(theme string) {
	b.t.Helper()
	must(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
	})
}

// withoutScripts has the pages run none.
func (b *tab) withoutScripts() {
	b.t.Helper()
	must(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
}

// must sends the browser a command.
func must[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	if _, err := chromedp.Call(ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}
