package wire

import "nightshift/jobs"

// Secret is what may be known of a secret: not its value.
type Secret struct {
	Name      string    `json:"name"`
	Readable  bool      `json:"readable" doc:"false: it was sealed with another key than the server has; runs that need it are held"`
	CreatedAt jobs.Time `json:"created_at"`
	UpdatedAt jobs.Time `json:"updated_at"`
}

// Secrets is a page of secrets, newest first.
type Secrets struct {
	Items []Secret `json:"items"`
	Next  *string  `json:"next"`
	Limit int      `json:"limit"`
}

// SecretUse is a secret and the jobs that name it.
type SecretUse struct {
	Name      string    `json:"name"`
	Readable  bool      `json:"readable" doc:"false: it was sealed with another key than the server has; runs that need it are held"`
	CreatedAt jobs.Time `json:"created_at"`
	UpdatedAt jobs.Time `json:"updated_at"`
	UsedBy    []string  `json:"used_by" doc:"Jobs that name it"`
}

// PutSecret is the body of a PUT of a secret.
type PutSecret struct {
	Name  string `json:"name,omitempty" doc:"As in the path, where it stands there"`
	Value string `json:"value" minLength:"8" maxLength:"65536" writeOnly:"true" doc:"8 bytes to 64 KiB of UTF-8 without NUL; no answer shows it"`
}

// DeletedSecret is the answer to the deletion of a secret.
type DeletedSecret struct {
	UsedBy []string `json:"used_by" doc:"Jobs that name it: their runs are held from now on"`
}

// RotatedKey is the answer to a rotation of the server's key.
type RotatedKey struct {
	Resealed   int      `json:"resealed" doc:"Secrets that the key before had sealed"`
	Unreadable []string `json:"unreadable" doc:"Secrets that no key of the server opens: left as they are"`
}
