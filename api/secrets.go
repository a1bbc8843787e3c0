package api

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	page := c.page()
	if page.Cursor != "" {
		after, err := secretCursor(page.Cursor)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(s runtime.SecretInfo) bool { return newerSecret(s, after) <= 0 })
	}
	slices.SortFunc(all, newerSecret)
	list := wire.Secrets{Items: make([]wire.Secret, min(len(all), page.Limit)), Limit: page.Limit}
	for i := range list.Items {
		list.Items[i] = viewSecret(all[i])
	}
	if len(all) > page.Limit {
		last := all[page.Limit-1]
		list.Next = orNull(fmt.Sprintf("%d.%s", last.CreatedAt, last.Name))
	}
	return c.answer(200, &list)
}

// newerSecret orders secrets as lists do: the newest first.
func newerSecret(a, b runtime.SecretInfo) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), strings.Compare(a.Name, b.Name))
}

// secretCursor is the secret behind which a page begins, as far as the order needs it.
func secretCursor(cursor string) (s runtime.SecretInfo, err error) {
	at, name, found := strings.Cut(cursor, ".")
	created, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !found || jobs.CheckSecretName(name) != nil {
		return s, fault("query.cursor", "not a cursor of this list: give next of the page before")
	}
	return runtime.SecretInfo{Name: name, CreatedAt: jobs.Time(created)}, nil
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
	return c.saveSecret(body.Name, body.Value, func(_ runtime.SecretInfo, stands bool) error {
		if stands {
			return store.ErrExists
		}
		return nil
	})
}

func putSecret(c *call) error {
	name := c.Param("name")
	if err := jobs.CheckSecretName(name); err != nil {
		c.addBad("path.name", err.Error())
	}
	var body wire.PutSecret
	err := c.decode(&body, func() []jobs.Fault {
		faults := checkSecret(&body)
		if body.Name != "" && body.Name != name {
			faults = append(faults, jobs.Fault{
				Location: "name",
				Message:  "the path names another secret: leave the name out or write the same",
			})
		}
		return faults
	})
	if err != nil {
		return err
	}
	match, none := c.condition("If-Match"), c.condition("If-None-Match")
	return c.saveSecret(name, body.Value, func(standing runtime.SecretInfo, stands bool) error {
		if match.given && !match.holds(stands, standing.Revision) ||
			none.given && none.holds(stands, standing.Revision) {
			return store.ErrStale
		}
		return nil
	})
}

func (c *call) saveSecret(
	name, value string, may func(standing runtime.SecretInfo, stands bool) error,
) error {
	info, created, err := c.s.rt.Secrets().Put(c.ctx(), name, value, c.by(""), may)
	if err != nil {
		return err
	}
	status := 200
	if created {
		status = 201
		c.Response().Header().Set("Location", "/v1/secrets/"+name)
	}
	return c.answerSecret(status, info)
}

func deleteSecret(c *call) error {
	match, name := c.condition("If-Match"), c.Param("name")
	err := c.s.rt.Secrets().Delete(c.ctx(), name, c.by(""), func(standing runtime.SecretInfo) error {
		if match.given && !match.holds(true, standing.Revision) {
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
