package api

func statsRoutes() []*route { return nil }
