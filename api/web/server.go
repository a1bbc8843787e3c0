package web

func serverPages() []page { return nil }
