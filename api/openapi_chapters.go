package api

import "strings"

// chapter tells of something that takes several calls, or is said in answers of other servers.
type chapter struct {
	Name  string // of lower-case letters
	Parts []passage
}

// passage is a text, and what shows it.
type passage struct{ Text, Code string }

// chapters are those of the description, in its order.
var chapters = []chapter{
	{"callbacks", []passage{
		{
			Text: "An attempt may speak while it is under way: what the next one is to go on from, how far it is, what " +
				"belongs to its output, what came of it. A webhook gets the address of its run's callback in the header " +
				"Nightshift-Callback and a token in Nightshift-Token, a script in the variables NIGHTSHIFT_CALLBACK and " +
				"NIGHTSHIFT_CALLBACK_TOKEN. The token is good for the calls below that address, by this attempt, while its " +
				"run is running or waiting. No token of the server opens them, and it opens nothing else. For a webhook the " +
				"address begins with the server's --url, for a script it is one of this machine.",
			Code: `curl -sS --fail-with-body "$NIGHTSHIFT_CALLBACK/progress" \
  -H "Authorization: Bearer $NIGHTSHIFT_CALLBACK_TOKEN" \
  -d '{"done": 4900, "total": 10000, "note": "third file"}'`,
		},
		{
			Text: "Answers: 200 and 204, it is on disk (progress, log and heartbeat: taken in, and on disk within 2 s); 401, " +
				"this is not the token of an attempt of this run; 404, the run is not kept any more; 409 over, the attempt " +
				"has ended and nothing was changed: state says what the run is now, and the work can stop; 413, a body or a " +
				"value is too large, and what was said before stays; 422, with every fault and where. After 503 the same call " +
				"may be sent again: all but log have no effect of their own the second time.",
		},
		{
			Text: "With completion: callback an answer 202 means that the receiver has taken the work on; any other answer is " +
				"judged as usual. The request has 30 s. The run is waiting then: it holds its slots but no worker, over " +
				"restarts of the server too, until complete or fail. Both are good from the moment the request is sent, " +
				"and may be repeated. timeout (24h where left out, and at most) counts from the start of the attempt. Where " +
				"heartbeat_timeout is set, an attempt that makes no call for that long has failed, kind heartbeat; after a " +
				"start of the server a whole one passes first. In the example CALLBACK and TOKEN are what came in the headers.",
			Code: `curl -sS --fail-with-body "$CALLBACK/complete" \
  -H "Authorization: Bearer $TOKEN" \
  -d '{"result": {"rows": 10000}}'

curl -sS --fail-with-body "$CALLBACK/fail" \
  -H "Authorization: Bearer $TOKEN" \
  -d '{"type": "RateLimited", "message": "100 calls a minute", "retryable": true, "retry_after": "90s"}'`,
		},
		{
			Text: "For any other attempt complete sets the result, which counts if the attempt succeeds, and fail makes it " +
				"fail whatever its exit code or answer is. Once the server has stopped an attempt (timeout, cancel, shutdown) " +
				"that is its outcome.",
		},
	}},
	{"checkpoints", []passage{
		{
			Text: "A checkpoint is any JSON of at most 256 KiB that an attempt saves, and the next one starts from: after a " +
				"failure, a timeout, a deploy, a crash of the server, and after a requeue. 204 to a PUT means that it is on " +
				"disk. A script finds it in the file that NIGHTSHIFT_CHECKPOINT names (empty: there is none), a webhook in the " +
				"header Nightshift-Checkpoint; one of more than 4 KiB is announced there by Nightshift-Checkpoint-Size, and read by GET.",
			Code: `auth="Authorization: Bearer $NIGHTSHIFT_CALLBACK_TOKEN"
curl -sS --fail-with-body "$NIGHTSHIFT_CALLBACK/checkpoint" -H "$auth"   # null, or what was saved
curl -sS --fail-with-body -X PUT "$NIGHTSHIFT_CALLBACK/checkpoint" -H "$auth" \
  -d '{"offset": 4900}'`,
		},
		{
			Text: "It belongs to the operation: the run, and runs made by requeueing it unchanged. An attempt that is over " +
				"cannot write it. It is dropped when the run succeeds, and else kept while a run of the operation is " +
				"unfinished or its failure is open, and for checkpoint.ttl (24h where left out) after that or the last write; it " +
				"is gone a minute or so later, unless a new run needs it by then. " +
				"With checkpoint.key it belongs to the batch that the key names: a new run of the same key goes on from it, and " +
				"waits, held by kind checkpoint, while an earlier one of that key has not ended. A requeue with reset or " +
				"another payload starts without one.",
		},
		{
			Text: "A script may also print it, and so may say its progress, result and error: a line of its standard output " +
				"that begins with ::nightshift and goes on with JSON. Or it calls nightshift checkpoint set, which is on its PATH. " +
				"A webhook that fails may answer application/problem+json with the members checkpoint and progress, beside type, " +
				"detail, retryable and retry_after.",
			Code: `echo '::nightshift {"checkpoint": {"offset": 4900}, "progress": {"done": 4900, "total": 10000}}'
nightshift checkpoint set '{"offset": 4900}'`,
		},
	}},
	{"continue", []passage{
		{
			Text: "A webhook whose work takes longer than a request may do it in slices. It answers a request with success, " +
				"the header Nightshift-Continue: true, and a JSON object with a checkpoint and, if it likes, progress: both are saved, and " +
				"the same run is called again with that checkpoint. The answer without the header ends the run. This is how a " +
				"slice is called, and how it may answer.",
			Code: `curl -sS -i https://example.com/hooks/sync \
  -H 'Content-Type: application/json' \
  -H 'Idempotency-Key: ` + sampleRun + `-1' \
  -H 'Nightshift-Checkpoint: {"offset":4900}' \
  -d '{"since": "yesterday"}'

HTTP/1.1 200 OK
Content-Type: application/json
Nightshift-Continue: true

{"checkpoint": {"offset": 9800}, "progress": {"done": 9800, "total": 10000}}`,
		},
		{
			Text: "The slices are one attempt, and each has the timeout of its own. After a good one attempts and backoff " +
				"count anew. Between two the run is running without a worker: it keeps the slot of its job's concurrency, " +
				"takes rate and dependencies anew (held_by says what it waits for), and pause, cancel and shutdown act there. " +
				"After k slices of the operation, requeues included, Idempotency-Key and webhook-id are OPERATION-k. A checkpoint " +
				"that is missing, the same as before or of more than 4 KiB, and the 10,001st continue of an operation, fail " +
				"the attempt, kind invalid.",
		},
	}},
	groupsChapter,
	{"alerts", alertPassages},
}

// groupsChapter is of what the merge of a group gets.
var groupsChapter = chapter{"groups", []passage{
	{
		Text: "A group runs members side by side, each a run of a job under that job's own rules. When the last one has ended, " +
			"however it did, its merge is made, once, and gets what became of all of them, in the order of the members:",
		Code: `{"group": "` + sampleGroup + `",
 "succeeded": ["orders", "prices"], "failed": ["stock"], "missing": [],
 "results": [
  {"name": "orders", "job": "fetch-orders", "run": "` + sampleRun + `", "state": "succeeded",
   "result": {"rows": 1402}, "error": null},
  {"name": "stock", "job": "fetch-stock", "run": "` + sampleMember + `", "state": "failed",
   "result": null, "error": {"kind": "http", "type": "http", "message": "503 Service Unavailable"}},
  {"name": "prices", "job": "fetch-prices", "run": "` + sampleRequeue + `", "state": "succeeded",
   "result": {"rows": 92}, "error": null}]}`,
	},
	{
		Text: "missing are members that were cancelled, are not kept, or had not ended by the deadline. The payload is composed " +
			"before the first attempt of the merge, and kept: each attempt and a requeue of it get the same. Results are byte " +
			"for byte what the jobs gave. Where it would be more than 1 MiB, results is [], inlined is false, and the whole array " +
			"is read with the token of the attempt; a script finds it in the file that NIGHTSHIFT_RESULTS names.",
		Code: `curl -sS --fail-with-body "$CALLBACK/results" -H "Authorization: Bearer $TOKEN"`,
	},
	{
		Text: "The group ends as its merge does, with its result; without a merge, with the result null. With fewer good members " +
			"than need, and where on_member_failure is cancel_rest at the first that is not good, no merge is made and it fails, " +
			"kind group; a merge that failed gives the kind merge. The event group.partial names what is not good. A member that " +
			"is requeued takes the place of the run before: the group waits for it while it has not made its merge, and later " +
			"POST /v1/runs/GROUP/remerge merges it in. A requeue of the group keeps the members that succeeded.",
	},
}}

// chaptersText is all of them as Markdown.
func chaptersText() string {
	var b strings.Builder
	for _, c := range chapters {
		b.WriteString("\n## " + strings.ToUpper(c.Name[:1]) + c.Name[1:] + "\n")
		for _, p := range c.Parts {
			b.WriteString("\n" + p.Text + "\n")
			if p.Code != "" {
				b.WriteString("\n```\n" + p.Code + "\n```\n")
			}
		}
	}
	return b.String()
}
