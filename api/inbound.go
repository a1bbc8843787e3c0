package api

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/runtime"
)

// doorRetry is when a sender may try a door again that is shut.
const doorRetry = time.Minute

// knock takes a delivery in: the door's signature, or the secret in the path, is all it asks for.
func knock(c *call) error {
	body, err := c.body(c.route.body)
	if err != nil {
		return err
	}
	delivery := runtime.Delivery{
		Job: c.Param("name"), Door: c.Param("door"),
		Request: jobs.DoorRequest{
			Headers: lowerHeaders(c.Request().Header), Body: body, PathSecret: c.pathSecret(),
		},
	}
	if parent := c.Request().Header.Get("Traceparent"); traceparent.MatchString(parent) {
		delivery.Traceparent = parent
	}
	made, admitted, err := c.s.rt.Deliver(c.ctx(), delivery)
	switch {
	case errors.Is(err, runtime.ErrRefused):
		return c.turnedAway(&delivery, err)
	case errors.Is(err, runtime.ErrDoorShut):
		return &problem{
			kind: probShut, retryAfter: doorRetry,
			detail: "a secret that this door needs is not set on the server; send it again later",
		}
	case err != nil:
		return within("body", err)
	case !admitted:
		return c.NoContent(http.StatusNoContent)
	}
	brief := briefOf(made.Submitted)
	return c.answer(http.StatusAccepted, &brief)
}

// pathSecret is the last element of the path. The router leaves it as it came where it holds %2F.
func (c *call) pathSecret() string {
	secret := c.Param("secret")
	if c.Request().URL.RawPath != "" {
		if plain, err := url.PathUnescape(secret); err == nil {
			return plain
		}
	}
	return secret
}

// turnedAway logs why, for whoever sets the door up. Who has not shown the secret is not told: all
// doors are alike to them, those that are not there too.
func (c *call) turnedAway(d *runtime.Delivery, err error) error {
	why, told := "there is no such door", "want the signature of the sender that the door is for"
	var refused *jobs.RefusedError
	if errors.As(err, &refused) {
		why = refused.Message
		if refused.Reason == jobs.RefusedStale { // signed by the secret all the same
			told = why
		}
	}
	c.s.log.Warn("a delivery was refused", "job", clip(d.Job), "door", clip(d.Door), "error", why)
	return refuse(probSignature, "%s", told)
}

// lowerHeaders are headers by lower-case name; several values of one are joined by ", ".
func lowerHeaders(h http.Header) map[string]string {
	lower := make(map[string]string, len(h))
	for name, values := range h {
		lower[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return lower
}

func inboundRoutes() []*route {
	door := func(path, id, summary string) *route {
		return &route{
			method: "POST", path: path, handle: knock, body: jobs.MaxPayload, payload: true,
			tag: "inbound", id: id, summary: summary,
			more: "No token: the signature is the door. The body is the payload, byte for byte. 202 once the " +
				"run is on disk; a delivery whose id was seen in the last 7 days is answered with the run " +
				"it made and duplicate true. So is one that finds a run standing by its unique key: that is " +
				"noted there, whatever on_conflict says. 204 where the door's if is false: nothing was made.",
			out: []outcome{
				{status: 202, body: wire.Brief{}, doc: "A run was made, on disk, or stands for this delivery"},
				{status: 204, doc: "The door's if is false"},
			},
			problems: []problemKind{probSignature, probShut, probTooMany},
		}
	}
	return []*route{
		door("/in/:name/:door", "deliver", "Deliver what a sender has signed"),
		door("/in/:name/:door/:secret", "deliver-secret", "Deliver to a door whose secret is in its URL"),
	}
}
