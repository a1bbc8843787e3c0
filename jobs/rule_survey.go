package jobs

import (
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"
)

// survey judges what an expression refers to, before its types are looked at.
type survey struct {
	env     *environment
	src     string
	seen    map[ast.Node]bool
	needs   needs
	secrets []string
	texts   map[ast.Node]factPath // calls of json that keep the text of what a path leads to
	err     *ExprError            // the first
}

func (s *survey) fail(n ast.Node, format string, args ...any) {
	if s.err == nil {
		s.err = exprErrorAt(s.src, byteOffset(s.src, n.Location().From), format, args...)
	}
}

func (s *survey) visit(n ast.Node) {
	if s.err != nil || n == nil {
		return
	}
	// a < b < c holds b twice: nested, the tree would have 2^n paths.
	if s.seen[n] {
		s.fail(n, "comparisons cannot be chained: write a < b && b < c")
		return
	}
	s.seen[n] = true
	switch n := n.(type) {
	case *ast.IdentifierNode:
		s.name(n)
	case *ast.ChainNode:
		s.visit(n.Node)
	case *ast.MemberNode:
		s.member(n)
	case *ast.CallNode:
		s.call(n)
	case *ast.UnaryNode:
		s.visit(n.Node)
	case *ast.BinaryNode:
		s.binary(n)
	case *ast.ConditionalNode:
		s.visit(n.Cond)
		s.visit(n.Exp1)
		s.visit(n.Exp2)
	case *ast.ArrayNode:
		for _, item := range n.Nodes {
			s.visit(item)
		}
	case *ast.NilNode, *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.StringNode:
	case *ast.BuiltinNode:
		s.fail(n, "%s is not known in %s: nothing here loops over a list; known functions: %s",
			n.Name, s.env.place, s.env.functionNames)
	case *ast.VariableDeclaratorNode, *ast.SequenceNode:
		s.fail(n, "let and ; are not known in %s: write one expression", s.env.place)
	case *ast.SliceNode:
		s.fail(n, "slices are not known in %s: use startsWith, endsWith, contains or matches",
			s.env.place)
	case *ast.MapNode:
		s.fail(n, "objects cannot be written in %s", s.env.place)
	default:
		s.fail(n, "not known in %s", s.env.place)
	}
}

func (s *survey) name(n *ast.IdentifierNode) {
	switch t, ok := s.env.known[n.Value]; {
	case !ok && s.env.functions[n.Value].call != nil:
		s.fail(n, "%s is a function: write %s(...)", n.Value, n.Value)
	case !ok:
		s.fail(n, "unknown name %s; known here: %s%s",
			clip(n.Value, 40), s.env.names, s.env.hints[n.Value])
	case t == secretsType:
		s.fail(n, "a secret is named by itself: write secrets.NAME")
	case t.Kind() == reflect.Struct:
		s.fail(n, "%s holds several values: %s.%s", n.Value, n.Value,
			strings.ReplaceAll(listed(membersOf(t)), ", ", ", "+n.Value+"."))
	default:
		s.needs.note(n.Value)
	}
}

// member judges a.b: members of facts are known, those inside data are not.
func (s *survey) member(n *ast.MemberNode) {
	base, path, isFact := s.fact(n.Node)
	switch {
	case s.err != nil:
	case !isFact:
		s.visit(n.Node)
		s.visit(n.Property)
	case base == anyType:
		s.needs.note(path)
		s.visit(n.Property)
	case base == secretsType:
		s.secret(n)
	case base.Kind() == reflect.Struct:
		members := membersOf(base)
		name, ok := n.Property.(*ast.StringNode)
		if !ok {
			s.fail(n, "the member of %s must be written out: %s", path, listed(members))
		} else if members[name.Value] == nil {
			s.fail(n, "%s has no member %s; known there: %s",
				path, clip(name.Value, 40), listed(members))
		} else {
			s.needs.note(path + "." + name.Value)
		}
	default:
		s.fail(n, "%s is a single value: it has no members", path)
	}
}

// secret notes the secret that n names.
func (s *survey) secret(n *ast.MemberNode) {
	name, ok := n.Property.(*ast.StringNode)
	switch {
	case !ok:
		s.fail(n, "the name of a secret must be written out, as in secrets.NAME")
	case !validSecretName(name.Value):
		s.fail(n, "the name of a secret has 1 to 100 letters, digits and _, and does not "+
			"begin with a digit")
	case !slices.Contains(s.secrets, name.Value):
		s.secrets = append(s.secrets, name.Value)
	}
}

// fact is the type of what a name or a path of names stands for among the facts.
func (s *survey) fact(n ast.Node) (t reflect.Type, path string, ok bool) {
	switch n := n.(type) {
	case *ast.ChainNode:
		return s.fact(n.Node)
	case *ast.IdentifierNode:
		if t, ok = s.env.known[n.Value]; !ok {
			s.name(n)
		}
		return t, n.Value, ok
	case *ast.MemberNode:
		base, outer, found := s.fact(n.Node)
		name, isName := n.Property.(*ast.StringNode)
		if !found || !isName || base.Kind() != reflect.Struct {
			return nil, "", false
		}
		if t, ok = membersOf(base)[name.Value]; !ok {
			s.member(n)
		}
		s.needs.note(outer + "." + name.Value)
		return t, outer + "." + name.Value, ok
	}
	return nil, "", false
}

func (s *survey) call(n *ast.CallNode) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok {
		s.fail(n, "only functions can be called; known: %s", s.env.functionNames)
		return
	}
	f, ok := s.env.functions[callee.Value]
	switch {
	case !ok:
		s.fail(n, "unknown function %s; known: %s", clip(callee.Value, 40), s.env.functionNames)
	case len(n.Arguments) < f.least || len(n.Arguments) > f.most:
		s.fail(n, "%s takes %s, not %d", callee.Value, countOf(f.least, f.most), len(n.Arguments))
	}
	for _, arg := range n.Arguments {
		s.visit(arg)
	}
	if callee.Value == "json" && len(n.Arguments) == 1 {
		if p, ok := pathOf(n.Arguments[0]); ok {
			s.texts[n] = p
		}
	}
	if text, ok := writtenOut(n.Arguments); ok && callee.Value == "duration" {
		if _, err := durationOf(text); err != nil {
			s.fail(n.Arguments[0], "%v", err)
		}
	}
}

// writtenOut is the text that is the only argument.
func writtenOut(args []ast.Node) (text string, ok bool) {
	if len(args) != 1 {
		return "", false
	}
	n, ok := args[0].(*ast.StringNode)
	if ok {
		text = n.Value
	}
	return text, ok
}

func (s *survey) binary(n *ast.BinaryNode) {
	switch n.Operator {
	case "..":
		s.fail(n, "a range stands to the right of in, as in http.status in 500..599")
	case "in":
		if r, ok := n.Right.(*ast.BinaryNode); ok && r.Operator == ".." {
			s.visit(n.Left)
			s.bounds(r)
			return
		}
	case "matches":
		text, ok := n.Right.(*ast.StringNode)
		if !ok {
			s.fail(n.Right, "the pattern must be written out as a text")
		} else if _, err := compilePattern(text.Value); err != nil {
			s.fail(n.Right, "%v", err)
		}
	case "/", "%":
		if divisor, ok := constantInt(n.Right); ok && divisor == 0 {
			s.fail(n, "division by zero")
		}
	}
	s.visit(n.Left)
	s.visit(n.Right)
}

func (s *survey) bounds(r *ast.BinaryNode) {
	low, okLow := constantInt(r.Left)
	high, okHigh := constantInt(r.Right)
	switch {
	case !okLow || !okHigh:
		s.fail(r, "both ends of a range must be whole numbers that are written out")
	case low > high:
		s.fail(r, "the range is empty: it begins after its end")
	case uint(high)-uint(low) >= maxRange:
		s.fail(r, "the range is too wide: at most %d numbers; write x >= a && x <= b", maxRange)
	}
}
