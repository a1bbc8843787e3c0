package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/url"

	"nightshift/api/client"
	"nightshift/api/wire"
	"nightshift/jobs"
)

type logsCmd struct {
	Of     string `arg:"" name:"run|job" help:"The id of a run, or a job: its newest run."`
	Follow bool   `short:"f" help:"Go on until the run has ended."`
}

// Run prints a log.
func (cmd logsCmd) Run(s *session) error {
	c, err := s.client()
	if err != nil {
		return err
	}
	id, err := s.newestRun(c, cmd.Of)
	if err != nil {
		return err
	}
	var w io.Writer = s.out.w
	if s.out.json {
		w = jsonPieces{s.out}
	}
	if cmd.Follow {
		return s.follow(c, id, w)
	}
	if !s.out.json {
		return c.Log(s.ctx, id, w)
	}
	var whole bytes.Buffer
	if err := c.Log(s.ctx, id, &whole); err != nil {
		return err
	}
	_, err = w.Write(whole.Bytes())
	return err
}

// jsonPieces prints what is written as objects with a text, each a line.
type jsonPieces struct{ out *printer }

func (w jsonPieces) Write(p []byte) (int, error) {
	w.out.value(&wire.LogEvent{Text: string(bytes.ToValidUTF8(p, []byte("\uFFFD")))})
	return len(p), nil
}

// newestRun is the run of that id, or the newest of the job of that name.
func (s *session) newestRun(c *client.Client, of string) (jobs.ID, error) {
	if id, err := jobs.ParseID(of); err == nil {
		return id, nil
	}
	if !jobs.ValidName(of) {
		return jobs.NilID, usage("%q is neither the id of a run nor the name of a job", of)
	}
	list, err := c.Runs(s.ctx, url.Values{"job": {of}}, client.Page{Limit: 1})
	if err != nil {
		return jobs.NilID, err
	}
	if len(list.Items) == 0 {
		return jobs.NilID, fmt.Errorf("the job %s has no runs", of)
	}
	return list.Items[0].ID, nil
}
