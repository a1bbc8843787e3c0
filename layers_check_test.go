package main_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// checkLayers reads all files of a module and gives what breaks the rules, each as a line that
// begins with the place.
func checkLayers(tree fs.FS) ([]string, error) {
	c := &checker{tree: tree, documented: map[string]bool{}}
	if err := c.readModule(); err != nil {
		return nil, err
	}
	if err := fs.WalkDir(tree, ".", c.visit); err != nil {
		return nil, err
	}
	for dir, ok := range c.documented {
		if !ok {
			c.refuse("%s: the package has no doc comment: say what it owns and what it must not know",
				dir)
		}
	}
	slices.Sort(c.violations)
	return c.violations, nil
}

type checker struct {
	tree       fs.FS
	module     string
	ignored    []string
	documented map[string]bool // by folder
	violations []string
}

func (c *checker) refuse(format string, args ...any) {
	c.violations = append(c.violations, fmt.Sprintf(format, args...))
}

func (c *checker) readModule() error {
	mod, err := fs.ReadFile(c.tree, "go.mod")
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(mod), "\n")
	c.module = strings.TrimSpace(strings.TrimPrefix(line, "module "))
	ignore, _ := fs.ReadFile(c.tree, ".gitignore")
	c.ignored = strings.Fields(strings.ReplaceAll("\n"+string(ignore), "\n/", "\n"))
	return nil
}

func (c *checker) visit(name string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if name == "." {
		return nil
	}
	if top := !strings.Contains(name, "/"); top {
		if name == ".git" || c.ignores(name) {
			return skip(d)
		}
		if !strings.HasPrefix(name, ".") && !slices.ContainsFunc(topLevel, matches(name)) {
			c.refuse("%s stands at the top level; there may be only %s and dot-files",
				name, strings.Join(topLevel, " "))
		}
	}
	if d.IsDir() {
		if d.Name() == "node_modules" || d.Name() == "__pycache__" {
			return fs.SkipDir
		}
		return nil
	}
	if !d.Type().IsRegular() {
		return nil
	}
	text, err := fs.ReadFile(c.tree, name)
	if err != nil {
		return err
	}
	c.checkText(name, text)
	if path.Ext(name) == ".go" && !c.ofOtherModule(path.Dir(name)) {
		c.checkGo(name, text)
	}
	return nil
}

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (c *checker) ignores(name string) bool {
	return slices.ContainsFunc(c.ignored, func(pattern string) bool {
		ok, _ := path.Match(strings.Trim(pattern, "/"), name)
		return ok
	})
}

// ofOtherModule reports whether a folder belongs to a module of its own.
func (c *checker) ofOtherModule(dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, err := fs.Stat(c.tree, path.Join(dir, "go.mod")); err == nil {
			return true
		}
	}
	return false
}

var (
	leftover  = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME)\b`)
	generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
)

func (c *checker) checkText(name string, text []byte) {
	if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
		return // not text
	}
	if at := leftover.FindIndex(text); at != nil {
		c.refuse("%s:%d: %s: finish it or file an issue", name,
			bytes.Count(text[:at[0]], []byte("\n"))+1, text[at[0]:at[1]])
	}
	lines := bytes.Count(text, []byte("\n"))
	if path.Ext(name) == ".go" && lines > maxLines && !isTest(name) && !generated.Match(text) {
		c.refuse("%s: %d lines; a file has about 300, %d at most: split it by subject",
			name, lines, maxLines)
	}
}

// isTest reports whether a file is test code: a _test.go or part of a suite that tests call.
func isTest(name string) bool {
	return strings.HasSuffix(name, "_test.go") || slices.ContainsFunc(suites, matches(path.Dir(name)))
}

func (c *checker) checkGo(name string, text []byte) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		c.refuse("%s", err)
		return
	}
	if dir := path.Dir(name); !strings.HasSuffix(name, "_test.go") {
		c.documented[dir] = c.documented[dir] || file.Doc != nil
	}
	for _, spec := range file.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		place := files.Position(spec.Pos()).String()
		if local, ok := c.local(imported); ok {
			c.checkLocal(place, name, local)
		} else {
			c.checkFence(place, name, imported)
		}
	}
	c.checkCalls(files, name, file)
	if path.Dir(name) == "store" {
		c.checkInterfaces(files, file)
	}
}

// local gives the folder of an imported package of this module.
func (c *checker) local(imported string) (string, bool) {
	if imported == c.module {
		return ".", true
	}
	return strings.CutPrefix(imported, c.module+"/")
}

func (c *checker) checkLocal(place, name, imported string) {
	dir := path.Dir(name)
	if dir == imported || slices.ContainsFunc(composition, matches(name)) {
		return
	}
	i := slices.IndexFunc(layers, func(l layer) bool { return matches(dir)(l.dir) })
	if i < 0 {
		if dir == "." || slices.ContainsFunc(topLevel, matches(strings.SplitN(dir, "/", 2)[0])) {
			c.refuse("%s: imports %s; no layer names %s: it has no place in the architecture",
				place, imported, dir)
		}
		return
	}
	may := layers[i].may
	if layers[i].own {
		two := strings.SplitN(dir, "/", 3)
		may = append(slices.Clone(may), path.Join(two[:2]...)+"/...")
	}
	allowed := may
	if strings.HasSuffix(name, "_test.go") {
		allowed = append(slices.Clone(may), layers[i].tests...)
	}
	if slices.ContainsFunc(allowed, matches(imported)) {
		return
	}
	c.refuse("%s: imports %s; %s may import %s", place, imported, dir, listed(layers[i].may))
}

func (c *checker) checkFence(place, name, imported string) {
	dir, test := path.Dir(name), isTest(name)
	if !test && slices.Contains(inner, dir) && slices.ContainsFunc(outward, within(imported)) {
		c.refuse("%s: imports %s; %s does no I/O", place, imported, dir)
		return
	}
	for _, f := range fences {
		if !slices.ContainsFunc(f.imports, within(imported)) {
			continue
		}
		if test && f.tests || allows(f.in, name) {
			return
		}
		in := listed(f.in)
		if f.in == nil {
			in = "tests"
		}
		c.refuse("%s: imports %s; it is allowed in %s: %s", place, imported, in, f.why)
		return
	}
	first, _, _ := strings.Cut(imported, "/")
	if strings.Contains(first, ".") || imported == "C" {
		c.refuse("%s: imports %s; no fence names it: say in layers_test.go where it may be used and why",
			place, imported)
	}
}

func (c *checker) checkCalls(files *token.FileSet, name string, file *ast.File) {
	if isTest(name) {
		return
	}
	for _, f := range callFences {
		if !allows(f.not, name) || allows(f.but, name) {
			continue
		}
		as := nameOf(file, f.pkg)
		if as == "." {
			c.refuse("%s: imports %s with a dot; its calls could not be seen", name, f.pkg)
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && mentions(call.Args, "O_EXCL") {
				return false // what this call itself makes, nothing else can have open
			}
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if ok && as != "" && x.Name == as && slices.Contains(f.names, sel.Sel.Name) {
				c.refuse("%s: uses %s.%s; %s",
					files.Position(n.Pos()), path.Base(f.pkg), sel.Sel.Name, f.why)
			}
			return true
		})
	}
}

// mentions reports whether a selected name stands in one of the expressions.
func mentions(args []ast.Expr, name string) bool {
	found := false
	for _, a := range args {
		ast.Inspect(a, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			found = found || ok && sel.Sel.Name == name
			return !found
		})
	}
	return found
}

// nameOf is the name by which a file knows an imported package, "" where it does not import it.
func nameOf(file *ast.File, imported string) string {
	for _, spec := range file.Imports {
		if p, _ := strconv.Unquote(spec.Path.Value); p != imported {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return path.Base(imported)
	}
	return ""
}

func (c *checker) checkInterfaces(files *token.FileSet, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if face, ok := spec.Type.(*ast.InterfaceType); ok && face.Methods.NumFields() > maxMethods {
			c.refuse("%s: interface %s has %d methods; at most %d, in the domain's verbs",
				files.Position(spec.Pos()), spec.Name.Name, face.Methods.NumFields(), maxMethods)
		}
		return true
	})
}

// allows reports whether a file, by its own name or its folder's, is among the paths.
func allows(paths []string, name string) bool {
	return slices.ContainsFunc(paths, matches(name)) ||
		slices.ContainsFunc(paths, matches(path.Dir(name)))
}

// matches gives a test of patterns against a path: * is one element, a final /... all below too.
func matches(name string) func(pattern string) bool {
	return func(pattern string) bool {
		if pattern == "..." {
			return true
		}
		if head, ok := strings.CutSuffix(pattern, "/..."); ok {
			depth := strings.Count(head, "/") + 1
			parts := strings.Split(name, "/")
			name := strings.Join(parts[:min(depth, len(parts))], "/")
			ok, _ := path.Match(head, name)
			return ok
		}
		ok, _ := path.Match(pattern, name)
		return ok
	}
}

// within gives a test of import patterns: exact, or at and below one that ends in a slash.
func within(imported string) func(pattern string) bool {
	return func(pattern string) bool {
		return imported == strings.TrimSuffix(pattern, "/") ||
			strings.HasSuffix(pattern, "/") && strings.HasPrefix(imported, pattern)
	}
}

func listed(paths []string) string {
	if len(paths) == 0 {
		return "nothing of this module"
	}
	return strings.Join(paths, ", ")
}
