package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// report is all that was measured.
type report struct {
	Date    time.Time `json:"date"`
	Commit  string    `json:"commit"`
	Machine machine   `json:"machine"`
	Short   bool      `json:"short"` // numbers too small to judge by
	Peer    string    `json:"peer,omitempty"`
	Figures []figure  `json:"figures"`
	Errors  []string  `json:"errors,omitempty"` // of probes without figures
}

// figure is one line of the table: medians over the repetitions, which are kept beside them.
// A ratio is nightshift's value divided by the peer's of the same repetition.
type figure struct {
	Probe      string   `json:"probe"`
	Key        string   `json:"key"`
	Label      string   `json:"label"`
	Unit       string   `json:"unit"`
	Nightshift *series  `json:"nightshift,omitempty"`
	Against    string   `json:"against,omitempty"` // river, ceiling, plain, claim or beside
	Peer       *series  `json:"peer,omitempty"`
	Ratio      *series  `json:"ratio,omitempty"`
	Op         string   `json:"target_op,omitempty"`
	Target     *float64 `json:"target,omitempty"`
	Of         string   `json:"target_of,omitempty"` // ratio or value
	Met        *bool    `json:"met,omitempty"`       // null: not judged

	wanted string // the target as text
}

type series struct {
	Median float64   `json:"median"`
	All    []float64 `json:"all"`
}

func seriesOf(all []float64) *series {
	if len(all) == 0 {
		return nil
	}
	return &series{Median: median(all), All: all}
}

func newReport(opts options, l *lab) *report {
	r := &report{Date: time.Now().UTC().Truncate(time.Second), Commit: commit(), Short: opts.short}
	r.Machine = readMachine(l.dir)
	if opts.peer == "river" {
		r.Peer = fmt.Sprintf("river %s: %s, MaxWorkers %d", riverVersion(), riverSettings, opts.workers)
	}
	if opts.beside != "" {
		r.Peer = "beside it " + opts.beside
	}
	return r
}

// take runs a probe's repetitions, ours and the peer's in turn, and adds its figures.
func (r *report) take(ctx context.Context, l *lab, p probe) error {
	ours, peer := p.setup(l)
	if p.vs == "river" && l.opts.peer != "river" {
		peer = nil
	}
	var mine, theirs []values
	for rep := range p.reps {
		progress("%s: nightshift, %d of %d", p.name, rep+1, p.reps)
		got, err := ours(ctx)
		if err != nil {
			return err
		}
		mine = append(mine, got)
		if p.vs == "claim" {
			theirs = append(theirs, got)
		}
		if peer == nil {
			continue
		}
		progress("%s: %s, %d of %d", p.name, p.vs, rep+1, p.reps)
		if got, err = peer(ctx); err != nil {
			return fmt.Errorf("%s: %w", p.vs, err)
		}
		theirs = append(theirs, got)
	}
	for _, row := range p.rows {
		if f, ok := row.figure(p, mine, theirs); ok {
			f.judge(row.target, r.Short)
			r.Figures = append(r.Figures, f)
		}
	}
	return nil
}

func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05 ")+format+"\n", args...)
}

// figure makes a line; ok is false where nothing of it was measured.
func (w row) figure(p probe, mine, theirs []values) (f figure, ok bool) {
	f = figure{Probe: p.name, Key: w.key, Label: w.label, Unit: w.unit}
	own, against := column(mine, w.key), column(theirs, w.peer)
	f.Nightshift, f.Peer = seriesOf(own), seriesOf(against)
	if f.Peer != nil {
		f.Against = p.vs
	}
	if w.key == "" {
		f.Key = w.peer
	}
	if f.Nightshift != nil && f.Peer != nil {
		ratios := make([]float64, len(own))
		for i := range own {
			ratios[i] = own[i] / against[i]
		}
		f.Ratio = seriesOf(ratios)
	}
	return f, f.Nightshift != nil || f.Peer != nil
}

// column collects one value of all repetitions.
func column(all []values, key string) []float64 {
	if key == "" {
		return nil
	}
	var out []float64
	for _, v := range all {
		if x, ok := v[key]; ok {
			out = append(out, x)
		}
	}
	return out
}

func (f *figure) judge(t target, short bool) {
	if t.op == "" || f.Nightshift == nil {
		return
	}
	f.wanted, f.Op, f.Target, f.Of = t.String(), t.op, &t.bound, "ratio"
	var ratio float64
	if t.own {
		f.Of = "value"
	} else if f.Ratio == nil {
		return
	} else {
		ratio = f.Ratio.Median
	}
	if !short {
		met := t.met(f.Nightshift.Median, ratio)
		f.Met = &met
	}
}

// write puts the JSON into a file, - for standard output, "" for nowhere.
func (r *report) write(path string) error {
	if path == "" {
		return nil
	}
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(r); err != nil {
		return err
	}
	if path == "-" {
		_, err := text.WriteTo(os.Stdout)
		return err
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}

// print writes the table.
func (r *report) print(to io.Writer) error {
	peer := "peer"
	if r.Peer != "" {
		peer, _, _ = strings.Cut(r.Peer, " ")
	}
	lines := [][]string{{"figure", "unit", "nightshift", peer, "ratio", "target", ""}}
	for _, f := range r.Figures {
		lines = append(lines, f.cells())
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, commit %s\n%s\n", r.Date.Format(time.RFC3339), r.Commit, r.Machine)
	if r.Peer != "" {
		fmt.Fprintln(&b, r.Peer)
	}
	if r.Short {
		fmt.Fprintln(&b, "short: the numbers are too small to judge by")
	}
	for n, line := range lines {
		b.WriteByte('\n')
		row := ""
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < 2 || i == len(line)-1 {
				row += cell + pad + "  "
			} else {
				row += pad + cell + "  "
			}
		}
		b.WriteString(strings.TrimRight(row, " "))
		if n == 0 {
			b.WriteString("\n" + strings.Repeat("-", utf8.RuneCountInString(strings.TrimRight(row, " "))+6))
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(to, b.String())
	return err
}

func (f *figure) cells() []string {
	cells := []string{f.Label, f.Unit, "", "", "", f.wanted, ""}
	if f.Nightshift != nil {
		cells[2] = number(f.Nightshift.Median)
	}
	if f.Peer != nil {
		cells[3] = number(f.Peer.Median)
		if f.Against == "ceiling" || f.Against == "plain" {
			cells[3] = f.Against + " " + cells[3]
		}
	}
	if f.Ratio != nil {
		cells[4] = strconv.FormatFloat(f.Ratio.Median, 'f', 2, 64)
	}
	if f.Met != nil {
		cells[6] = "MISS"
		if *f.Met {
			cells[6] = "ok"
		}
	}
	return cells
}

// number writes a value with about three digits that mean something.
func number(x float64) string {
	switch {
	case x >= 100:
		return grouped(x)
	case x >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// grouped writes a whole number with commas.
func grouped(x float64) string {
	digits := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// quantile gives the q-th of the durations by nearest rank, in milliseconds; 0 for none.
func quantile(all []time.Duration, q float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	i := min(len(sorted)-1, int(q*float64(len(sorted))))
	return float64(sorted[i].Nanoseconds()) / 1e6
}
