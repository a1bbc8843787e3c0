package web

func auditPages() []page { return nil }
