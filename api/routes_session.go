package api

func sessionRoutes() []*route { return nil }
