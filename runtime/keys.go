package runtime

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
)

// KeySize is the length of the server's keys in bytes.
const KeySize = 32

// Labels of what is derived from a key of the server, so that no two uses share one.
const (
	labelID      = "nightshift key id"
	labelSecrets = "nightshift secrets"
	labelWatch   = "nightshift watch links"
	labelAttempt = "nightshift attempt tokens"
)

// A sealed value is its format, the id of the key, the nonce and what AES-256-GCM makes of it.
// The first two and the name are bound to it as associated data: none can be put in another's
// place.
const (
	sealFormat  = 1
	keyIDSize   = 8
	nonceSize   = 12
	sealedFrom  = 1 + keyIDSize + nonceSize
	sealedAbout = "nightshift secret"
)

// key is one key of the server and what is derived from it.
type key struct {
	root    []byte
	id      []byte
	aead    cipher.AEAD // for secrets
	watch   []byte      // for watch links
	attempt []byte      // for tokens of attempts
}

func newRoot() []byte {
	root := make([]byte, KeySize)
	rand.Read(root)
	return root
}

func newKey(root []byte) (*key, error) {
	if len(root) != KeySize {
		return nil, fmt.Errorf("a key of %d bytes: want %d", len(root), KeySize)
	}
	k := &key{root: root}
	var seal []byte
	for _, d := range []struct {
		to    *[]byte
		label string
		size  int
	}{
		{&k.id, labelID, keyIDSize},
		{&seal, labelSecrets, KeySize},
		{&k.watch, labelWatch, KeySize},
		{&k.attempt, labelAttempt, KeySize},
	} {
		derived, err := hkdf.Key(sha256.New, root, nil, d.label, d.size)
		if err != nil {
			return nil, fmt.Errorf("derive a key: %w", err)
		}
		*d.to = derived
	}
	block, err := aes.NewCipher(seal)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	k.aead, err = cipher.NewGCM(block)
	return k, err
}

// about is the associated data of a value.
func about(name string, head []byte) []byte {
	data := append([]byte(sealedAbout), head[:1+keyIDSize]...)
	return append(data, name...)
}

func (k *key) seal(name, value string) []byte {
	sealed := make([]byte, sealedFrom, sealedFrom+len(value)+k.aead.Overhead())
	sealed[0] = sealFormat
	copy(sealed[1:], k.id)
	nonce := sealed[1+keyIDSize : sealedFrom]
	rand.Read(nonce)
	return k.aead.Seal(sealed, nonce, []byte(value), about(name, sealed))
}

// sealedBy reports whether the value says that it was sealed by the key.
func (k *key) sealedBy(sealed []byte) bool {
	return len(sealed) > sealedFrom && sealed[0] == sealFormat &&
		bytes.Equal(sealed[1:1+keyIDSize], k.id)
}

func (k *key) open(name string, sealed []byte) (value string, ok bool) {
	if !k.sealedBy(sealed) {
		return "", false
	}
	nonce := sealed[1+keyIDSize : sealedFrom]
	text, err := k.aead.Open(nil, nonce, sealed[sealedFrom:], about(name, sealed))
	return string(text), err == nil
}

// keyRing are the keys of the server: the first seals and signs, all open and check.
type keyRing []*key

func newKeyRing(roots [][]byte) (keyRing, error) {
	ring := make(keyRing, 0, len(roots))
	for _, root := range roots {
		if ring.has(root) {
			continue
		}
		k, err := newKey(root)
		if err != nil {
			return nil, err
		}
		ring = append(ring, k)
	}
	if len(ring) == 0 {
		return nil, errors.New("the server has no key")
	}
	return ring, ring[0].test()
}

func (ring keyRing) has(root []byte) bool {
	for _, k := range ring {
		if bytes.Equal(k.root, root) {
			return true
		}
	}
	return false
}

func (ring keyRing) roots() [][]byte {
	all := make([][]byte, len(ring))
	for i, k := range ring {
		all[i] = k.root
	}
	return all
}

func (ring keyRing) open(name string, sealed []byte) (value string, ok bool) {
	for _, k := range ring {
		if value, ok = k.open(name, sealed); ok {
			return value, true
		}
	}
	return "", false
}

// test shows that sealing does what it is for, before anything relies on it: a layer of encryption
// that is silently not there has happened to others.
func (k *key) test() error {
	const name, value = "NAME", "the value that the test of the cipher seals"
	one, other := k.seal(name, value), k.seal(name, value)
	opened, ok := k.open(name, one)
	_, stranger := k.open("OTHER", one)
	changed := bytes.Clone(one)
	changed[len(changed)-1] ^= 1
	_, forged := k.open(name, changed)
	switch {
	case !ok || opened != value:
		return errors.New("the test of the cipher: what was sealed cannot be opened")
	case bytes.Contains(one, []byte(value)) || bytes.Equal(one, other):
		return errors.New("the test of the cipher: what was sealed can be read")
	case stranger || forged:
		return errors.New("the test of the cipher: what was changed can be opened")
	}
	return nil
}
