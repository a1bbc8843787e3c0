package api

import "nightshift/api/wire"

func sessionRoutes() []*route {
	any := scopeRead | scopeEnqueue
	return []*route{
		{
			method: "POST", path: "/v1/sessions", body: maxBody, handle: postSession, tag: "sessions", id: "sign-in",
			summary: "Sign in: a cookie that acts as a token does",
			more: "By a token, or by the code of a link, which is used up. The cookie is HttpOnly and SameSite=Strict, by HTTPS " +
				"also Secure; it ends 12 h after it was last used, after 7 days at most, and with its token. Where it " +
				"stands for a token, calls that change something are taken from pages of this server alone: the browser has " +
				"to say so by Sec-Fetch-Site or Origin. Who tries again and again is refused for a minute.",
			in: wire.SignIn{}, out: []outcome{{status: 201, body: wire.Session{}, doc: "Set-Cookie has the session"}},
			problems: []problemKind{probUnauthorized, probOrigin, probOverload},
		},
		{
			method: "GET", path: "/v1/sessions", opens: scopeAdmin, whole: true, query: paging, handle: listSessions,
			tag: "sessions", id: "list-sessions", summary: "List browsers that have signed in, and links, newest first",
			out: []outcome{{status: 200, body: wire.Sessions{}}},
		},
		{
			method: "DELETE", path: "/v1/sessions", opens: any, handle: signOut, tag: "sessions", id: "sign-out",
			summary: "Sign out: end the session that the call was made in",
			out:     []outcome{{status: 204}}, problems: []problemKind{probState},
		},
		{
			method: "DELETE", path: "/v1/sessions/:id", opens: any, handle: deleteSession, tag: "sessions",
			id: "delete-session", summary: "End a session, or take a link back: its open streams end at once",
			more: "One's own, or with the scope admin anybody's.",
			out:  []outcome{{status: 204}}, problems: []problemKind{probNotFound},
		},
		{
			method: "POST", path: "/v1/tokens/:name/link", opens: scopeAdmin, whole: true, body: maxBody, handle: postLink,
			tag: "tokens", id: "create-link", summary: "Make a link by which somebody may sign in once, as the token does",
			more: "Good for 30 minutes. To open it changes nothing; the button on its page signs in.",
			in:   wire.Empty{}, optional: true, out: []outcome{{status: 201, body: wire.Link{}, doc: "The link is shown this once"}},
			problems: []problemKind{probNotFound},
		},
	}
}
