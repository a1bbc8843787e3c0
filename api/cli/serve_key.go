package cli

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
)

const keySize = 32

// serverKeys are the keys of the server: the first seals secrets and signs links, all open.
type serverKeys struct {
	roots [][]byte
	save  func(roots [][]byte) error // nil: they are of the environment
}

// loadKeys gives the keys of the environment, else of the file, which the first start makes. Where
// the environment gives some, those of a file that stands still open what they sealed.
func loadKeys(path, env string) (keys serverKeys, err error) {
	if env != "" {
		given, err := parseKeys(strings.Split(env, ","))
		if err != nil {
			return keys, fmt.Errorf("NIGHTSHIFT_KEY: %w; several are separated by commas, the first "+
				"one seals", err)
		}
		kept, err := readKeys(path)
		return serverKeys{roots: append(given, kept...)}, err
	}
	keys.save = func(roots [][]byte) error { return writeKeys(path, roots) }
	if keys.roots, err = readKeys(path); err != nil || keys.roots != nil {
		return keys, err
	}
	key := make([]byte, keySize)
	rand.Read(key)
	keys.roots = [][]byte{key}
	if err := keys.save(keys.roots); err != nil {
		return keys, fmt.Errorf("write the key: %w", err)
	}
	return keys, nil
}

// readKeys reads the key file, one key a line; none where there is no file.
func readKeys(path string) ([][]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	keys, err := parseKeys(strings.Fields(string(text)))
	if err != nil {
		return nil, fmt.Errorf("the key file %s: %w. Put the one back that belongs to the database, or move this one away: a start "+
			"makes another, and secrets have to be set again", path, err)
	}
	return keys, nil
}

func writeKeys(path string, roots [][]byte) error {
	lines := make([]string, len(roots))
	for i, root := range roots {
		lines[i] = hex.EncodeToString(root)
	}
	return writeSecret(path, strings.Join(lines, "\n"))
}

var errKey = errors.New("want 64 hexadecimal digits, such as openssl rand -hex 32 prints")

func parseKeys(texts []string) ([][]byte, error) {
	var keys [][]byte
	for _, text := range texts {
		key, err := hex.DecodeString(strings.TrimSpace(text))
		if err != nil || len(key) != keySize {
			return nil, errKey
		}
		keys = append(keys, key)
	}
	if keys == nil {
		return nil, errKey
	}
	return keys, nil
}
