package webhook

import (
	"fmt"
	"net/http"
	"time"

	"nightshift/jobs"
)

// callbackWait is how long the request of a job with completion callback may take: it hands the work
// over, and nothing else.
const callbackWait = 30 * time.Second

var errHandOver = fmt.Errorf("no answer within %s", jobs.Duration(callbackWait))

// accepted reports whether the answer says that the receiver has taken the work on: the headers will
// do, whatever becomes of the body.
func (x *exchange) accepted(call *jobs.Call) bool {
	return x.resp != nil && x.resp.StatusCode == http.StatusAccepted && call.Spec.Webhook.CallsBack()
}
