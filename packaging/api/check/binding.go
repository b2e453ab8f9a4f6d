package check

import (
	"go/ast"
	"go/types"
	"strings"

	"sotto/packaging/api"
)

// The two ways to Objective-C.
const (
	darwinkit = "github.com/progrium/darwinkit"
	purego    = "github.com/ebitengine/purego"
)

// prefixes are those of Apple's frameworks that darwinkit leaves out of its names.
var prefixes = []string{"NS", "WK", "CA", "UN", "MTL", "CI", "CK", "UT", ""}

// bindings knows how darwinkit's names and Objective-C's belong together.
type bindings struct {
	facts   *api.Facts
	classes map[string]string // class by package and name of the Go type
	decls   map[*types.Func]declared
}

type declared struct {
	pkg  *pkg
	decl *ast.FuncDecl
}

func newBindings(p *program, facts *api.Facts) *bindings {
	b := &bindings{facts: facts, classes: map[string]string{}, decls: map[*types.Func]declared{}}
	for _, q := range p.packages {
		if q.info == nil || !strings.HasPrefix(q.path, darwinkit+"/") {
			continue
		}
		for _, file := range q.files {
			for _, d := range file.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					if f, ok := q.info.Defs[d.Name].(*types.Func); ok {
						b.decls[f] = declared{q, d}
					}
				case *ast.GenDecl:
					b.noteClasses(q, d)
				}
			}
		}
	}
	return b
}

// noteClasses reads lines like `var MenuClass = _MenuClass{objc.GetClass("NSMenu")}`.
func (b *bindings) noteClasses(q *pkg, d *ast.GenDecl) {
	for _, s := range d.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok || len(v.Names) != 1 || len(v.Values) != 1 {
			continue
		}
		goName, ok := strings.CutSuffix(v.Names[0].Name, "Class")
		lit, isLit := v.Values[0].(*ast.CompositeLit)
		if !ok || !isLit || len(lit.Elts) != 1 {
			continue
		}
		if c, ok := lit.Elts[0].(*ast.CallExpr); ok && len(c.Args) == 1 && name(callee(q.info, c)) == "GetClass" {
			if class, ok := constantString(q.info, c.Args[0]); ok {
				b.classes[q.path+"."+goName] = class
			}
		}
	}
}

func name(f *types.Func) string {
	if f == nil {
		return ""
	}
	return f.Name()
}

// receiver is what a message goes to, as far as it is known.
type receiver struct {
	class string // class or protocol, a key of the facts, or ""
	meta  bool   // the class itself rather than an instance
}

// of returns what values of a Go type are.
func (b *bindings) of(t types.Type) receiver {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || !strings.HasPrefix(n.Obj().Pkg().Path(), darwinkit+"/macos/") {
		return receiver{}
	}
	path, goName := n.Obj().Pkg().Path()+".", n.Obj().Name()
	if c, ok := strings.CutPrefix(goName, "_"); ok {
		if c, ok := strings.CutSuffix(c, "Class"); ok && b.classes[path+c] != "" {
			return receiver{b.classes[path+c], true}
		}
	}
	if c := b.classes[path+goName]; c != "" {
		return receiver{c, false}
	}
	if c, ok := strings.CutPrefix(goName, "I"); ok && types.IsInterface(n) && b.classes[path+c] != "" {
		return receiver{b.classes[path+c], false}
	}
	if c, ok := strings.CutSuffix(goName, "Object"); ok {
		return receiver{b.protocol(c), false}
	}
	return receiver{}
}

// protocol returns the protocol that darwinkit calls by a name, or "".
func (b *bindings) protocol(goName string) string {
	for _, p := range prefixes {
		if b.facts.Protocol(p+goName) != nil {
			return p + goName
		}
	}
	return ""
}

// delegate returns the protocol that darwinkit's struct t helps to implement, with darwinkit's interface for it, or "".
func (b *bindings) delegate(t types.Type) (string, *types.Interface) {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || !strings.HasPrefix(n.Obj().Pkg().Path(), darwinkit+"/macos/") {
		return "", nil
	}
	p := n.Obj().Pkg().Scope().Lookup("P" + n.Obj().Name())
	if p == nil {
		return "", nil
	}
	i, ok := p.Type().Underlying().(*types.Interface)
	if !ok {
		return "", nil
	}
	if known := b.protocol(n.Obj().Name()); known != "" {
		return known, i
	}
	return "?" + n.Obj().Name(), i
}

// concrete returns the declaration behind a method of one of darwinkit's interfaces for classes.
func (b *bindings) concrete(f *types.Func) *types.Func {
	if _, ok := b.decls[f]; ok {
		return f
	}
	r := f.Signature().Recv()
	if r == nil {
		return nil
	}
	n, ok := types.Unalias(r.Type()).(*types.Named)
	if !ok || !types.IsInterface(n) {
		return nil
	}
	goName, ok := strings.CutPrefix(n.Obj().Name(), "I")
	if !ok || n.Obj().Pkg() == nil {
		return nil
	}
	class := n.Obj().Pkg().Scope().Lookup(goName)
	if class == nil {
		return nil
	}
	m, _, _ := types.LookupFieldOrMethod(class.Type(), true, f.Pkg(), f.Name())
	found, _ := m.(*types.Func)
	if _, ok := b.decls[found]; !ok {
		return nil
	}
	return found
}
