package web

func sharingPages() []page { return nil }
