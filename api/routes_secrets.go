package api

import "nightshift/api/wire"

func secretRoutes() []*route {
	return []*route{
		{
			method: "GET", path: "/v1/secrets", opens: scopeRead, query: paging,
			handle: listSecrets, tag: "secrets", id: "list-secrets",
			summary: "List secrets, newest first, without their values",
			out:     []outcome{{status: 200, body: wire.Secrets{}}},
		},
		{
			method: "POST", path: "/v1/secrets", opens: scopeAdmin, whole: true, body: maxBody,
			handle: postSecret, tag: "secrets", id: "create-secret", summary: "Make a secret",
			in:       wire.PutSecret{},
			more:     "No answer ever shows the value.",
			out:      []outcome{{status: 201, body: wire.SecretUse{}, etag: true}},
			problems: []problemKind{probExists},
		},
		{
			method: "GET", path: "/v1/secrets/:name", opens: scopeRead, handle: getSecret,
			tag: "secrets", id: "get-secret", summary: "Show a secret without its value",
			more:     "Of the jobs that name it, those that the token reaches.",
			out:      []outcome{{status: 200, body: wire.SecretUse{}, etag: true}},
			problems: []problemKind{probNotFound},
		},
		{
			method: "PUT", path: "/v1/secrets/:name", opens: scopeAdmin, whole: true, body: maxBody,
			handle: putSecret, tag: "secrets", id: "put-secret", summary: "Make a secret, or give it a value",
			in: wire.PutSecret{},
			more: "Attempts that start from now on see it, and runs that were held for want of it go on. " +
				"The same value again changes nothing.",
			headers: []param{headerMatch, headerNone},
			out: []outcome{
				{status: 200, body: wire.SecretUse{}, etag: true, doc: "Replaced, or the same as it stood"},
				{status: 201, body: wire.SecretUse{}, etag: true, doc: "Made"},
			},
			problems: []problemKind{probStale},
		},
		{
			method: "DELETE", path: "/v1/secrets/:name", opens: scopeAdmin, whole: true,
			handle: deleteSecret, tag: "secrets", id: "delete-secret", summary: "Delete a secret",
			more:    "Runs of jobs that name it are held until it is there again.",
			headers: []param{headerMatch}, out: []outcome{{status: 200, body: wire.DeletedSecret{}}},
			problems: []problemKind{probNotFound, probStale},
		},
		{
			method: "POST", path: "/v1/secrets/rotate-key", opens: scopeAdmin, whole: true, body: maxBody,
			handle: rotateKey, tag: "secrets", id: "rotate-key",
			summary: "Seal all secrets with a new key",
			more: "The key file gets a new key; the one before stays in it until the next rotation, to open backups " +
				"of the time before, watch links, and the callbacks of attempts that are under way. Where the key comes from NIGHTSHIFT_KEY, start the server " +
				"with NIGHTSHIFT_KEY=NEW,OLD first: what OLD sealed is then sealed with NEW.",
			in: wire.Empty{}, optional: true, out: []outcome{{status: 200, body: wire.RotatedKey{}}},
			problems: []problemKind{probState},
		},
	}
}
