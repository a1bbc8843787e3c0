package web

import (
	"errors"
	"net/http"
)

func signInPages() []page {
	return []page{
		{pattern: "GET /sign-in", open: true, handle: showSignIn},
		{pattern: "POST /sign-in", open: true, handle: signIn},
		{pattern: "POST /sign-out", open: true, handle: signOut},
		{pattern: "POST /times", handle: setTimes},
		{pattern: "POST /theme", open: true, handle: setTheme},
		{pattern: "GET /live", handle: live},
	}
}

// signingIn is the data of the page where one signs in.
type signingIn struct {
	Link  string // the code of a link; "": a token is asked for
	Next  string // where to go then
	Wrong string
}

func showSignIn(v *view) error {
	return v.show("sign-in", "Sign in", signingIn{Link: v.query("link"), Next: nextOf(v.query("next"))})
}

func nextOf(next string) string {
	if !local(next) {
		return "/"
	}
	return next
}

func signIn(v *view) error {
	secret, data := v.form("token"), signingIn{Next: nextOf(v.form("next"))}
	if link := v.form("link"); link != "" {
		secret = link
	}
	err := v.SignIn(secret)
	if errors.Is(err, ErrNotKnown) {
		data.Wrong = "This token is not known. Tokens begin with ns_; that of the first start stands beside the database, in the file that ends in .token."
		if v.form("link") != "" {
			data.Wrong = "This link is not known, has been used, or is older than half an hour. nightshift tokens create --link makes a new one; a token will do as well."
		}
		return v.showAs(http.StatusUnauthorized, "sign-in", "Sign in", data)
	}
	if errors.Is(err, ErrTooMany) {
		data.Wrong = "Too many sign-ins have failed from this address. Wait a minute."
		return v.showAs(http.StatusTooManyRequests, "sign-in", "Sign in", data)
	}
	if err != nil {
		return err
	}
	http.Redirect(v.w, v.r, data.Next, http.StatusSeeOther)
	return nil
}

func signOut(v *view) error {
	if err := v.SignOut(); err != nil {
		return err
	}
	http.Redirect(v.w, v.r, "/sign-in", http.StatusSeeOther)
	return nil
}

// askToSignIn answers somebody who has not signed in. A browser that follows a link of another site leaves the
// cookie out, which is SameSite=Strict: a page that has it ask once more tells those who have.
func (v *view) askToSignIn() {
	if v.r.Method == http.MethodGet && v.r.Header.Get("Sec-Fetch-Site") == "cross-site" && v.r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		v.site.write(v.w, v.r, http.StatusOK, "again", v)
		return
	}
	if v.r.Header.Get("Hx-Request") != "" {
		v.w.Header().Set("Hx-Refresh", "true") // of a page whose session has ended
	}
	next := v.Path()
	if v.r.Method == http.MethodPost { // the form is lost, its page is not
		next = v.referer()
	}
	_ = v.showAs(http.StatusUnauthorized, "sign-in", "Sign in", signingIn{Next: nextOf(next)})
}
