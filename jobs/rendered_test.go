package jobs

import (
	"strings"
	"testing"
)

// A kind remembers what it makes of a spec by its pointer; a body with a secret stays with its host.
func TestRenderedTellsWhatWasMadeForTheAttempt(t *testing.T) {
	for doc, want := range map[string]struct{ fresh, secret bool }{
		`{"name":"a","webhook":{"url":"http://h/"}}`:                                                     {},
		`{"name":"a","webhook":{"url":"http://h/","body":"{{ payload.id }}"}}`:                           {},
		`{"name":"a","webhook":{"url":"http://h/","body":{"t":"{{ secrets.TOKEN }}"}}}`:                  {secret: true},
		`{"name":"a","webhook":{"url":"http://h/{{ payload.id }}","body":"x {{ secrets.TOKEN }}"}}`:      {true, true},
		`{"name":"a","webhook":{"url":"http://h/","headers":{"A":"{{ secrets.TOKEN }}"},"body":"x"}}`:    {fresh: true},
		`{"name":"a","webhook":{"url":"http://h/{{ secrets.TOKEN }}","body":{"t":"{{secrets.TOKEN}}"}}}`: {true, true},
	} {
		p := prepared(t, doc)
		first, failure := p.Render(sampleScope())
		if failure != nil {
			t.Fatalf("%s: %v", doc, failure)
		}
		again, _ := p.Render(sampleScope())
		if first.Fresh != want.fresh || first.BodySecret != want.secret {
			t.Errorf("%s: fresh %t, body with a secret %t", doc, first.Fresh, first.BodySecret)
		}
		if (first.Spec.Webhook == again.Spec.Webhook) == want.fresh {
			t.Errorf("%s: fresh is %t, the webhook of two attempts the same: %t", doc, first.Fresh, !want.fresh)
		}
		if got := strings.Join(p.Secrets(), " "); got != "" && got != "TOKEN" {
			t.Errorf("%s: secrets %q", doc, got)
		}
	}
}
