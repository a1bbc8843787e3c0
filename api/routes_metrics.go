package api

func metricsRoutes() []*route { return nil }
