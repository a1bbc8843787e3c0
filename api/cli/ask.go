package cli

import (
	"fmt"

	"nightshift/api/client"
	"nightshift/api/words"
)

// ask calls the server and prints what it answers: with --json as it is, else by print.
func ask[T any](s *session, call func(*client.Client) (T, error), print func(*T)) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	answer, err := call(c)
	if err != nil {
		return err
	}
	if s.out.json {
		s.out.value(&answer)
		return nil
	}
	print(&answer)
	return nil
}

// pageFlags say which part of a list is shown. Whoever embeds them sets the variable limit.
type pageFlags struct {
	Limit  int    `default:"${limit}" help:"How many."`
	Cursor string `placeholder:"NEXT" help:"Go on behind an earlier list."`
}

func (f pageFlags) page() client.Page { return client.Page{Limit: f.Limit, Cursor: f.Cursor} }

// more says how a list goes on.
func (s *session) more(next *string) {
	if next != nil {
		fmt.Fprintf(s.stderr, "More: --cursor %s\n", words.Clean(*next))
	}
}
