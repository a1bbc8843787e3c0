package api

import (
	"errors"
	"slices"

	"nightshift/api/wire"
	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
)

func viewSecret(s runtime.SecretInfo) wire.Secret {
	return wire.Secret{
		Name: s.Name, Readable: s.Readable, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
}

func noSecret() error { return refuse(probNotFound, "there is no such secret") }

func listSecrets(c *call) error {
	all := c.s.rt.Secrets().List()
	items, next, err := cut(c, all, func(s runtime.SecretInfo) rank {
		return rank{s.CreatedAt, s.Name}
	}, jobs.CheckSecretName)
	if err != nil {
		return err
	}
	list := wire.Secrets{Items: make([]wire.Secret, len(items)), Next: next, Limit: c.page().Limit}
	for i := range items {
		list.Items[i] = viewSecret(items[i])
	}
	return c.answer(200, &list)
}

func getSecret(c *call) error {
	info, err := c.s.rt.Secrets().Info(c.Param("name"))
	if err != nil {
		return noSecret()
	}
	return c.answerSecret(200, info)
}

func (c *call) answerSecret(status int, info runtime.SecretInfo) error {
	users, err := c.s.rt.SecretUsers(c.ctx(), info.Name)
	if err != nil {
		return err
	}
	users = slices.DeleteFunc(users, func(job string) bool { return !c.who.reaches(job) })
	c.Response().Header().Set("ETag", etag(info.Revision))
	return c.answer(status, &wire.SecretUse{
		Name: info.Name, Readable: info.Readable, CreatedAt: info.CreatedAt, UpdatedAt: info.UpdatedAt,
		UsedBy: orEmpty(users),
	})
}

// orEmpty is a list that is written as [], not as null.
func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func checkSecret(body *wire.PutSecret) (faults []jobs.Fault) {
	if err := jobs.CheckSecret(body.Value); err != nil {
		faults = append(faults, jobs.Fault{Location: "value", Message: err.Error()})
	}
	return faults
}

func postSecret(c *call) error {
	var body wire.PutSecret
	err := c.decode(&body, func() []jobs.Fault {
		faults := checkSecret(&body)
		if err := jobs.CheckSecretName(body.Name); err != nil {
			faults = append(faults, jobs.Fault{Location: "name", Message: err.Error()})
		}
		return faults
	})
	if err != nil {
		return err
	}
	return c.saveSecret(body.Name, body.Value, mayMake)
}

func putSecret(c *call) error {
	name := c.Param("name")
	if err := jobs.CheckSecretName(name); err != nil {
		c.addBad("path.name", err.Error())
	}
	var body wire.PutSecret
	err := c.decode(&body, func() []jobs.Fault {
		return append(checkSecret(&body), otherName("secret", body.Name, name)...)
	})
	if err != nil {
		return err
	}
	return c.saveSecret(name, body.Value, c.mayChange)
}

func (c *call) saveSecret(
	name, value string, may func(stands bool, revision int64) error,
) error {
	info, created, err := c.s.rt.Secrets().Put(c.ctx(), name, value, c.by(""),
		func(standing runtime.SecretInfo, stands bool) error { return may(stands, standing.Revision) })
	if err != nil {
		return err
	}
	return c.answerSecret(c.saved(created, "secrets", name), info)
}

func deleteSecret(c *call) error {
	match, name := c.condition("If-Match"), c.Param("name")
	err := c.s.rt.Secrets().Delete(c.ctx(), name, c.by(""), func(standing runtime.SecretInfo) error {
		if match.fails(true, standing.Revision) {
			return store.ErrStale
		}
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return noSecret()
	}
	if err != nil {
		return err
	}
	users, err := c.s.rt.SecretUsers(c.ctx(), name)
	if err != nil {
		return err
	}
	return c.answer(200, &wire.DeletedSecret{UsedBy: orEmpty(users)})
}

func rotateKey(c *call) error {
	var body wire.Empty
	if err := c.decodeOptional(&body); err != nil {
		return err
	}
	done, err := c.s.rt.Secrets().Rotate(c.ctx(), c.by(""))
	if errors.Is(err, runtime.ErrKeysGiven) {
		return refuse(probState, "the key comes from NIGHTSHIFT_KEY, which the server cannot change, and "+
			"all secrets that can be read are sealed with it: make another (openssl rand -hex 32), start "+
			"the server with NIGHTSHIFT_KEY=NEW,OLD, rotate again, and leave OLD out from the next start on")
	}
	if err != nil {
		return err
	}
	return c.answer(200, &wire.RotatedKey{
		Resealed: done.Resealed, Unreadable: orEmpty(done.Unreadable),
	})
}
