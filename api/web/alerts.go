package web

func alertPages() []page { return nil }
