package rig

import "fmt"

// mostFaults are printed; the rest is counted.
const mostFaults = 40

// Report is what a trial has shown.
type Report struct {
	rows   []row
	Faults []string // what was violated
}

type row struct {
	what  string
	value any
}

// Row adds a line.
func (r *Report) Row(what string, value any) { r.rows = append(r.rows, row{what, value}) }

// Print prints the lines, and what was violated.
func (r *Report) Print() {
	r.Row("violations", len(r.Faults))
	width := 0
	for _, row := range r.rows {
		width = max(width, len(row.what))
	}
	for _, row := range r.rows {
		fmt.Printf("%-*s %v\n", width, row.what, row.value)
	}
	for _, f := range r.Faults[:min(len(r.Faults), mostFaults)] {
		fmt.Println("VIOLATION:", f)
	}
	if more := len(r.Faults) - mostFaults; more > 0 {
		fmt.Printf("and %d more\n", more)
	}
}
