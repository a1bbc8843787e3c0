package words

import (
	"strings"

	"nightshift/jobs"
)

// Work says in short what a version executes.
func Work(spec jobs.Spec) string {
	switch {
	case spec.Webhook != nil:
		method := spec.Webhook.Method
		if method == "" {
			method = "POST"
		}
		return method + " " + spec.Webhook.URL
	case spec.Script != nil && spec.Script.Path != "":
		return spec.Script.Path
	case spec.Script != nil:
		return spec.Script.Source
	case spec.Mail != nil:
		return "mail to " + strings.Join(spec.Mail.To, ", ")
	case spec.Group != nil:
		return "a group of " + CountOf(len(spec.Group.Members), "member")
	}
	return ""
}
