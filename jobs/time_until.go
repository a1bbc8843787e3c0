package jobs

// Until is an instant that may be open, null, where it depends on what happens. That is not the
// same as left out, which is its zero value.
type Until struct{ optional[Time] }

// UntilOf makes one; open where at is zero.
func UntilOf(at Time) Until {
	u := Until{optional[Time]{here: true}}
	if at != 0 {
		u.value = &at
	}
	return u
}

// Told reports whether it is there.
func (u Until) Told() bool { return u.here }

// At is the instant; zero where it is open or left out.
func (u Until) At() Time {
	if u.value == nil {
		return 0
	}
	return *u.value
}
