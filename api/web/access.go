package web

func accessPages() []page { return nil }
