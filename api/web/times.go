package web

import (
	"html/template"
	"net/http"
	"net/url"
	"time"

	"nightshift/api/words"
	"nightshift/jobs"
)

// Times is how the viewer wants instants shown.
type Times struct {
	Mode   string // viewer, utc, schedule: that of the schedule where a thing has one, else the viewer's
	Viewer string // the zone of the viewer, as the browser says; "": it is not known, and UTC stands for it
}

func timesOf(r *http.Request) Times {
	t := Times{Mode: "viewer"}
	if c, err := r.Cookie(timesCookie); err == nil && (c.Value == "utc" || c.Value == "schedule") {
		t.Mode = c.Value
	}
	if c, err := r.Cookie(zoneCookie); err == nil {
		if name, err := url.QueryUnescape(c.Value); err == nil && zoneOf(name) != nil {
			t.Viewer = name
		}
	}
	return t
}

// zoneOf is the zone of a name; nil: there is none.
func zoneOf(name string) *time.Location {
	if name == "" || name == "Local" || len(name) > 64 {
		return nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return zone
}

func (t Times) zone() *time.Location {
	if zone := zoneOf(t.Viewer); zone != nil && t.Mode != "utc" {
		return zone
	}
	return time.UTC
}

// Name is that zone in words.
func (t Times) Name() string { return t.zone().String() }

// In is when the page is made, in the zone of a schedule where the viewer wants that: what is said of its runs is
// said in it.
func (v *view) In(zone string) words.At {
	if z := zoneOf(zone); z != nil && v.Times.Mode == "schedule" {
		return words.At{Now: v.At.Now.In(z), Zoned: true}
	}
	return v.At
}

// Time shows an instant with its zone; "" for none. Its title is how far away it is.
func (v *view) Time(t jobs.Time) template.HTML { return v.TimeIn(t, "") }

// TimeIn is Time for something that belongs to a schedule of that zone.
func (v *view) TimeIn(t jobs.Time, zone string) template.HTML {
	if t == 0 {
		return ""
	}
	at := v.In(zone)
	shown := t.Std().In(at.Now.Location())
	layout := "2006-01-02 15:04:05 MST"
	return template.HTML(`<time datetime="` + t.String() + `" title="` + template.HTMLEscapeString(ago(at.Now.Sub(t.Std()))) + `">` +
		template.HTMLEscapeString(shown.Format(layout)) + `</time>`)
}

// Ago shows how far away an instant is; its title is the instant.
func (v *view) Ago(t jobs.Time) template.HTML {
	if t == 0 {
		return ""
	}
	shown := t.Std().In(v.At.Now.Location()).Format("2006-01-02 15:04:05 MST")
	return template.HTML(`<time class="ago" datetime="` + t.String() + `" title="` + template.HTMLEscapeString(shown) + `">` +
		template.HTMLEscapeString(ago(v.At.Now.Sub(t.Std()))) + `</time>`)
}

// ago says how long ago something was, or in how long it will be, in its two largest units at most.
func ago(d time.Duration) string {
	future := d < 0
	if future {
		d = -d
	}
	var text string
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		text = d.Truncate(time.Second).String()
	case d < time.Hour:
		text = words.Roundly(d.Truncate(time.Minute))
	case d < 48*time.Hour:
		text = words.Roundly(d.Truncate(time.Minute))
	default:
		text = words.Roundly(d.Truncate(24 * time.Hour))
	}
	if future {
		return "in " + text
	}
	return text + " ago"
}

// setTimes keeps how the viewer wants times shown.
func setTimes(v *view) error {
	mode := v.form("times")
	if mode == "viewer" {
		mode = ""
	}
	v.setCookie(timesCookie, mode, 365*24*time.Hour)
	return v.done("/", "")
}

// setTheme keeps whether the viewer wants it light or dark.
func setTheme(v *view) error {
	theme := v.form("theme")
	if theme != "light" && theme != "dark" {
		theme = ""
	}
	v.setCookie(themeCookie, theme, 365*24*time.Hour)
	return v.done("/", "")
}
