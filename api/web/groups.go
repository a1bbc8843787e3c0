package web

func groupPages() []page { return nil }
