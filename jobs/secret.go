package jobs

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a secret's value in bytes. What is shorter stands in texts by chance, and masking it
// would make them unreadable.
const (
	MinSecret = 8
	MaxSecret = 64 << 10
)

var errSecretName = errors.New(
	`want 1 to 100 of a-z, A-Z, 0-9 and "_", beginning with a letter or "_"`)

// CheckSecretName says what is wrong with the name of a secret. The name is not quoted.
func CheckSecretName(s string) error {
	if !validSecretName(s) {
		return errSecretName
	}
	return nil
}

// CheckSecret says what is wrong with the value of a secret. The value is not quoted.
func CheckSecret(value string) error {
	switch {
	case len(value) < MinSecret:
		return fmt.Errorf("want at least %d bytes: what is shorter could not be masked", MinSecret)
	case len(value) > MaxSecret:
		return fmt.Errorf("want at most %d bytes", MaxSecret)
	case !utf8.ValidString(value):
		return errors.New("want UTF-8; encode other bytes, as base64 for example")
	case strings.IndexByte(value, 0) >= 0:
		return errors.New("want no NUL: it ends a text in an environment or a header")
	}
	return nil
}
