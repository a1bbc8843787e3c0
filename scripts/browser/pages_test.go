package browser

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// navigation are the pages that every page leads to.
var navigation = []string{
	"/", "/runs", "/failures", "/jobs", "/schedules", "/groups", "/dependencies", "/queues", "/rules", "/alerts", "/server",
}

// known are the sorts of pages that there are: a crawl that does not come to one has lost a link.
var known = append([]string{
	"/runs/{id}", "/jobs/{name}", "/failures/{id}", "/failures/groups", "/failures/groups/{name}", "/failures/orders/{id}",
	"/groups/{id}", "/schedules/{name}", "/dependencies/{name}", "/alerts/{name}", "/tokens", "/secrets", "/sessions", "/audit",
}, navigation...)

// mostPages bounds a crawl, and mostAlike how many pages of one sort it looks at beside those it began with.
const (
	mostPages = 220
	mostAlike = 2
)

var uuid = regexp.MustCompile(`/[0-9a-f]{8}-[0-9a-f-]{27}`)

// sortOf is what pages have in common: the path without ids and names, and which filters are set.
func sortOf(path string) string {
	u, err := url.Parse(path)
	if err != nil {
		return path
	}
	p := uuid.ReplaceAllString(u.Path, "/{id}")
	for _, list := range []string{"/failures/groups/", "/jobs/", "/schedules/", "/dependencies/", "/alerts/", "/queues/", "/tokens/", "/secrets/"} {
		if name, ok := strings.CutPrefix(p, list); ok && name != "" && !strings.HasPrefix(name, "{") {
			_, rest, _ := strings.Cut(name, "/")
			p = strings.TrimSuffix(list+"{name}/"+rest, "/")
		}
	}
	names := []string{}
	for name := range u.Query() {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > 0 {
		p += "?" + strings.Join(names, "&")
	}
	return p
}

// crawl visits pages and those that they link to, and has look look at each.
func (b *tab) crawl(from []string, look func(path string)) (sorts map[string]int) {
	b.t.Helper()
	sorts = map[string]int{}
	given := map[string]bool{}
	for _, path := range from {
		given[path] = true
	}
	first := crawled == nil
	seen, queue := map[string]bool{}, slices.Clone(from)
	for len(queue) > 0 && len(seen) < mostPages {
		path := queue[0]
		queue = queue[1:]
		if seen[path] || !given[path] && sorts[sortOf(path)] >= mostAlike {
			continue
		}
		seen[path] = true
		sort := sortOf(path)
		sorts[sort]++
		// Of a page with filters axe sees no more than of the page.
		if bare, _, _ := strings.Cut(sort, "?"); first && sorts[sort] == 1 && (bare == sort || sorts[bare] == 0) {
			crawled = append(crawled, path)
		}
		b.visit(path)
		look(path)
		for _, link := range b.links() {
			if !seen[link] && sorts[sortOf(link)] < mostAlike {
				queue = append(queue, link)
			}
		}
	}
	return sorts
}

// links are those of the page that lead to other pages. One that leads to another site, or is a script, is a fault.
func (b *tab) links() (paths []string) {
	b.t.Helper()
	var hrefs []string
	_ = json.Unmarshal([]byte(ask[string](b, `JSON.stringify([...document.querySelectorAll('a[href]')].map(a => a.href))`)), &hrefs)
	for _, href := range hrefs {
		u, err := url.Parse(href)
		if err != nil || u.Host != b.lab.server.Addr || u.Scheme != "http" {
			b.fault(fmt.Sprintf("%s links to %s", ask[string](b, "location.pathname"), href))
			continue
		}
		if strings.HasPrefix(u.Path, "/v1/") || strings.HasPrefix(u.Path, "/static/") || strings.HasSuffix(u.Path, "/log") ||
			slices.Contains([]string{"/docs", "/metrics", "/openapi.json", "/healthz", "/readyz"}, u.Path) {
			continue
		}
		u.Fragment = ""
		paths = append(paths, u.RequestURI())
	}
	return paths
}

// widest is what reaches past the right end of the page.
const widest = `(() => {
	const end = document.documentElement.clientWidth;
	return [...document.querySelectorAll('main *, header *, footer *')].filter(e => {
		if (e.getBoundingClientRect().right <= end + 1 || !e.checkVisibility()) return false;
		for (let p = e.parentElement; p; p = p.parentElement) if (getComputedStyle(p).overflowX !== 'visible') return false;
		return true;
	}).slice(-1).map(e => e.outerHTML.slice(0, 200)).join('');
})()`

// judge looks at the page that is open, and reports whether it shows the hostile text.
func (b *tab) judge(path string) (shows bool) {
	b.t.Helper()
	if title := ask[string](b, "document.querySelector('h1')?.innerText || ''"); title == "" || strings.Contains(title, "could not be made") {
		b.t.Errorf("%s: %s", path, ask[string](b, "document.body.innerText"))
	} else if title == "There is no such page" && !strings.ContainsAny(path, "?%") {
		b.t.Errorf("%s is linked, and is not there", path)
	}
	if made := ask[int](b, "document.querySelectorAll('.hostile').length"); made > 0 {
		b.t.Errorf("%s: hostile text has become %d elements: %s", path, made, ask[string](b, "document.querySelector('.hostile').outerHTML"))
	}
	text := ask[string](b, "document.body.innerText + [...document.querySelectorAll('input, textarea')].map(f => f.value).join(' ')")
	if strings.Contains(text, "49hostile") {
		b.t.Errorf("%s: an expression in the text was worked out", path)
	}
	if strings.Contains(ask[string](b, "document.documentElement.outerHTML"), secretValue) {
		b.t.Errorf("%s shows the value of a secret", path)
	}
	if foreign := ask[string](b, `[...document.querySelectorAll('form')].map(f => f.action).filter(a => !a.startsWith(location.origin + '/')).join(' ')`); foreign != "" {
		b.t.Errorf("%s has a form that goes to %s", path, foreign)
	}
	b.size(390)
	if width := ask[int](b, "document.documentElement.scrollWidth"); width > 390 {
		b.t.Errorf("%s is %d pixels wide on a phone of 390: %s", path, width, ask[string](b, widest))
	}
	b.size(1280)
	return strings.Contains(text, "class=hostile")
}

// crawled are the pages that the first crawl came to, one of each sort, for the tests after it.
var crawled []string

// pagesOf are one of each sort of pages.
func (b *tab) pagesOf(w *world) []string {
	b.t.Helper()
	if crawled == nil {
		b.crawl(append(slices.Clone(navigation), w.paths...), func(string) {})
	}
	return crawled
}

func TestEveryPageShowsHostileTextAsTextAndFitsAPhone(t *testing.T) {
	l := need(t)
	w := l.everything(t)
	b := l.signedIn(t)
	b.expect("status of 422") // filters that are none
	b.expect("status of 404") // names that nobody has
	shows := map[string]bool{}
	sorts := b.crawl(append(slices.Clone(navigation), w.paths...), func(path string) {
		if b.judge(path) {
			shows[sortOf(path)] = true
		}
	})
	for _, sort := range known {
		if sorts[sort] == 0 {
			t.Errorf("no link led to %s", sort)
		}
	}
	for _, sort := range []string{"/runs", "/runs/{id}", "/jobs/{name}", "/failures", "/failures/{id}", "/schedules/{name}", "/dependencies/{name}", "/sessions"} {
		if !shows[sort] {
			t.Errorf("no page %s shows the text that somebody wrote there", sort)
		}
	}
	b.forms(func(name string) { b.judge(name) })
	t.Logf("%d sorts of pages", len(sorts))
}

// forms opens the pages that only a form leads to.
func (b *tab) forms(look func(name string)) {
	b.t.Helper()
	for _, do := range []string{"requeue", "resolve", "ignore"} {
		b.visit("/failures?job=hostile-script")
		b.press("input[data-all=ids]")
		b.press("button[name=do][value=" + do + "]")
		b.until("the question of "+do, "document.querySelector('main button[name=sure]')")
		look("the question of " + do)
	}
	b.visit("/jobs/hostile-script")
	b.fill("#run textarea[name=payload]", hostileShort)
	b.press("#run button.main")
	b.until("what is refused", "document.querySelector('[role=alert]')")
	look("a payload that is refused")
	b.visit("/rules?job=hostile-script")
	b.fill("textarea[name=message]", hostileShort)
	b.fill("input[name=exit]", "3")
	b.press("button[name=do][value=check]")
	b.until("who decides", "document.querySelector('#checked')")
	look("a rule that decides")
}

// forms are the widths and colours in which pages are looked at. With all: axe holds the page against all its
// rules, else only against those that colours decide.
var forms = []struct {
	name  string
	width int64
	theme string
	all   bool
}{
	{"desktop, light", 1280, "light", true},
	{"desktop, dark", 1280, "dark", false},
	{"phone, dark", 390, "dark", false},
	{"phone, light", 390, "light", true},
}

// inAllForms has look look at the page that is open in each of them.
func (b *tab) inAllForms(look func(form string, all bool)) {
	b.t.Helper()
	for _, form := range forms {
		b.size(form.width)
		b.prefers(form.theme)
		look(form.name, form.all)
	}
	b.size(1280)
}

// axe runs axe-core and gives what it finds that keeps people from using the page.
const axe = `(async (all) => {
	const options = {resultTypes: ['violations']};
	if (!all) options.runOnly = {type: 'rule', values: ['color-contrast', 'link-in-text-block']};
	const found = await axe.run(document, options);
	return JSON.stringify(found.violations.filter(v => v.impact === 'serious' || v.impact === 'critical').map(v =>
		v.id + ' (' + v.impact + '): ' + v.help + '; ' + v.nodes.length + ' × ' + v.nodes.slice(0, 2).map(n =>
			n.html.slice(0, 160) + ' — ' + n.any.concat(n.all, n.none).map(c => c.message).slice(0, 1).join('')).join(' | ')));
})`

func TestAxeFindsNoSeriousFaultOnAnyPage(t *testing.T) {
	l := need(t)
	if l.axe == "" {
		t.Skip("axe-core is not installed: scripts/check-browser gets it by npm, and names it in NIGHTSHIFT_AXE")
	}
	w := l.everything(t)
	b := l.signedIn(t)
	b.expect("status of 422")
	b.expect("status of 404")
	for _, path := range b.pagesOf(w) {
		b.visit(path)
		b.axe(path)
	}
	b.forms(b.axe)
}

// axe holds the page that is open against the rules, in all forms.
func (b *tab) axe(path string) {
	b.t.Helper()
	ctx, cancel := b.within()
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](b.lab.axe)); err != nil {
		b.t.Fatal(err)
	}
	b.inAllForms(func(form string, all bool) {
		var found []string
		if text := ask[string](b, fmt.Sprintf("%s(%v)", axe, all)); json.Unmarshal([]byte(text), &found) != nil {
			b.t.Errorf("%s (%s): axe did not answer: %q", path, form, text)
		}
		for _, fault := range found {
			b.t.Errorf("%s (%s): %s", path, form, fault)
		}
	})
}

func TestTheLabHearsWhatPagesMustNotDo(t *testing.T) {
	l := need(t)
	b := l.signedIn(t)
	for name, script := range map[string]string{
		"CANARY":                    `document.createElement('p'), window.canary('x')`,
		"a dialog":                  `setTimeout(() => alert('x'), 0), 1`,
		"CSP":                       `document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=canary(1)>'), 1`,
		"a request to another host": `new Image().src = 'http://localhost:9/x', 1`,
		"a script failed":           `setTimeout(() => { throw new Error('x') }, 0), 1`,
		"404":                       `fetch('/nowhere'), 1`,
	} {
		b.visit("/runs")
		heard := func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, f := range b.faults {
				if strings.Contains(f, name) {
					return true
				}
			}
			return false
		}
		ask[any](b, "("+script+", 1)")
		within(t, name+" to be heard", heard)
		b.mu.Lock()
		b.faults = nil
		b.mu.Unlock()
	}
	time.Sleep(100 * time.Millisecond) // what belongs to the last one
	b.mu.Lock()
	b.faults = nil
	b.mu.Unlock()
}
