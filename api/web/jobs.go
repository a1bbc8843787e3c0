package web

func jobPages() []page { return nil }
