package jobs

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMaskHidesEachFormOfASecret(t *testing.T) {
	const secret = "s3cr\"t/a+b\\c d\né&=ü😀"
	inJSON := string(AppendJSONString(nil, secret))
	inJSON = inJSON[1 : len(inJSON)-1]
	goJSON, err := json.Marshal(secret)
	if err != nil {
		t.Fatal(err)
	}
	var allEscaped, allPercent strings.Builder
	for _, r := range secret {
		if r > 0xffff {
			r -= 0x10000
			fmt.Fprintf(&allEscaped, `\u%04X\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			continue
		}
		fmt.Fprintf(&allEscaped, `\u%04X`, r)
	}
	for i, c := range []byte(secret) {
		fmt.Fprintf(&allPercent, []string{"%%%02x", "%%%02X"}[i%2], c)
	}
	twice := string(AppendJSONString(nil, inJSON))
	forms := map[string]string{
		"plain":               secret,
		"JSON":                inJSON,
		"JSON with HTML":      string(goJSON[1 : len(goJSON)-1]),
		"JSON with slashes":   strings.ReplaceAll(inJSON, "/", `\/`),
		"JSON, all escaped":   allEscaped.String(),
		"JSON in JSON":        twice[1 : len(twice)-1],
		"query":               url.QueryEscape(secret),
		"path":                url.PathEscape(secret),
		"lower-case percents": strings.ToLower(url.PathEscape(secret)),
		"all percents":        allPercent.String(),
		"query in a query":    url.QueryEscape(url.PathEscape(secret)),
		"JSON in a query":     url.QueryEscape(inJSON),
	}
	m := NewMask([]string{secret})
	for name, form := range forms {
		text := "before|" + form + "|after"
		if got := m.Text(text); got != "before|***|after" {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
}

func TestMaskHidesBase64AtEachAlignment(t *testing.T) {
	const secret = "correct horse battery staple ~~~ \xc3\xbf\xc3\xbf? and more of it to fill two lines"
	m := NewMask([]string{secret})
	for before := range 7 {
		for after := range 4 {
			text := []byte("0123456"[:before] + secret + "zyx?"[:after])
			for name, enc := range map[string]*base64.Encoding{
				"std": base64.StdEncoding, "url": base64.URLEncoding, "raw": base64.RawURLEncoding,
			} {
				whole := enc.EncodeToString(text)
				lines := whole[:76] + "\r\n" + whole[76:]
				slashes := strings.ReplaceAll(whole, "/", `\/`)
				percents := url.QueryEscape(whole)
				inJSON := strings.ReplaceAll(lines, "\r\n", `\n`)
				for _, form := range []string{whole, lines, slashes, percents, inJSON} {
					got := m.Text(form)
					// What is left: characters of what is around, and up to two that the ends share.
					if !strings.Contains(got, "***") || len(got) > 3+before*4/3+after*4/3+8 {
						t.Errorf("%s, %d before, %d after: %q became %q", name, before, after, form, got)
					}
				}
			}
		}
	}
}

func TestMaskKeepsTheLongestOfSecretsThatOverlap(t *testing.T) {
	m := NewMask([]string{"abcdefgh", "abcdefghij", "ghijklmnop", "line one\nline two", "short"})
	for _, c := range [][2]string{
		{"xabcdefghx", "x***x"},
		{"xabcdefghijx", "x***x"},
		{"xabcdefghix", "x***ix"},
		{"xabcdefghijklmnopx", "x***x"},
		{"abcdefghabcdefgh", "******"},
		{"abcdefg", "abcdefg"},
		{"a short text", "a short text"},
		{"line one\nline two\n", "***\n"},
		{`"line one\nline two"`, `"***"`},
		{"", ""},
	} {
		if got := m.Text(c[0]); got != c[1] {
			t.Errorf("%q became %q, want %q", c[0], got, c[1])
		}
	}
}

func TestMaskOfNoSecretsChangesNothing(t *testing.T) {
	for _, values := range [][]string{nil, {}, {"", "seven77"}} {
		m := NewMask(values)
		if m != nil {
			t.Fatalf("%q made a mask", values)
		}
		f := &Failure{Message: "seven77"}
		m.Failure(f)
		var out bytes.Buffer
		w := m.Writer(&out)
		_, _ = w.Write([]byte("seven77"))
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := m.Text("seven77") + string(m.JSON(Raw(`"seven77"`))) + f.Message + out.String(); got !=
			`seven77"seven77"seven77seven77` {
			t.Errorf("got %q", got)
		}
	}
}

func TestMaskLeavesJSONValid(t *testing.T) {
	m := NewMask([]string{"hunter2hunter2", "1234567890", `","bb":"`, "same-key-1", "same-key-2"})
	for _, c := range [][2]string{
		{`{"a": "hunter2hunter2" }`, `{"a": "***" }`},
		{`{"a":"x hunter2\u0068unter2 y"}`, `{"a":"x *** y"}`},
		{`{"hunter2hunter2":1}`, `{"***":1}`},
		{`{"a":1234567890}`, `"{\"a\":***}"`},
		{`1234567890`, `"***"`},
		{`{"a":"x","bb":"y"}`, `{"a":"x***y"}`},
		{`{"same-key-1":1,"same-key-2":2}`, `"{\"***\":1,\"***\":2}"`},
		{`{"a": 1.50, "b" : null}`, `{"a": 1.50, "b" : null}`},
	} {
		got := m.JSON(Raw(c[0]))
		if string(got) != c[1] {
			t.Errorf("%s became %s, want %s", c[0], got, c[1])
		}
		if err := ValidJSON(got); err != nil {
			t.Errorf("%s became %s: %v", c[0], got, err)
		}
	}
}

func TestMaskReachesAllTextsOfAFailure(t *testing.T) {
	const secret = "hunter2hunter2"
	f := &Failure{
		Kind: FailHTTP, Type: "E-" + secret, Message: "m " + secret, Stack: "s\n" + secret,
		HTTP: &HTTPFailure{
			Status: 500, Body: "b " + secret,
			Headers: map[string]string{"x-" + secret: "v", "authorization": "Bearer " + secret},
		},
	}
	before := f.HTTP
	NewMask([]string{secret}).Failure(f)
	if text := string(AppendJSON(nil, f)); strings.Contains(text, secret) || strings.Count(text, "***") != 6 {
		t.Errorf("got %s", text)
	}
	if before.Body != "b "+secret {
		t.Error("the answer that others may hold was changed")
	}
}

func TestMaskWriterHoldsBackOnlyWhatMayBeASecret(t *testing.T) {
	m := NewMask([]string{"hunter2hunter2"})
	for _, c := range []struct{ write, shown string }{
		{"line\n", "line\n"},
		{"the hun", "the "},
		{"the hunk", "the hunk"},
		{"all 50", "all 50"},
		{"all 50%", "all 50"}, // %68 might follow
		{"hunter2hunter2", "***"},
		{"hunter2hunter", ""},
		{"hunter2hunter2hun", "***"},
		{`h\u0075`, ""},
		{`h\u0076 `, `h\u0076 `},
	} {
		var out bytes.Buffer
		w := m.Writer(&out)
		if n, err := w.Write([]byte(c.write)); n != len(c.write) || err != nil {
			t.Fatal(n, err)
		}
		if out.String() != c.shown {
			t.Errorf("after %q: %q is out, want %q", c.write, out.String(), c.shown)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if want := m.Text(c.write); out.String() != want {
			t.Errorf("after %q and the end: %q is out, want %q", c.write, out.String(), want)
		}
	}
}

func TestWhatIsSaidMeanwhilePartsNoSecret(t *testing.T) {
	m := NewMask([]string{"first line\nsecond"})
	for write, want := range map[string]string{
		"line\n|more": "line\n!more", "first line\n|second": "***!", "first line\n|third": "first line\n!third",
		"a first |li|ne\nsecond!": "a ***!!!", "first line\n|": "first line\n!", "first|": "first!", "|": "!",
		"first line\nfirst |line\nsecond": "first line\n***!",
	} {
		var out bytes.Buffer
		w := m.Writer(&out)
		for i, piece := range strings.Split(write, "|") {
			if i > 0 {
				w.Aside(func() { out.WriteByte('!') })
			}
			_, _ = w.Write([]byte(piece))
		}
		if _ = w.Flush(); out.String() != want {
			t.Errorf("%q became %q, want %q", write, out.String(), want)
		}
	}
}

// oracle finds forms by regular expressions, each start for itself.
type oracle []*regexp.Regexp

func newOracle(secrets []string) (all oracle) {
	const nothing = `[^\s\S]`
	add := func(expr string) {
		re := regexp.MustCompile(`\A(?s:` + expr + `)`)
		re.Longest()
		all = append(all, re)
	}
	hexOf := func(s string) string {
		var b strings.Builder
		for _, c := range s {
			fmt.Fprintf(&b, "[%c%c]", c, []rune(strings.ToUpper(string(c)))[0])
		}
		return b.String()
	}
	for _, s := range secrets {
		add(regexp.QuoteMeta(s))
		var inText strings.Builder
		for _, r := range s {
			plain, short := regexp.QuoteMeta(string(r)), nothing
			switch r {
			case '\\':
				plain, short = nothing, `\\`
			case '\n':
				short = "n"
			case '"', '/':
				short = string(r)
			}
			fmt.Fprintf(&inText, `(?:%s|\\(?:%s|u%s))`, plain, short, hexOf(fmt.Sprintf("%04x", r)))
		}
		add(inText.String())
		var path, form strings.Builder
		for _, c := range s {
			p, percent := regexp.QuoteMeta(string(c)), ""
			if c == '%' {
				p = nothing
			}
			for _, b := range []byte(string(c)) {
				percent += "%" + hexOf(fmt.Sprintf("%02x", b))
			}
			fmt.Fprintf(&path, `(?:%s|%s)`, p, percent)
			if c == ' ' {
				p += `|\+`
			} else if c == '+' {
				p = nothing
			}
			fmt.Fprintf(&form, `(?:%s|%s)`, p, percent)
		}
		add(path.String())
		add(form.String())
		for before := range 3 {
			padded := strings.Repeat("\x00", before) + s
			lo, hi := (before*8+5)/6, len(padded)*8/6
			for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				var plain, wrapped, inJSON, inURL strings.Builder
				for i, c := range enc.EncodeToString([]byte(padded))[lo:hi] {
					q, u := regexp.QuoteMeta(string(c)), hexOf(fmt.Sprintf("%04x", c))
					if i > 0 {
						wrapped.WriteString(`(?:\r?\n)?`)
					}
					plain.WriteString(q)
					wrapped.WriteString(q)
					slash := ""
					if c == '/' {
						slash = `|\\/`
					}
					inJSON.WriteString(`(?:` + q + slash + `|\\u` + u + `)`)
					inURL.WriteString(`(?:` + q + `|%` + hexOf(fmt.Sprintf("%02x", c)) + `)`)
				}
				add(plain.String())
				add(wrapped.String())
				add(inJSON.String())
				add(inURL.String())
			}
		}
	}
	return all
}

func (o oracle) mask(text string) string {
	var out strings.Builder
	until := 0
	for i := range len(text) {
		end := 0
		for _, re := range o {
			if at := re.FindStringIndex(text[i:]); at != nil {
				end = max(end, i+at[1])
			}
		}
		if end > i && end > until {
			if i >= until {
				out.WriteString("***")
			}
			until = end
		}
		if i >= until {
			out.WriteByte(text[i])
		}
	}
	return out.String()
}

// secretGen draws secrets of few letters, so that they overlap, without stars.
func secretGen() *rapid.Generator[string] {
	letter := rapid.SampledFrom([]rune("aab\"\\/\n +%é1"))
	return rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOfN(letter, 8, 12).Draw(t, "secret"))
	})
}

// textGen draws texts in which forms of the secrets stand whole, cut and side by side.
func textGen(secrets []string) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(1, 8).Draw(t, "pieces") {
			s := rapid.SampledFrom(secrets).Draw(t, "which")
			around := rapid.SampledFrom([]string{"", "a", "ab"}).Draw(t, "around")
			var piece string
			switch rapid.IntRange(0, 9).Draw(t, "form") {
			case 0:
				piece = s
			case 1:
				piece = strings.Trim(string(AppendJSONString(nil, s)), `"`)
			case 2:
				piece = escapeAny(t, s)
			case 3:
				piece = url.QueryEscape(s)
			case 4:
				piece = percentSome(t, s)
			case 5:
				piece = base64.StdEncoding.EncodeToString([]byte(around + s + around))
			case 6:
				piece = base64.URLEncoding.EncodeToString([]byte(around + s))
				cut := rapid.IntRange(0, len(piece)).Draw(t, "break")
				piece = piece[:cut] + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end") + piece[cut:]
			case 7:
				piece = strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(around+s)), "/", `\/`)
			case 8:
				piece = rapid.StringMatching(`[ab"\\/+% 1\n]{0,6}`).Draw(t, "noise")
			case 9:
				piece = rapid.SampledFrom([]string{`\`, `%`, `\u00`, `%6`, `\\`, "é", "\xff", "*"}).Draw(t, "odd")
			}
			if rapid.IntRange(0, 3).Draw(t, "part") == 0 {
				piece = piece[rapid.IntRange(0, len(piece)).Draw(t, "from"):]
				piece = piece[:rapid.IntRange(0, len(piece)).Draw(t, "to")]
			}
			b.WriteString(piece)
		}
		return b.String()
	})
}

func escapeAny(t *rapid.T, s string) string {
	var b strings.Builder
	for _, r := range s {
		plain := strings.Trim(string(AppendJSONString(nil, string(r))), `"`)
		switch rapid.IntRange(0, 3).Draw(t, "escape") {
		case 0:
			fmt.Fprintf(&b, `\u%04x`, r)
		case 1:
			if r == '/' {
				plain = `\/`
			}
			b.WriteString(plain)
		default:
			if r == '"' {
				plain = `\"`
			}
			b.WriteString(plain)
		}
	}
	return b.String()
}

func percentSome(t *rapid.T, s string) string {
	var b strings.Builder
	for _, c := range s {
		form := rapid.SampledFrom([]string{"%%%02x", "%%%02X", "%c"}).Draw(t, "percent")
		if form == "%c" && c != '%' {
			b.WriteRune(c)
			continue
		}
		for _, octet := range []byte(string(c)) {
			fmt.Fprintf(&b, strings.Replace(form, "%c", "%%%02x", 1), octet)
		}
	}
	return b.String()
}

func TestMaskFindsEachFormAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(secretGen(), 1, 4).Draw(t, "secrets")
		text := textGen(secrets).Draw(t, "text")
		m, o := simpleMask(secrets), newOracle(secrets)
		got, want := m.Text(text), o.mask(text)
		if got != want {
			t.Fatalf("secrets %q:\n%q became\n%q, want\n%q", secrets, text, got, want)
		}
		if left := o.mask(got); left != got {
			t.Fatalf("secrets %q:\n%q became\n%q, in which a form stands", secrets, text, got)
		}
	})
}

// simpleMask is a mask without the views of encodings within encodings, which the oracle does not
// know.
func simpleMask(secrets []string) *Mask {
	return newMask(secrets, slices.DeleteFunc(slices.Clone(allViews), func(v *view) bool {
		return len(v.layers) > 1
	}))
}

func TestMaskWriterMasksAsTextDoesWhereverItIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(secretGen(), 1, 4).Draw(t, "secrets")
		text := textGen(secrets).Draw(t, "text")
		m := NewMask(secrets)
		var out bytes.Buffer
		w, asides := m.Writer(&out), 0
		const aside = "[said meanwhile]"
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "write")
			if _, err := w.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			if rapid.Bool().Draw(t, "aside") {
				w.Aside(func() { out.WriteString(aside) })
				asides++
			}
			rest = rest[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), aside); n != asides {
			t.Fatalf("%d of %d asides came", n, asides)
		}
		if got, want := strings.ReplaceAll(out.String(), aside, ""), m.Text(text); got != want {
			t.Fatalf("secrets %q:\n%q became\n%q in pieces,\n%q at once", secrets, text, got, want)
		}
		if again := m.Text(m.Text(text)); again != m.Text(text) {
			t.Fatalf("secrets %q:\n%q: a form is left in\n%q", secrets, text, m.Text(text))
		}
	})
}
