package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"nightshift/api"
	"nightshift/api/cli/doctor"
	"nightshift/jobs"
	"nightshift/store"
)

// tellWrong logs what is wrong with the machine, the folder and the file.
func (sv *serving) tellWrong(facts *doctor.Facts) {
	for _, found := range doctor.AtStart(facts) {
		level := slog.LevelWarn
		if found.Level == doctor.Error {
			level = slog.LevelError
		}
		sv.log.Log(sv.s.ctx, level, found.Found, "check", found.Check, "advice", found.Advice)
	}
}

// The tokens that the server makes by itself, and who they were made by.
const (
	firstToken  = "admin"       // at the first start
	envToken    = "environment" // from NIGHTSHIFT_TOKEN
	serverActor = "server"
	minSecret   = 20 // characters of NIGHTSHIFT_TOKEN
)

// tokenState says where the token of the administrator is.
type tokenState struct {
	file string // "": there is none
	made bool   // at this start
	env  bool   // it is that of the environment
}

// bootstrap sees that somebody can call the server: with the token of the environment, or one that
// the first start makes and writes beside the database.
func bootstrap(
	ctx context.Context, st store.Store, db, secret string,
) (state tokenState, err error) {
	all, err := st.Tokens(ctx)
	if err != nil {
		return state, fmt.Errorf("read tokens: %w", err)
	}
	by := store.By{Actor: serverActor, Now: jobs.TimeOf(time.Now())}
	if secret != "" {
		if len(secret) < minSecret {
			return state, fmt.Errorf("NIGHTSHIFT_TOKEN: want at least %d characters", minSecret)
		}
		if known := otherToken(all, secret); known == nil {
			return tokenState{env: true}, putAdmin(ctx, st, envToken, secret, by)
		} else if !isAdmin(known) {
			return state, fmt.Errorf("NIGHTSHIFT_TOKEN is the token %s, which may not do everything: "+
				"want one of its own for the server", known.Name)
		}
		return tokenState{env: true}, dropEnvToken(ctx, st, all, by)
	}
	if err := dropEnvToken(ctx, st, all, by); err != nil {
		return state, err
	}
	path := tokenPath(db)
	for _, t := range all {
		if t.Name != envToken {
			if _, err := os.Stat(path); err == nil {
				state.file = path
			}
			return state, nil
		}
	}
	// The file first: a token nobody knows would lock everybody out.
	secret = api.NewSecret()
	if err := writeSecret(path, secret); err != nil {
		return state, fmt.Errorf("write the token: %w", err)
	}
	return tokenState{file: path, made: true}, putAdmin(ctx, st, firstToken, secret, by)
}

func putAdmin(ctx context.Context, st store.Store, name, secret string, by store.By) error {
	_, err := st.PutToken(ctx, store.Token{
		Name: name, Hash: api.HashSecret(secret), Scopes: []string{"admin"}, CreatedAt: by.Now,
	}, nil, by)
	if err != nil {
		return fmt.Errorf("save the token %s: %w", name, err)
	}
	return nil
}

// otherToken is the token that has this secret and was not made from the environment; nil: none.
func otherToken(all []store.Token, secret string) *store.Token {
	hash := api.HashSecret(secret)
	for i := range all {
		if t := &all[i]; t.Name != envToken && t.Hash == hash {
			return t
		}
	}
	return nil
}

// isAdmin reports whether a token may do everything, for good.
func isAdmin(t *store.Token) bool {
	return slices.Contains(t.Scopes, "admin") && t.Jobs == nil && t.ExpiresAt == 0
}

// dropEnvToken revokes the token of an environment that does not hold one any more.
func dropEnvToken(ctx context.Context, st store.Store, all []store.Token, by store.By) error {
	for _, t := range all {
		if t.Name == envToken {
			return st.DeleteToken(ctx, envToken, by)
		}
	}
	return nil
}

// writeSecret writes a file that only its owner may read, whole or not at all.
func writeSecret(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text + "\n")
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	return err
}

func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
