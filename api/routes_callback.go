package api

import (
	"nightshift/api/wire"
	"nightshift/jobs"
)

// callbackPath is that of all callbacks; the run's id follows.
const callbackPath = "/v1/callback/"

const mediaText = "text/plain"

// callbackRoutes are what an attempt under way may call, by its own token.
func callbackRoutes() []*route {
	call := func(method, name string, r route) *route {
		r.method, r.path, r.attempt, r.tag = method, callbackPath+":id/"+name, true, "callback"
		r.problems = append(r.problems, probOver, probNotFound)
		if r.body == 0 && method != "GET" {
			r.body = maxBody
		}
		return &r
	}
	const taken = "Taken in; on disk within 2 s"
	return []*route{
		call("GET", "checkpoint", route{
			handle: getCallbackCheckpoint, id: "get-callback-checkpoint", summary: "Read what to go on from",
			more: "What the operation, or the batch of its checkpoint key, has saved, byte for byte; null where there " +
				"is nothing, which is no error.",
			out: []outcome{{status: 200, body: jobs.Raw(nil)}},
		}),
		call("PUT", "checkpoint", route{
			handle: putCallbackCheckpoint, id: "put-callback-checkpoint", payload: true,
			summary: "Save what the next attempt is to go on from",
			more: "The body is the value: any JSON of at most 256 KiB; a larger one is refused, and what was saved " +
				"stays. It replaces what was saved before; null drops that. 204 means on disk.",
			out: []outcome{{status: 204, doc: "On disk"}},
		}),
		call("GET", "results", route{
			handle: getResults, id: "get-callback-results", summary: "Read the results of all members of a group",
			more: "For the attempts of a merge, in the order of the members: what stands in results of its payload, and all of " +
				"it where that says inlined false. A script finds the same in the file that NIGHTSHIFT_RESULTS names. 404 for " +
				"a run that merges nothing.",
			out: []outcome{{status: 200, body: []wire.GroupResult{}}},
		}),
		call("POST", "progress", route{
			handle: postProgress, id: "post-progress", summary: "Say how far the attempt is", in: progressDocument{},
			more: "Shown at once by the run and its watch link.", out: []outcome{{status: 204, doc: taken}},
		}),
		call("POST", "log", route{
			handle: postLog, id: "post-log", summary: "Add to the output of the run", in: wire.CallbackLog{}, text: true,
			more: "JSON, or any bytes with Content-Type: text/plain. Up to 1 MiB a call; of an attempt 1 MiB is kept.",
			out:  []outcome{{status: 204, doc: taken}},
		}),
		call("POST", "heartbeat", route{
			handle: heartbeat, id: "post-heartbeat", summary: "Say that the attempt is alive",
			more: "Any other call of the callback says so too. A body counts for nothing.",
			out:  []outcome{{status: 204, doc: "It counts from now"}},
		}),
		call("POST", "complete", route{
			handle: complete, id: "complete-attempt", summary: "Give the result",
			in: wire.Complete{}, optional: true,
			more: "With completion callback the run has succeeded then, also where the answer to its request is " +
				"still to come. Of any other attempt it is the result, if that succeeds; the last one told counts. A " +
				"result past 64 KiB is refused. The same call again by the attempt that it ended is answered 200.",
			out: []outcome{{status: 200, body: wire.Told{}, doc: "On disk"}},
		}),
		call("POST", "fail", route{
			handle: fail, id: "fail-attempt", summary: "Say that the attempt has failed",
			in: wire.Fail{}, optional: true,
			more: "With completion callback the attempt is over then. Any other one fails at its end, whatever its " +
				"answer or exit code is, and no complete undoes it. The error's kind is reported; rules decide whether " +
				"there is another attempt. The same call again by the attempt that it ended is answered 200.",
			out: []outcome{{status: 200, body: wire.Told{}, doc: "On disk"}},
		}),
	}
}

// checkpointRoutes are of what a run has saved, for those who watch over it.
func checkpointRoutes() []*route {
	return []*route{
		{
			method: "GET", path: "/v1/runs/:id/checkpoint", opens: scopeRead | scopeEnqueue, handle: getCheckpoint,
			tag: "runs", id: "get-checkpoint", summary: "Read what a run has saved for its next attempt",
			more: "Byte for byte. It belongs to the operation, so requeues share it, or to the batch of the job's " +
				"checkpoint key.",
			out: []outcome{{status: 200, body: jobs.Raw(nil)}}, problems: []problemKind{probNotFound},
		},
		{
			method: "DELETE", path: "/v1/runs/:id/checkpoint", opens: scopeOperate, handle: dropCheckpoint,
			tag: "runs", id: "drop-checkpoint", summary: "Drop it: the next attempt starts from the beginning",
			more: "An attempt that is under way is not told, and may save another one.",
			out:  []outcome{{status: 204}}, problems: []problemKind{probNotFound},
		},
	}
}
