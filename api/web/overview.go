package web

func overviewPages() []page {
	return []page{{pattern: "GET /{$}", handle: overview}}
}

func overview(v *view) error {
	v.Nav, v.Watch = "/", "?"
	server, err := v.API.Server(v.ctx())
	if err != nil {
		return err
	}
	return v.show("overview", "Overview", server)
}
