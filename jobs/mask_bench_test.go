package jobs

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// secretsOf are n secrets of 40 bytes that begin alike, as those of one vendor do.
func secretsOf(n int) []string {
	r := rand.New(rand.NewPCG(1, 2))
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	all := make([]string, n)
	for i := range all {
		b := []byte("sk_live_")
		for range 32 {
			b = append(b, letters[r.IntN(len(letters))])
		}
		all[i] = string(b)
	}
	return all
}

// outputs are texts of a mebibyte.
func outputs(secrets []string) map[string][]byte {
	r := rand.New(rand.NewPCG(3, 4))
	repeat := func(line func(i int) string) []byte {
		var b strings.Builder
		for i := 0; b.Len() < 1<<20; i++ {
			b.WriteString(line(i))
		}
		return []byte(b.String()[:1<<20])
	}
	return map[string][]byte{
		"log": repeat(func(i int) string {
			return fmt.Sprintf("2026-11-30T01:02:03Z INFO request %d of /v1/orders?page=2&q=a%%20b took %d ms\n", i, r.IntN(900))
		}),
		"json": repeat(func(i int) string {
			return fmt.Sprintf(`{"id":%d,"text":"he said \"hello\"\nand left","price":%d.5},`, i, r.IntN(900))
		}),
		"base64":  repeat(func(int) string { return secretsOf(1)[0][8:] + fmt.Sprint(r.Uint64()) }),
		"secrets": repeat(func(i int) string { return "Authorization: Bearer " + secrets[i%len(secrets)] + "\n" }),
		"escapes": repeat(func(int) string { return `\u0073\u006b%73%6b` }),
	}
}

func BenchmarkMaskWriter(b *testing.B) {
	for _, n := range []int{1, 100} {
		secrets := secretsOf(n)
		m := NewMask(secrets)
		for name, text := range outputs(secrets) {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					w := m.Writer(io.Discard)
					for rest := text; len(rest) > 0; {
						k := min(len(rest), 32<<10)
						_, _ = w.Write(rest[:k])
						rest = rest[k:]
					}
					_ = w.Flush()
				}
			})
		}
	}
}

func BenchmarkNewMask(b *testing.B) {
	for _, n := range []int{1, 3, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			secrets := secretsOf(n)
			b.ReportAllocs()
			for b.Loop() {
				NewMask(secrets)
			}
		})
	}
}
