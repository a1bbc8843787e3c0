package web

import (
	"net/http"
	"slices"
	"strings"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/jobs"
)

func accessPages() []page {
	return []page{
		{pattern: "GET /tokens", handle: listTokens},
		{pattern: "POST /tokens", handle: makeToken},
		{pattern: "POST /tokens/{name}/link", handle: linkToken},
		{pattern: "POST /tokens/{name}/revoke", handle: revokeToken},
		{pattern: "GET /secrets", handle: listSecrets},
		{pattern: "POST /secrets", handle: setSecret},
		{pattern: "POST /secrets/{name}/delete", handle: deleteSecret},
		{pattern: "GET /sessions", handle: listSessions},
		{pattern: "POST /sessions/{id}/end", handle: endSession},
	}
}

// listedTokens is the data of the page of tokens.
type listedTokens struct {
	Tokens  []wire.Token
	Next    *string
	Form    tokenForm
	Refused *client.Problem
	Made    *wire.Token // just now: its secret is shown this once
	Link    *wire.Link
	For     string // whose link that is
}

type tokenForm struct {
	Name, Jobs, Expires string
	Scopes              []string
}

// Has reports whether a scope is ticked.
func (f tokenForm) Has(scope string) bool { return slices.Contains(f.Scopes, scope) }

func listTokens(v *view) error {
	return v.showTokens(http.StatusOK, listedTokens{Form: tokenForm{Scopes: []string{"read"}}})
}

func (v *view) showTokens(status int, data listedTokens) error {
	v.Nav = "/server"
	list, err := v.API.Tokens(v.ctx(), v.page(50))
	if err != nil {
		return err
	}
	data.Tokens, data.Next = list.Items, list.Next
	return v.showAs(status, "tokens", "Tokens", data)
}

func makeToken(v *view) error {
	form := tokenForm{Name: v.form("name"), Jobs: v.form("jobs"), Expires: v.form("expires"), Scopes: v.forms("scopes")}
	want := wire.PutToken{Name: form.Name, Scopes: form.Scopes}
	if patterns := strings.FieldsFunc(form.Jobs, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }); len(patterns) > 0 {
		want.Jobs = &patterns
	}
	data := listedTokens{Form: form}
	if want.ExpiresAt, data.Refused = v.untilOf(form.Expires); data.Refused == nil {
		made, err := v.API.CreateToken(v.ctx(), want)
		if err == nil {
			return v.showTokens(http.StatusCreated, listedTokens{Made: &made, Form: tokenForm{Scopes: []string{"read"}}})
		}
		if data.Refused = problem(err); data.Refused == nil {
			return err
		}
	}
	return v.showTokens(data.Refused.Status, data)
}

func linkToken(v *view) error {
	name := v.r.PathValue("name")
	link, err := v.API.Link(v.ctx(), name)
	if err != nil {
		return err
	}
	return v.showTokens(http.StatusCreated, listedTokens{Link: &link, For: name, Form: tokenForm{Scopes: []string{"read"}}})
}

func revokeToken(v *view) error {
	name := v.r.PathValue("name")
	if err := v.API.RevokeToken(v.ctx(), name); err != nil {
		return err
	}
	return v.done("/tokens", "The token "+name+" is revoked.")
}

// listedSecrets is the data of the page of secrets.
type listedSecrets struct {
	Secrets []listedSecret
	Next    *string
	Name    string // that was typed
	Refused *client.Problem
}

type listedSecret struct {
	wire.Secret
	UsedBy []string
}

func listSecrets(v *view) error {
	return v.showSecrets(http.StatusOK, listedSecrets{Name: v.query("name")})
}

func (v *view) showSecrets(status int, data listedSecrets) error {
	v.Nav = "/server"
	list, err := v.API.Secrets(v.ctx(), v.page(50))
	if err != nil {
		return err
	}
	data.Next = list.Next
	for _, s := range list.Items {
		use, err := v.API.SecretUse(v.ctx(), s.Name)
		if p := problem(err); p != nil && p.Status == http.StatusNotFound {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return err
		}
		data.Secrets = append(data.Secrets, listedSecret{s, use.UsedBy})
	}
	return v.showAs(status, "secrets", "Secrets", data)
}

// setSecret gives a secret a value, which no page shows again: not even the one that refuses it.
func setSecret(v *view) error {
	name := v.form("name")
	if jobs.CheckSecretName(name) != nil {
		return v.showSecrets(http.StatusUnprocessableEntity, listedSecrets{
			Name: name, Refused: unfit("The name is none", "Want letters, digits and _, not a digit first, such as API_KEY."),
		})
	}
	_, made, err := v.API.PutSecret(v.ctx(), name, v.form("value"))
	if p := problem(err); p != nil {
		return v.showSecrets(p.Status, listedSecrets{Name: name, Refused: p})
	}
	if err != nil {
		return err
	}
	said := "The secret " + name + " has a new value, from the next attempt on."
	if made {
		said = "The secret " + name + " is set. Runs that waited for it go on."
	}
	return v.done("/secrets", said)
}

func deleteSecret(v *view) error {
	name := v.r.PathValue("name")
	gone, err := v.API.DeleteSecret(v.ctx(), name)
	if err != nil {
		return err
	}
	said := "The secret " + name + " is deleted."
	if len(gone.UsedBy) > 0 {
		said += " Runs of " + strings.Join(gone.UsedBy, ", ") + " wait until it is set again."
	}
	return v.done("/secrets", said)
}

// listedSessions is the data of the page of sessions.
type listedSessions struct {
	Sessions []wire.Session
	Next     *string
	Own      string // the viewer's
}

func listSessions(v *view) error {
	v.Nav = "/server"
	data := listedSessions{Own: v.Who.Session}
	if v.May("admin") && v.Whole() {
		list, err := v.API.Sessions(v.ctx(), v.page(50))
		if err != nil {
			return err
		}
		data.Sessions, data.Next = list.Items, list.Next
	}
	return v.show("sessions", "Sessions", data)
}

func endSession(v *view) error {
	id := v.r.PathValue("id")
	if id == v.Who.Session {
		return signOut(v)
	}
	if err := v.API.EndSession(v.ctx(), id); err != nil {
		return err
	}
	return v.done("/sessions", "The session is ended.")
}
