package web

import (
	"nightshift/api/wire"
	"nightshift/api/words"
)

func serverPages() []page {
	return []page{
		{pattern: "GET /server", handle: showServer},
		{pattern: "POST /server/drain", handle: drainServer},
		{pattern: "POST /server/resume", handle: resumeServer},
	}
}

// shownServer is the data of the page of the server.
type shownServer struct {
	wire.Server
	NotReady string // why it takes no work; "": it does
}

func showServer(v *view) error {
	v.Nav, v.Watch = "/server", "?"
	data := shownServer{}
	var err error
	if data.Server, err = v.API.Server(v.ctx()); err != nil {
		return err
	}
	if err := v.API.Ready(v.ctx()); err != nil {
		p := problem(err)
		if p == nil {
			return err
		}
		data.NotReady = p.Detail
	}
	return v.show("server", "Server", data)
}

func drainServer(v *view) error {
	if _, err := v.API.Drain(v.ctx()); err != nil {
		return err
	}
	return v.done("/server", "The server is draining: it starts nothing until it is resumed or restarted.")
}

func resumeServer(v *view) error {
	in := wire.Resume{CancelWaiting: v.form("cancel_waiting") != ""}
	state, err := v.API.Resume(v.ctx(), in)
	if err != nil {
		return err
	}
	if n := state.CancelledRuns; n != nil {
		return v.done("/server", "The server goes on; "+words.CountOf(*n, "run")+" cancelled.")
	}
	return v.done("/server", "The server goes on.")
}
