package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nightshift/jobs"
	"nightshift/runtime"
	"nightshift/store"
	"nightshift/store/sqlite"
)

// vault is a database file and the keys beside it, as they outlive a process.
type vault struct {
	t    *testing.T
	path string
	keys [][]byte

	st  store.Store
	rt  *runtime.Runtime
	log bytes.Buffer
}

func newVault(t *testing.T) *vault {
	v := &vault{t: t, path: filepath.Join(t.TempDir(), "n.db"), keys: [][]byte{keyOf(1)}}
	v.start(v.save, nil)
	t.Cleanup(func() {
		if err := v.st.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

func keyOf(n byte) []byte { return bytes.Repeat([]byte{n}, runtime.KeySize) }

func (v *vault) save(keys [][]byte) error {
	v.keys = keys
	return nil
}

// start is a start of the server; wrap puts something around the store.
func (v *vault) start(save func([][]byte) error, wrap func(store.Store) store.Store) {
	v.t.Helper()
	ctx := context.Background()
	if v.st != nil {
		if err := v.st.Close(); err != nil {
			v.t.Fatal(err)
		}
	}
	st, err := sqlite.Open(ctx, v.path, sqlite.Config{})
	if err != nil {
		v.t.Fatal(err)
	}
	v.st = st
	if wrap != nil {
		st = wrap(st)
	}
	v.log.Reset()
	v.rt, err = runtime.New(ctx, runtime.Config{
		Store: st, Keys: v.keys, SaveKeys: save, Log: slog.New(slog.NewTextHandler(&v.log, nil)),
	})
	if err != nil {
		v.t.Fatal(err)
	}
}

func (v *vault) by() store.By { return store.By{Actor: "test", Now: v.rt.Now()} }

func (v *vault) put(name, value string) (info runtime.SecretInfo, created bool) {
	v.t.Helper()
	info, created, err := v.rt.Secrets().Put(context.Background(), name, value, v.by(), anySecret)
	if err != nil {
		v.t.Fatal(err)
	}
	return info, created
}

func anySecret(runtime.SecretInfo, bool) error { return nil }

func (v *vault) wants(name, value string) {
	v.t.Helper()
	if got, ok := v.rt.Secrets().Lookup(name); got != value || ok != (value != "") {
		v.t.Errorf("secret %s is %q, %t; want %q", name, got, ok, value)
	}
}

func TestSecretsAreKeptSealedAndReadAtTheNextStart(t *testing.T) {
	v := newVault(t)
	if info, created := v.put("API", "hunter2hunter2"); !created || !info.Readable || info.Revision != 1 {
		t.Errorf("got %+v, created %t", info, created)
	}
	if info, created := v.put("API", "correct-horse"); created || info.Revision != 2 {
		t.Errorf("got %+v, created %t", info, created)
	}
	if info, created := v.put("API", "correct-horse"); created || info.Revision != 2 {
		t.Errorf("the same again: %+v, created %t", info, created)
	}
	v.put("OTHER", "another value")
	v.wants("API", "correct-horse")
	v.wants("NONE", "")
	if missing := v.rt.Secrets().Missing([]string{"API", "NONE"}); len(missing) != 1 || missing[0] != "NONE" {
		t.Errorf("missing %q", missing)
	}
	v.start(v.save, nil)
	v.wants("API", "correct-horse")
	if err := v.rt.Secrets().Delete(context.Background(), "OTHER", v.by(),
		func(runtime.SecretInfo) error { return nil }); err != nil {
		t.Fatal(err)
	}
	v.wants("OTHER", "")
	v.start(v.save, nil)
	v.wants("OTHER", "")
	files, err := filepath.Glob(v.path + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{"hunter2hunter2", "correct-horse", "another value"} {
			if bytes.Contains(text, []byte(value)) {
				t.Errorf("%s holds %q", filepath.Base(file), value)
			}
		}
	}
}

func TestASealedValueOpensUnderItsOwnNameAlone(t *testing.T) {
	v := newVault(t)
	v.put("OPEN_TO_ALL", "not so secret")
	v.put("ROOT", "the crown jewels")
	ctx := context.Background()
	all, err := v.st.Secrets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Name == "ROOT" {
			put := store.PutSecret{Name: "OPEN_TO_ALL", Sealed: s.Sealed}
			if _, _, err := v.st.PutSecret(ctx, put, v.by()); err != nil {
				t.Fatal(err)
			}
		}
	}
	v.start(v.save, nil)
	v.wants("OPEN_TO_ALL", "")
	v.wants("ROOT", "the crown jewels")
}

func TestSecretsOfAnotherKeyAreMissingAndTheStartSaysWhich(t *testing.T) {
	v := newVault(t)
	v.put("API", "hunter2hunter2")
	v.put("OTHER", "correct-horse")
	v.keys = [][]byte{keyOf(2)}
	v.start(v.save, nil)
	v.wants("API", "")
	if text := v.log.String(); !strings.Contains(text, `secrets="API OTHER"`) || strings.Contains(text, "hunter2") {
		t.Errorf("log %s", text)
	}
	if info, err := v.rt.Secrets().Info("API"); err != nil || info.Readable {
		t.Errorf("got %+v, %v", info, err)
	}
	if info, created := v.put("API", "a new value"); created || !info.Readable {
		t.Errorf("got %+v, created %t", info, created)
	}
	v.wants("API", "a new value")
	v.keys = append(v.keys, keyOf(1))
	v.start(v.save, nil)
	v.wants("OTHER", "correct-horse")
}

// failing is a store whose Reseal fails, before or after it did its work.
type failing struct {
	store.Store
	after bool
}

var errKilled = errors.New("killed")

func (f failing) Reseal(ctx context.Context, secrets []store.Secret, by store.By) error {
	if f.after {
		if err := f.Store.Reseal(ctx, secrets, by); err != nil {
			return err
		}
	}
	return errKilled
}

func TestARotationMayBeKilledAnywhere(t *testing.T) {
	for _, at := range []string{"before the first write", "after it", "before the seals", "after them", "at the last write", "never"} {
		t.Run(at, func(t *testing.T) {
			v := newVault(t)
			link, fence := v.rt.WatchKey(jobs.ID{1}), store.Fence{Run: jobs.ID{1}, Number: 2}
			token := v.rt.CallbackToken(fence)
			for i := range 20 {
				v.put(fmt.Sprint("S", i), fmt.Sprint("the value ", i))
			}
			writes := 0
			save := func(keys [][]byte) error {
				writes++
				if at == "before the first write" || at == "at the last write" && writes == 2 {
					return errKilled
				}
				v.keys = keys
				if at == "after it" {
					return errKilled
				}
				return nil
			}
			v.start(save, func(st store.Store) store.Store {
				if strings.Contains(at, "seals") || strings.Contains(at, "them") {
					return failing{Store: st, after: at == "after them"}
				}
				return st
			})
			done, err := v.rt.Secrets().Rotate(context.Background(), v.by())
			if at == "at the last write" || at == "never" {
				if err != nil || done.Resealed != 20 || len(v.keys) != 2 || bytes.Equal(v.keys[0], keyOf(1)) {
					t.Fatalf("%+v, %v, %d keys", done, err, len(v.keys))
				}
			} else if !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			check := func() {
				t.Helper()
				for i := range 20 {
					v.wants(fmt.Sprint("S", i), fmt.Sprint("the value ", i))
				}
				if !v.rt.CheckWatchKey(jobs.ID{1}, link) {
					t.Error("a link of the time before does not open")
				}
				if f, ok := v.rt.OpenCallback(jobs.ID{1}, token); !ok || f != fence {
					t.Error("a token of the time before does not open")
				}
			}
			if at != "after them" { // that process is dead
				check()
			}
			v.start(v.save, nil)
			check()
			// Another rotation does what was left, and lets only one key stand besides.
			if _, err := v.rt.Secrets().Rotate(context.Background(), v.by()); err != nil {
				t.Fatal(err)
			}
			if len(v.keys) != 2 {
				t.Errorf("%d keys are kept", len(v.keys))
			}
			v.keys = v.keys[:1]
			v.start(v.save, nil)
			for i := range 20 {
				v.wants(fmt.Sprint("S", i), fmt.Sprint("the value ", i))
			}
		})
	}
}

func TestKeysThatWereGivenRotateToTheFirst(t *testing.T) {
	v := newVault(t)
	v.put("API", "hunter2hunter2")
	v.start(nil, nil)
	if _, err := v.rt.Secrets().Rotate(context.Background(), v.by()); !errors.Is(err, runtime.ErrKeysGiven) {
		t.Errorf("with one key: %v", err)
	}
	v.keys = [][]byte{keyOf(2), keyOf(1)}
	v.start(nil, nil)
	v.wants("API", "hunter2hunter2")
	done, err := v.rt.Secrets().Rotate(context.Background(), v.by())
	if err != nil || done.Resealed != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	v.keys = v.keys[:1]
	v.start(nil, nil)
	v.wants("API", "hunter2hunter2")
}

func TestARotationLeavesWhatItCannotRead(t *testing.T) {
	v := newVault(t)
	v.put("LOST", "hunter2hunter2")
	v.keys = [][]byte{keyOf(2)}
	v.start(v.save, nil)
	v.put("KEPT", "correct-horse")
	done, err := v.rt.Secrets().Rotate(context.Background(), v.by())
	if err != nil || done.Resealed != 1 || len(done.Unreadable) != 1 || done.Unreadable[0] != "LOST" {
		t.Fatalf("%+v, %v", done, err)
	}
	v.keys = append(v.keys, keyOf(1))
	v.start(v.save, nil)
	v.wants("LOST", "hunter2hunter2")
	v.wants("KEPT", "correct-horse")
}
