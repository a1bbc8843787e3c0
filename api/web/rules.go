package web

func rulePages() []page { return nil }
