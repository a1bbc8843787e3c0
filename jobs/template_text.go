package jobs

import "strings"

// piece is a stretch of a text with templates: what stands there, or the source of an expression.
type piece struct {
	text string
	expr bool
	at   int // of the expression in the whole text
}

// hasTemplate reports whether a text is more than what stands there, or a mistake.
func hasTemplate(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "}}")
}

// cutTemplate takes a text apart. A }} that closes nothing is refused unless the braces that stand
// in the text as they are, such as those of JSON, are balanced with it.
func cutTemplate(text string) ([]piece, *ExprError) {
	var pieces []piece
	depth, done, count := 0, 0, 0
	for i := 0; i < len(text); {
		two := text[i:min(i+2, len(text))]
		switch {
		case two == "{{":
			if i > done {
				pieces = append(pieces, piece{text: text[done:i]})
			}
			end, err := cutExpression(text, i)
			if err != nil {
				return nil, err
			}
			if count++; count > maxExpressions {
				return nil, exprErrorAt(text, i, "want at most %d expressions in a text", maxExpressions)
			}
			src := strings.TrimLeft(text[i+2:end], " \t\r\n")
			at := end - len(src)
			pieces = append(pieces, piece{strings.TrimRight(src, " \t\r\n"), true, at})
			i, done = end+2, end+2
			continue
		case two == "}}" && depth < 2:
			return nil, exprErrorAt(text, i, `}} closes nothing: want {{ before it, or write {{ "}}" }}`)
		case text[i] == '{':
			depth++
		case text[i] == '}':
			depth = max(0, depth-1)
		}
		i++
	}
	if done < len(text) {
		pieces = append(pieces, piece{text: text[done:]})
	}
	return pieces, nil
}

// cutExpression gives the end of the expression that is opened at i: texts and comments in it may
// hold }}.
func cutExpression(text string, i int) (end int, err *ExprError) {
	for end = i + 2; end < len(text); end += tokenLen(text[end:]) {
		if strings.HasPrefix(text[end:], "}}") {
			if strings.TrimSpace(text[i+2:end]) == "" {
				return 0, exprErrorAt(text, i, "an expression is wanted between {{ and }}")
			}
			return end, nil
		}
	}
	return 0, exprErrorAt(text, i, `{{ is not closed: want }} behind the expression; what shall stand `+
		`there as it is, write {{ "{{" }}`)
}

// template is a text with its expressions compiled.
type template struct{ parts []part }

// part is a stretch of text, or an expression.
type part struct {
	text         string
	prog         *program
	line, column int // where the expression begins
}

// alone is the only expression of a template that is nothing else.
func (t *template) alone() *part {
	if len(t.parts) == 1 && t.parts[0].prog != nil {
		return &t.parts[0]
	}
	return nil
}

// placed is a mistake of an expression, counted in the whole text.
func (p *part) placed(err error) *ExprError {
	e, ok := err.(*ExprError)
	if !ok {
		return &ExprError{p.line, p.column, err.Error()}
	}
	return e.within(p.line, p.column)
}

// within is the mistake where its source begins at a place of a text.
func (e *ExprError) within(line, column int) *ExprError {
	moved := *e
	if moved.Line == 1 {
		moved.Column += column - 1
	}
	moved.Line += line - 1
	return &moved
}

// skeleton is the text with a word in the place of each expression: what can be judged before
// there are values. ok is false where the text cannot be read; that is said elsewhere.
func skeleton(text string, word func(before string) string) (s string, ok bool) {
	if !hasTemplate(text) {
		return text, true
	}
	pieces, err := cutTemplate(text)
	if err != nil {
		return "", false
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.expr {
			b.WriteString(word(b.String()))
		} else {
			b.WriteString(p.text)
		}
	}
	return b.String(), true
}
