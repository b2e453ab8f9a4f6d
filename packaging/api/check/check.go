// Package check reads Go code that speaks to Objective-C and holds it against the API facts: every class and protocol
// must exist, every selector must exist where it is sent, with as many arguments as it takes and of a kind that travels
// the same way; what a delegate implements must be in its protocol; what is newer than the oldest macOS must be asked
// for. Messages inside of darwinkit count when our code calls the function that sends them.
//
// The code is type-checked for macOS on the way, without a C compiler. What is behind values of type any, in C, or in
// selectors that arrive through variables, is not seen; selectors that cannot be told are findings.
package check

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"sotto/packaging/api"
)

// Rules are what the code is held against.
type Rules struct {
	Facts    *api.Facts
	Extra    map[string]bool   // selectors that exist without being in a public header
	Since    map[string]string // macOS version, by "Class" or "Class selector:", of what the oldest macOS lacks
	Services []string          // messages of the Services menu, which a class of ours must answer
}

// Finding is something wrong.
type Finding struct {
	Pos  token.Position
	Text string
}

// String returns the finding as compilers print theirs.
func (f Finding) String() string {
	if !f.Pos.IsValid() {
		return f.Text
	}
	return fmt.Sprintf("%s: %s", f.Pos, f.Text)
}

// Result is what a check found.
type Result struct {
	Findings  []Finding
	Packages  int
	Messages  int // selectors looked up
	Delegates int // methods of delegates looked up
}

// checker is a check under way.
type checker struct {
	rules   Rules
	p       *program
	b       *bindings
	result  Result
	seen    map[string]bool
	own     map[string]bool           // selectors of our own methods
	classes map[string]bool           // classes of our own
	inside  map[*types.Func][]message // what functions of darwinkit send
	touched map[string]bool           // protocols whose required methods were looked at
}

// Run checks the packages.
func Run(ctx context.Context, s Source, rules Rules) (Result, error) {
	p, err := load(ctx, s)
	if err != nil {
		return Result{}, err
	}
	c := &checker{
		rules: rules, p: p, b: newBindings(p, rules.Facts), seen: map[string]bool{}, own: map[string]bool{},
		classes: map[string]bool{}, inside: map[*types.Func][]message{}, touched: map[string]bool{},
	}
	for _, e := range p.errors {
		c.result.Findings = append(c.result.Findings, Finding{Text: e})
	}
	var all []work
	for _, q := range p.own {
		all = append(all, c.collect(q)...)
	}
	for _, w := range all {
		c.evaluate(w.m, w.via)
	}
	c.services()
	c.result.Packages = len(p.own)
	slices.SortFunc(c.result.Findings, func(a, b Finding) int {
		return cmp.Or(strings.Compare(a.Pos.Filename, b.Pos.Filename), a.Pos.Offset-b.Pos.Offset,
			strings.Compare(a.Text, b.Text))
	})
	return c.result, nil
}

// work is a message to look up; via is the function of darwinkit that sends it.
type work struct {
	m   message
	via string
}

func (c *checker) report(pos token.Pos, format string, a ...any) {
	f := Finding{c.p.fset.Position(pos), fmt.Sprintf(format, a...)}
	if !c.seen[f.String()] {
		c.seen[f.String()] = true
		c.result.Findings = append(c.result.Findings, f)
	}
}

// collect finds what one of our packages sends, itself and through darwinkit.
func (c *checker) collect(q *pkg) []work {
	speaks := false
	for _, i := range q.types.Imports() {
		speaks = speaks || strings.HasPrefix(i.Path(), darwinkit+"/") || strings.HasPrefix(i.Path(), purego+"/objc")
	}
	if !speaks {
		return nil
	}
	f := &finder{c.b, q, newResolver(q)}
	var out []work
	for _, file := range q.files {
		for _, m := range f.in(file, c.report) {
			if m.own {
				for _, s := range m.selectors {
					c.own[s] = true
				}
			}
			out = append(out, work{m: m})
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				c.names(f, call)
				c.delegates(f, call)
				out = append(out, c.through(q, call)...)
			}
			return true
		})
	}
	return out
}

// names looks up a class or protocol that a call names.
func (c *checker) names(f *finder, call *ast.CallExpr) {
	fn := callee(f.pkg.info, call)
	if at, ok := map[string]int{"AllocateClass": 1, "RegisterClass": 0}[name(fn)]; ok && at < len(call.Args) {
		if s, ok := constantString(f.pkg.info, call.Args[at]); ok {
			c.classes[s] = true
		}
	}
	what := makes(fn)
	if what != "class" && what != "protocol" || len(call.Args) != 1 {
		return
	}
	names, ok := f.r.strings(call.Args[0])
	if !ok {
		c.report(call.Pos(), "cannot tell which %s this is: name it by constants", what)
	}
	for _, n := range names {
		known := c.rules.Facts.Protocol(n) != nil
		if what == "class" {
			known = c.rules.Facts.Class(n) != nil || c.classes[n]
		}
		if !known {
			c.report(call.Pos(), "unknown %s %s", what, n)
		}
	}
}

// through returns what a call of darwinkit sends.
func (c *checker) through(q *pkg, call *ast.CallExpr) []work {
	fn := callee(q.info, call)
	if !bound(fn) {
		return nil
	}
	decl := c.b.concrete(fn.Origin())
	if decl == nil {
		return nil
	}
	var out []work
	for _, m := range c.inner(decl) {
		m.pos = call.Pos()
		out = append(out, work{m, decl.FullName()})
	}
	return out
}

// bound tells whether a function is one of darwinkit's for a framework.
func bound(fn *types.Func) bool {
	return fn != nil && fn.Pkg() != nil && (strings.HasPrefix(fn.Pkg().Path(), darwinkit+"/macos/") ||
		strings.HasPrefix(fn.Pkg().Path(), darwinkit+"/helper/"))
}

// inner returns what a function of darwinkit sends, itself and through others.
func (c *checker) inner(fn *types.Func) []message {
	if m, ok := c.inside[fn]; ok {
		return m
	}
	c.inside[fn] = nil // a cycle sends nothing more
	d := c.b.decls[fn]
	if d.decl == nil || d.decl.Body == nil {
		return nil
	}
	f := &finder{c.b, d.pkg, &resolver{pkg: d.pkg}}
	out := f.in(d.decl.Body, func(token.Pos, string, ...any) {})
	ast.Inspect(d.decl.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if fn := callee(d.pkg.info, call); bound(fn) {
				if next := c.b.concrete(fn.Origin()); next != nil {
					out = append(out, c.inner(next)...)
				}
			}
		}
		return true
	})
	c.inside[fn] = out
	return out
}

// services holds our own methods against the messages of the Services menu.
func (c *checker) services() {
	const rest = ":userData:error:"
	for _, s := range c.rules.Services {
		if !c.own[s+rest] {
			c.report(token.NoPos, "no class of ours answers %s%s, which Info.plist names", s, rest)
		}
	}
	for s := range c.own {
		if m, ok := strings.CutSuffix(s, rest); ok && c.rules.Services != nil && !slices.Contains(c.rules.Services, m) {
			c.report(token.NoPos, "a class of ours answers %s, which Info.plist does not name", s)
		}
	}
}
