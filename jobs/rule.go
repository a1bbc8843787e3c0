package jobs

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"
)

// Bounds of a compiled expression and of the memory of its machine.
const (
	maxNodes       = 2000
	maxRange       = 1000
	vmMemoryBudget = 100_000

	maxCachedNodes  = 200_000 // of the programs that are kept compiled, in each generation
	nodesOfAProgram = 20      // what a program costs besides its nodes
)

// program is a compiled expression. It is never changed: safe for concurrent use.
type program struct {
	code    *vm.Program
	typ     reflect.Type
	nodes   int
	needs   needs
	secrets []string   // that it names
	exact   []factPath // what it stands for, where it is paths alone
	secret  bool       // it is secrets.NAME and nothing else
}

// programs keeps what was compiled: many jobs share a policy, and edits repeat most expressions.
// What was not asked for since the generation before is dropped.
var programs programCache

type programKey struct {
	env *environment
	src string
}

type programCache struct {
	mu         sync.Mutex
	young, old map[programKey]*program
	nodes      int // of the young
}

func (c *programCache) get(key programKey) *program {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.young[key]
	if p == nil {
		if p = c.old[key]; p != nil {
			c.keep(key, p)
		}
	}
	return p
}

func (c *programCache) put(key programKey, p *program) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(key, p)
}

func (c *programCache) keep(key programKey, p *program) {
	if c.young == nil || c.nodes > maxCachedNodes {
		c.young, c.old, c.nodes = map[programKey]*program{}, c.young, 0
	}
	c.young[key] = p
	c.nodes += p.nodes + nodesOfAProgram
}

// compileExpr compiles an expression of the rules. The error says where the mistake is.
func compileExpr(src string) (*program, *ExprError) { return inRules.compile(src) }

// compile compiles an expression over the names of the environment.
func (env *environment) compile(src string) (*program, *ExprError) {
	key := programKey{env, src}
	if p := programs.get(key); p != nil {
		return p, nil
	}
	if err := checkSource(src); err != nil {
		return nil, err
	}
	p, err := env.translate(src)
	if err != nil {
		return nil, err
	}
	programs.put(key, p)
	return p, nil
}

// translate parses, checks names and types, puts our operations in place of the library's, and
// compiles. The library's own would fail on nil, wrap integers round, and run without bounds.
func (env *environment) translate(src string) (p *program, mistake *ExprError) {
	defer func() {
		if r := recover(); r != nil { // the parser may fail on what it has already refused
			p, mistake = nil, exprErrorAt(src, 0, "the expression cannot be read")
		}
	}()
	cfg, ok := env.configs.Get().(*conf.Config)
	if !ok {
		cfg = env.config()
	}
	defer func() {
		if p != nil { // others may have left something behind
			env.configs.Put(cfg)
		}
	}()
	tree, err := parser.ParseWithConfig(src, cfg)
	if err != nil {
		return nil, exprErrorOf(src, err)
	}
	s := &survey{
		env: env, src: src, seen: map[ast.Node]bool{}, texts: map[ast.Node]factPath{},
	}
	s.visit(tree.Node)
	if s.err != nil {
		return nil, s.err
	}
	if _, err = checker.Check(tree, cfg); err != nil {
		return nil, exprErrorOf(src, err)
	}
	exact, secret := exactPaths(tree.Node), isSecret(tree.Node)
	ast.Walk(&tree.Node, rewriter{s.texts})
	typ := tree.Node.Type()
	code, err := compiler.Compile(tree, cfg)
	if err != nil {
		return nil, exprErrorAt(src, 0, "the expression cannot be compiled")
	}
	return &program{
		code: code, typ: typ, nodes: len(s.seen), needs: s.needs, secrets: s.secrets, exact: exact,
		secret: secret,
	}, nil
}

// config is what the library is to know. It is not safe for concurrent use.
func (env *environment) config() *conf.Config {
	cfg := conf.New(env.facts)
	cfg.MaxNodes = maxNodes
	cfg.Optimize = false
	cfg.DisableIfOperator = true
	for name := range cfg.Builtins {
		cfg.Disabled[name] = true
		delete(cfg.Builtins, name)
	}
	for name, f := range env.functions {
		cfg.Functions[name] = &builtin.Function{
			Name: name, Func: f.call, Types: []reflect.Type{reflect.TypeOf(f.signature).Elem()},
		}
	}
	for name, call := range operations {
		cfg.Functions[name] = &builtin.Function{Name: name, Func: call}
	}
	return cfg
}

// exprErrorOf turns an error of the library into ours, in the words of the rules.
func exprErrorOf(src string, err error) *ExprError {
	var at *file.Error
	if !errors.As(err, &at) {
		return exprErrorAt(src, 0, "%s", clip(oneLine(err.Error()), 200))
	}
	message := strings.NewReplacer(
		"time.Duration", "duration", "[]interface {}", "list", "interface {}", "any",
		"float64", "float",
		"compilation failed: expression exceeds maximum allowed nodes",
		fmt.Sprintf("the expression is too large: at most %d parts", maxNodes),
		`token EOF`, "end of the expression",
	).Replace(oneLine(at.Message))
	if what, _, ok := strings.Cut(message, " literal: strconv."); ok {
		message = what + " literal: want a number from -9223372036854775808 to 9223372036854775807, " +
			"or one with a fraction"
	}
	if strings.Contains(message, "duration and int") || strings.Contains(message, "int and duration") {
		message += `; write a duration as duration("90s")`
	}
	return exprErrorAt(src, byteOffset(src, at.From), "%s", clip(message, 300))
}

// operations stand for the operators; no expression can name them.
var operations = map[string]func(...any) (any, error){
	"$get": opGet, "$truth": opTruth, "$json": opJSON,
	"$==": opEqual, "$!=": opUnequal,
	"$<":  ordering(func(n int) bool { return n < 0 }),
	"$<=": ordering(func(n int) bool { return n <= 0 }),
	"$>":  ordering(func(n int) bool { return n > 0 }),
	"$>=": ordering(func(n int) bool { return n >= 0 }),
	"$+":  opAdd, "$-": opSubtract, "$*": opMultiply, "$/": opDivide, "$%": opModulo,
	"$in": opIn, "$within": opWithin, "$matches": opMatches,
	"$contains":   textTest("contains", strings.Contains),
	"$startsWith": textTest("startsWith", strings.HasPrefix),
	"$endsWith":   textTest("endsWith", strings.HasSuffix),
}

var (
	callType  = reflect.TypeFor[func(...any) (any, error)]()
	meterType = reflect.TypeFor[*meter]()
	anyType   = reflect.TypeFor[any]()
	boolType  = reflect.TypeFor[bool]()
)

// rewriter puts operations in place of operators, member access and calls. It runs on a tree
// that was checked, and keeps the types of the nodes that it replaces.
type rewriter struct{ texts map[ast.Node]factPath }

// Visit is called for children before their parents.
func (r rewriter) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.ChainNode:
		*node = n.Node
	case *ast.MemberNode:
		if n.Node.Type().Kind() != reflect.Struct {
			replace(node, "$get", n.Node, n.Property)
		}
	case *ast.CallNode:
		name := n.Callee.(*ast.IdentifierNode).Value
		if path, ok := r.texts[n]; ok {
			replace(node, "$json", meterNode(), constant(&path))
			return
		}
		replace(node, name, append([]ast.Node{meterNode()}, n.Arguments...)...)
	case *ast.UnaryNode:
		if n.Operator == "!" || n.Operator == "not" {
			n.Node = truth(n.Node)
		}
	case *ast.ConditionalNode:
		n.Cond = truth(n.Cond)
	case *ast.BinaryNode:
		rewriteBinary(node, n)
	}
}

func rewriteBinary(node *ast.Node, n *ast.BinaryNode) {
	switch n.Operator {
	case "&&", "and", "||", "or":
		n.Left, n.Right = truth(n.Left), truth(n.Right)
	case "in":
		if r, ok := n.Right.(*ast.BinaryNode); ok && r.Operator == ".." {
			low, _ := constantInt(r.Left)
			high, _ := constantInt(r.Right)
			replace(node, "$within", n.Left, constant(low), constant(high))
			return
		}
		replace(node, "$in", meterNode(), n.Left, literalList(n.Right))
	case "matches":
		p, err := compilePattern(n.Right.(*ast.StringNode).Value)
		if err != nil {
			panic(err) // the survey has compiled it before
		}
		replace(node, "$matches", meterNode(), n.Left, constant(p))
	default:
		if _, ok := operations["$"+n.Operator]; ok {
			replace(node, "$"+n.Operator, meterNode(), n.Left, n.Right)
		}
	}
}

// replace puts a call in the place of a node, with its type and location.
func replace(node *ast.Node, name string, args ...ast.Node) {
	callee := &ast.IdentifierNode{Value: name}
	callee.SetType(callType)
	call := &ast.CallNode{Callee: callee, Arguments: args}
	call.SetNature(*(*node).Nature())
	ast.Patch(node, call)
}

func truth(n ast.Node) ast.Node {
	if n.Type().Kind() == reflect.Bool {
		return n
	}
	replace(&n, "$truth", n)
	n.SetType(boolType)
	return n
}

func meterNode() ast.Node {
	n := &ast.IdentifierNode{Value: "$meter"}
	n.SetType(meterType)
	return n
}

func constant(v any) ast.Node {
	n := &ast.ConstantNode{Value: v}
	n.SetType(reflect.TypeOf(v))
	return n
}

// literalList makes a constant of a list of literals: a set where all are texts.
func literalList(n ast.Node) ast.Node {
	list, ok := n.(*ast.ArrayNode)
	if !ok {
		return n
	}
	values, set := make([]any, 0, len(list.Nodes)), stringSet{}
	for _, item := range list.Nodes {
		switch v := item.(type) {
		case *ast.StringNode:
			values = append(values, v.Value)
			set[v.Value] = struct{}{}
		case *ast.IntegerNode:
			values = append(values, v.Value)
		case *ast.FloatNode:
			values = append(values, v.Value)
		case *ast.BoolNode:
			values = append(values, v.Value)
		default:
			return n
		}
	}
	if len(set) > 0 && len(values) == len(list.Nodes) && allTexts(values) {
		return constant(set)
	}
	return constant(values)
}

func allTexts(values []any) bool {
	return !slices.ContainsFunc(values, func(v any) bool { _, ok := v.(string); return !ok })
}

func constantInt(n ast.Node) (int, bool) {
	switch v := n.(type) {
	case *ast.IntegerNode:
		return v.Value, true
	case *ast.UnaryNode:
		if inner, ok := v.Node.(*ast.IntegerNode); ok && v.Operator == "-" {
			return -inner.Value, true
		}
	}
	return 0, false
}

// evidence is what the expressions of one decision, one rendering or one answer are asked about.
// What is costly to read is read once, when the first expression needs it. Not safe for
// concurrent use.
type evidence struct {
	facts   *facts
	failure *Failure // http.body is that of the failure, or
	answer  []byte   // this

	payload, checkpoint, result Raw

	of      *Run
	attempt int // of that run

	read    needs
	budget  *meter // of all evaluations together; nil: each has its own
	machine machine
}

// machine runs programs, one at a time.
type machine = vm.VM

// run evaluates a program. An error is that of the expression; it quotes no data.
func (ev *evidence) run(p *program) (any, error) {
	if p.needs.body && !ev.read.body {
		ev.facts.HTTP.Body, ev.read.body = ev.body(), true
	}
	if p.needs.payload && !ev.read.payload {
		ev.facts.Payload, ev.read.payload = payloadValue(ev.payload), true
	}
	if p.needs.checkpoint && !ev.read.checkpoint {
		ev.facts.Checkpoint, ev.read.checkpoint = payloadValue(ev.checkpoint), true
	}
	if p.needs.result && !ev.read.result {
		ev.facts.Result, ev.read.result = payloadValue(ev.result), true
	}
	if p.needs.run && !ev.read.run {
		ev.facts.Run, ev.read.run = runFactsOf(ev.of, ev.attempt), true
	}
	if ev.facts.Meter = ev.budget; ev.budget == nil {
		ev.facts.Meter = &meter{left: evalBudget}
	}
	ev.facts.Meter.evidence = ev
	ev.machine.MemoryBudget = vmMemoryBudget
	value, err := ev.machine.Run(p.code, ev.facts)
	if err != nil {
		return nil, exprErrorOf(p.code.Source().String(), err)
	}
	return value, nil
}

// body is that of an HTTP answer.
func (ev *evidence) body() any {
	switch {
	case ev.failure == nil:
		return bodyValue(ev.answer)
	case ev.failure.HTTP != nil:
		return bodyValue([]byte(ev.failure.HTTP.Body))
	}
	return nil
}

// spent is what the last evaluation cost.
func (ev *evidence) spent() int { return evalBudget - ev.facts.Meter.left }
