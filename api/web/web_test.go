package web

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

func TestVendoredFilesAreThoseOfTheirRelease(t *testing.T) {
	list, err := files.ReadFile("static/VENDORED.sha256")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		body, err := files.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(body); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s is not what %s says", name, "VENDORED.sha256")
		}
	}
}

func TestOnlyAddressesOfThisSiteAreGoneTo(t *testing.T) {
	for to, want := range map[string]bool{
		"/": true, "/runs?state=failed": true, "//evil.example": false, `/\evil.example`: false, "https://evil.example/": false,
		"": false, "runs": false, "javascript:alert(1)": false, "/%2f/evil.example": true,
	} {
		if local(to) != want {
			t.Errorf("%q: got %v, want %v", to, !want, want)
		}
	}
}
