package api

func timelineRoutes() []*route { return nil }
