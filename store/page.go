package store

// Page asks for part of a list.
type Page struct {
	Limit  int    // 1 or more
	Cursor string // of the answer before; "" for the first
}

// Each reads a list to its end, page by page.
func Each[T any](list func(Page) ([]T, string, error), each func(T)) error {
	for page := (Page{Limit: 1000}); ; {
		items, next, err := list(page)
		if err != nil {
			return err
		}
		for _, item := range items {
			each(item)
		}
		if next == "" {
			return nil
		}
		page.Cursor = next
	}
}
