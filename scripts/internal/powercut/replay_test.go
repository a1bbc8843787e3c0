package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// hexed is a text as strace -xx prints it.
func hexed(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return b.String()
}

func fd(n int, path string) string { return fmt.Sprintf("%d<%s>", n, hexed(path)) }

func pwrite(path, data string, offset int) string {
	return fmt.Sprintf(`7 pwrite64(%s, "%s", %d, %d) = %d`,
		fd(3, path), hexed(data), len(data), offset, len(data))
}

func fsync(path string) string { return "7 fsync(" + fd(3, path) + ") = 0" }

const (
	db    = "/d/nightshift.db"
	runA  = "0192e4a7-5b3c-7d1e-8f00-0123456789ab"
	runB  = "0192e4a7-5b3c-7d1f-8f00-0123456789ab"
	conn  = "9<TCP:[127.0.0.1:8700->127.0.0.1:40000]>"
	outer = "9<TCP:[127.0.0.1:50000->127.0.0.1:40000]>"
)

func answerLine(socket, status, body string) string {
	text := "HTTP/1.1 " + status + "\r\n\r\n" + body
	return fmt.Sprintf(`7 write(%s, "%s", %d) = %d`, socket, hexed(text), len(text), len(text))
}

// follow replays lines and gives the poorest image at each answer, as "ids: name=content ...".
func follow(t *testing.T, lines ...string) (cuts []string, last *disk) {
	t.Helper()
	var r *replay
	r = newReplay(db, "127.0.0.1:8700", func(ids []string) error {
		cuts = append(cuts, strings.Join(ids, ",")+":"+shown(r.disk.image(nil)))
		return nil
	})
	if err := readTrace(strings.NewReader(strings.Join(lines, "\n")), r); err != nil {
		t.Fatal(err)
	}
	return cuts, r.disk
}

func shown(files map[string][]byte) string {
	var parts []string
	for name, content := range files {
		parts = append(parts, name+"="+strings.ReplaceAll(string(content), "\x00", "."))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func TestPoorestImageHoldsWhatWasSyncedAndNoMore(t *testing.T) {
	wal := db + "-wal"
	cases := []struct {
		name  string
		lines []string
		want  string
	}{
		{"nothing synced", []string{pwrite(db, "abc", 0)}, ""},
		{"synced", []string{pwrite(db, "abc", 0), fsync(db)}, "nightshift.db=abc"},
		{
			"written after the sync",
			[]string{pwrite(db, "abc", 0), fsync(db), pwrite(db, "xy", 1)},
			"nightshift.db=abc",
		},
		{
			"a gap is zeros",
			[]string{pwrite(db, "a", 0), pwrite(db, "b", 3), fsync(db)},
			"nightshift.db=a..b",
		},
		{
			"written while the sync ran",
			[]string{
				pwrite(db, "abc", 0), "8 fdatasync(" + fd(3, db) + " <unfinished ...>",
				pwrite(db, "xy", 1), "8 <... fdatasync resumed>) = 0",
			},
			"nightshift.db=abc",
		},
		{
			"a sync that has not returned",
			[]string{pwrite(db, "abc", 0), "8 fsync(" + fd(3, db) + " <unfinished ...>"},
			"",
		},
		{
			"a sync that failed",
			[]string{
				pwrite(db, "abc", 0), "8 fsync(" + fd(3, db) + ") = -1 EIO (Input/output error)",
			},
			"",
		},
		{
			"a write that failed",
			[]string{
				`7 pwrite64(` + fd(3, db) + `, "\x61", 1, 0) = -1 ENOSPC (No space left on device)`,
				fsync(db),
			},
			"nightshift.db=",
		},
		{
			"another file's sync keeps names, not contents",
			[]string{pwrite(db, "abc", 0), pwrite(wal, "w", 0), fsync(wal)},
			"nightshift.db-wal=w nightshift.db=",
		},
		{
			"cut and written again",
			[]string{
				pwrite(wal, "abcdef", 0), fsync(wal), "7 ftruncate(" + fd(3, wal) + ", 2) = 0",
				pwrite(wal, "z", 3), fsync(wal),
			},
			"nightshift.db-wal=ab.z",
		},
		{
			"removed, but not for sure",
			[]string{
				pwrite(wal, "w", 0), fsync(wal),
				`7 unlinkat(AT_FDCWD<` + hexed("/d") + `>, "` + hexed("nightshift.db-wal") + `", 0) = 0`,
			},
			"nightshift.db-wal=w",
		},
		{
			"removed for sure",
			[]string{
				pwrite(wal, "w", 0), fsync(wal), `7 unlink("` + hexed(wal) + `") = 0`,
				"7 fsync(" + fd(4, "/d") + ") = 0",
			},
			"",
		},
		{
			"renamed, whole or not at all",
			[]string{
				pwrite("/d/new", "n", 0), fsync("/d/new"),
				`7 rename("` + hexed("/d/new") + `", "` + hexed("/d/old") + `") = 0`,
			},
			"new=n",
		},
		{
			"written after its name was gone",
			[]string{
				pwrite(wal, "w", 0), `7 unlink("` + hexed(wal) + `") = 0`,
				`7 pwrite64(` + fd(3, wal) + `(deleted), "\x61", 1, 0) = 1`,
				"7 fsync(" + fd(3, wal) + "(deleted)) = 0",
			},
			"",
		},
		{
			"other folders and shared memory",
			[]string{
				pwrite("/e/nightshift.db", "abc", 0), fsync("/e/nightshift.db"),
				pwrite(db+"-shm", "abc", 0), pwrite("/d/sub/x", "abc", 0), fsync(db),
			},
			"nightshift.db=",
		},
		{
			"opened anew",
			[]string{
				pwrite(db, "abc", 0), fsync(db),
				`7 openat(AT_FDCWD<` + hexed("/d") + `>, "` + hexed("nightshift.db") +
					`", O_RDWR|O_CREAT|O_TRUNC, 0644) = 5` + `<` + hexed(db) + `>`,
				fsync(db),
			},
			"nightshift.db=",
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			lines := append(slices.Clone(c.lines), answerLine(conn, "202 Accepted", `{"id":"`+runA+`"}`))
			cuts, _ := follow(t, lines...)
			if want := runA + ":" + c.want; len(cuts) != 1 || cuts[0] != want {
				t.Errorf("got %q, want %q", cuts, want)
			}
		})
	}
}

func TestAnswersToClientsAreFoundBeforeTheyAreSent(t *testing.T) {
	id := `{"id":"` + runA + `"}`
	cut := answerLine(conn, "202 Accepted", id)
	cut = strings.Replace(cut, ") = ", " <unfinished ...>\n"+pwrite(db, "x", 0)+"\n"+fsync(db)+
		"\n7 <... write resumed>) = ", 1)
	vec := fmt.Sprintf(`7 writev(%s, [{iov_base="%s", iov_len=1}, {iov_base="%s", iov_len=1}], 2) = 9`,
		conn, hexed("HTTP/1.1 200 OK\r\n\r\n"), hexed(id))
	cases := []struct {
		name, line string
		want       []string
	}{
		{"whole", answerLine(conn, "202 Accepted", id), []string{runA + ":"}},
		{"before what follows its beginning", cut, []string{runA + ":"}},
		{"in two parts", vec, []string{runA + ":"}},
		{
			"batch", answerLine(conn, "202 Accepted", `[{"id": "`+runA+`"},{"id":"`+runB+`"}]`),
			[]string{runA + "," + runB + ":"},
		},
		{"an error", answerLine(conn, "409 Conflict", id), nil},
		{"of a checkpoint", answerLine(conn, "204 No Content", ""), []string{"saved-1:"}},
		{"to a webhook", answerLine(outer, "200 OK", id), nil},
		{"without a run", answerLine(conn, "200 OK", `{"name":"a"}`), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if cuts, _ := follow(t, strings.Split(c.line, "\n")...); !slices.Equal(cuts, c.want) {
				t.Errorf("got %q, want %q", cuts, c.want)
			}
		})
	}
}

func TestTraceThatCannotBeTrustedIsRefused(t *testing.T) {
	cases := []struct{ name, line, want string }{
		{"cut buffer", `7 pwrite64(` + fd(3, db) + `, "\x61"..., 9, 0) = 9`, "a buffer is cut"},
		{"plain write", `7 write(` + fd(3, db) + `, "\x61", 1) = 1`, "only pwrite64 is understood"},
		{"short buffer", `7 pwrite64(` + fd(3, db) + `, "\x61", 9, 0) = 9`, "returned 9"},
		{"no beginning", `7 <... fsync resumed>) = 0`, "not begun"},
		{"no call", `7 what is this`, "not a call"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := newReplay(db, "127.0.0.1:8700", func([]string) error { return nil })
			err := readTrace(strings.NewReader(c.line), r)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "trace line 1") {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestRandomImagesKeepWhatIsSafeAndNothingNeverWritten(t *testing.T) {
	old, fresh := strings.Repeat("o", 2048), strings.Repeat("n", 1024)
	_, d := follow(t,
		pwrite(db, old, 0), fsync(db), pwrite(db, fresh, 256), pwrite(db+"-wal", "w", 0))
	random := rand.New(rand.NewPCG(1, 1))
	seen := map[string]bool{}
	for range 500 {
		files := d.image(random)
		text := string(files["nightshift.db"])
		if len(text) != 2048 || strings.Trim(text, "on") != "" {
			t.Fatalf("image holds what was never written: %q", text)
		}
		if strings.Contains(text[:256], "n") || strings.Contains(text[1280:], "n") {
			t.Fatalf("image loses what was synced: %q", text)
		}
		_, wal := files["nightshift.db-wal"]
		switch strings.Count(text, "n") {
		case 0:
			seen["none"] = true
		case 1024:
			seen["all"] = true
		default:
			seen["torn"] = true
		}
		seen[fmt.Sprint("wal ", wal)] = true
	}
	for _, want := range []string{"none", "all", "torn", "wal true", "wal false"} {
		if !seen[want] {
			t.Errorf("500 images, none of the sort %q", want)
		}
	}
}
