package web

func schedulePages() []page { return nil }
