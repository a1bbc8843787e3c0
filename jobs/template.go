package jobs

import (
	"github.com/expr-lang/expr/ast"
)

// factPath leads from a fact that is JSON text to a value within. What a path stands for keeps its
// text byte for byte, number text and the order of keys included.
type factPath struct {
	root  string // payload, checkpoint, result
	steps []pathStep
}

// pathStep is a key, or the index of an item, which counts from the end where it is negative.
type pathStep struct {
	key   string
	index int
	item  bool
}

// exactPaths are the paths that an expression tries one after the other: a.b, or a.b ?? c ?? ....
// What follows the last of them is not among them.
func exactPaths(n ast.Node) []factPath {
	if b, ok := n.(*ast.BinaryNode); ok && b.Operator == "??" {
		left := exactPaths(b.Left)
		if len(left) == 0 || !onlyPaths(b.Left) {
			return left
		}
		return append(left, exactPaths(b.Right)...)
	}
	if p, ok := pathOf(n); ok {
		return []factPath{p}
	}
	return nil
}

// onlyPaths reports whether exactPaths are all there is.
func onlyPaths(n ast.Node) bool {
	if b, ok := n.(*ast.BinaryNode); ok && b.Operator == "??" {
		return onlyPaths(b.Left) && onlyPaths(b.Right)
	}
	_, ok := pathOf(n)
	return ok
}

// isSecret reports whether an expression is secrets.NAME and nothing else.
func isSecret(n ast.Node) bool {
	m, ok := n.(*ast.MemberNode)
	if !ok {
		return false
	}
	base, ok := m.Node.(*ast.IdentifierNode)
	return ok && base.Value == "secrets"
}

func pathOf(n ast.Node) (factPath, bool) {
	switch n := n.(type) {
	case *ast.ChainNode:
		return pathOf(n.Node)
	case *ast.IdentifierNode:
		switch n.Value {
		case "payload", "checkpoint", "result":
			return factPath{root: n.Value}, true
		}
	case *ast.MemberNode:
		outer, ok := pathOf(n.Node)
		if !ok {
			break
		}
		if key, isKey := n.Property.(*ast.StringNode); isKey {
			outer.steps = append(outer.steps, pathStep{key: key.Value})
			return outer, true
		}
		if i, isIndex := constantInt(n.Property); isIndex {
			outer.steps = append(outer.steps, pathStep{index: i, item: true})
			return outer, true
		}
	}
	return factPath{}, false
}
