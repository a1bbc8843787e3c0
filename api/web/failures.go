package web

func failurePages() []page { return nil }
