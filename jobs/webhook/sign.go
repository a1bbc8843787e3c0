package webhook

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"nightshift/jobs"
)

// signHeaders is how many headers a signature adds.
const signHeaders = 3

// sign takes the secrets that sign, one or two while one is rotated.
func (p *plan) sign(secrets []string) error {
	for _, secret := range secrets {
		key, err := jobs.SigningKey(secret)
		if err != nil {
			return fmt.Errorf("signing_secret: %w", err)
		}
		p.keys = append(p.keys, key)
	}
	for _, name := range []string{jobs.HeaderWebhookID, jobs.HeaderWebhookTimestamp} {
		if p.keys != nil && strings.Contains(p.own[name], ".") {
			return fmt.Errorf("the value of header %s has a full stop, "+
				"which parts what is signed: want one without", strings.ToLower(name))
		}
	}
	return nil
}

// sign adds a signature over what is sent: an id or a time that the job sets itself is signed.
func (h *headers) sign(id string, content []byte, now time.Time) {
	stamp := strconv.FormatInt(now.Unix(), 10)
	h.add(jobs.HeaderWebhookID, id)
	h.add(jobs.HeaderWebhookTimestamp, stamp)
	if own, ok := h.plan.own[jobs.HeaderWebhookID]; ok {
		id = own
	}
	if own, ok := h.plan.own[jobs.HeaderWebhookTimestamp]; ok {
		stamp = own
	}
	h.add(jobs.HeaderWebhookSignature, jobs.SignWebhook(h.plan.keys, id, stamp, content))
}
