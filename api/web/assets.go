package web

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
)

// asset is a file that pages load.
type asset struct {
	body  []byte
	media string
	tag   string // of its content
}

var mediaTypes = map[string]string{
	".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

func (e *embedded) readAssets() error {
	entries, err := fs.ReadDir(files, "static")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		media, served := mediaTypes[path.Ext(entry.Name())]
		if !served {
			continue
		}
		body, err := files.ReadFile("static/" + entry.Name())
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		e.assets[entry.Name()] = asset{body: body, media: media, tag: hex.EncodeToString(sum[:6])}
	}
	return nil
}

// assetURL is where a browser loads a file from, for good: it changes with its content.
func (e *embedded) assetURL(name string) string {
	return "/static/" + name + "?v=" + e.assets[name].tag
}

func (s *Site) serveAsset(w http.ResponseWriter, r *http.Request) {
	a, ok := s.assets[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", a.media)
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	h.Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == a.tag {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(a.body)
	}
}
