package wire

import "nightshift/jobs"

// Session is a browser that has signed in, or a link by which one may.
type Session struct {
	ID        string    `json:"id" doc:"What it is called; it opens nothing"`
	Token     string    `json:"token" doc:"The name of the token that it acts as"`
	Link      bool      `json:"link" doc:"Nobody has signed in by it yet: it is a link that does so once"`
	Current   bool      `json:"current" doc:"The call was made in it"`
	From      string    `json:"from" doc:"The address that signed in"`
	Agent     string    `json:"agent" doc:"The browser, as it calls itself"`
	CreatedAt jobs.Time `json:"created_at"`
	LastUsed  jobs.Time `json:"last_used_at" doc:"To the minute; null: never"`
	Until     jobs.Time `json:"until" doc:"It ends then, and 12 h after it was last used"`
}

// Sessions is a page of sessions, newest first.
type Sessions struct {
	Items []Session `json:"items"`
	Next  *string   `json:"next"`
	Limit int       `json:"limit"`
}

// SignIn asks for a session.
type SignIn struct {
	Token string `json:"token,omitempty" doc:"A token. Or link"`
	Link  string `json:"link,omitempty" doc:"The code of a link: what follows link= in it. Or token"`
}

// Link is a link by which somebody may sign in once.
type Link struct {
	Link  string    `json:"link" doc:"To open in a browser"`
	Until jobs.Time `json:"until" doc:"It is good until then, or until somebody has used it"`
}
