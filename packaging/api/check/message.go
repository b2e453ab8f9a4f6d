package check

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
)

// message is a selector that code names, and what it does with it.
type message struct {
	pos       token.Pos
	selectors []string
	to        receiver
	sent      bool         // to something, with arguments; else only named
	asked     bool         // only if it is understood
	arguments []types.Type // nil elements are unknown
	spread    bool         // the arguments are a list: their number is not known
	result    types.Type   // nil: unknown
	own       bool         // the program's own method
}

func constantString(info *types.Info, e ast.Expr) (string, bool) {
	v := info.Types[e].Value
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// makes tells what a call makes of a string: "selector", "class" or "protocol", or "".
func makes(f *types.Func) string {
	if f == nil || f.Pkg() == nil {
		return ""
	}
	if p := f.Pkg().Path(); p != darwinkit+"/objc" && p != purego+"/objc" {
		return ""
	}
	switch f.Name() {
	case "Sel", "RegisterSelectorName", "RegisterName":
		return "selector"
	case "GetClass":
		return "class"
	case "GetProtocol":
		return "protocol"
	}
	return ""
}

// isSelector tells whether values of a type are selectors.
func isSelector(t types.Type) bool { return kind(t) == ":" }

// sends finds out whether a call sends a message: an argument that is a selector, followed by any number of arguments
// of any type. It returns the index of the selector.
func sends(info *types.Info, c *ast.CallExpr) (int, bool) {
	t, ok := info.Types[c.Fun].Type.(*types.Signature)
	if !ok || !t.Variadic() || t.Params().Len() < 2 {
		return 0, false
	}
	last := t.Params().Len() - 1
	rest, ok := t.Params().At(last).Type().(*types.Slice)
	if !ok || !types.IsInterface(rest.Elem()) || !isSelector(t.Params().At(last-1).Type()) {
		return 0, false
	}
	return last - 1, len(c.Args) > last-1
}

// finder collects the messages of one package.
type finder struct {
	b   *bindings
	pkg *pkg
	r   *resolver
}

// in returns the messages named under n.
func (f *finder) in(n ast.Node, report func(token.Pos, string, ...any)) []message {
	var out []message
	used := map[ast.Expr]bool{} // selectors that belong to a message that was found
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok {
			f.defines(lit, used, &out)
		}
		c, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if i, ok := sends(f.pkg.info, c); ok {
			if m, ok := f.sent(c, i); ok {
				out = append(out, m)
				used[ast.Unparen(c.Args[i])] = true
			}
		}
		f.adds(c, used, &out)
		if makes(callee(f.pkg.info, c)) == "selector" && !used[c] && len(c.Args) == 1 {
			s, ok := f.r.strings(c.Args[0])
			if !ok {
				report(c.Pos(), "cannot tell which selector this is: name it by constants")
			}
			out = append(out, message{pos: c.Pos(), selectors: s})
		}
		return true
	})
	return out
}

// sent reads a call that sends a message.
func (f *finder) sent(c *ast.CallExpr, at int) (message, bool) {
	info := f.pkg.info
	sel, ok := ast.Unparen(c.Args[at]).(*ast.CallExpr)
	if !ok || makes(callee(info, sel)) != "selector" || len(sel.Args) != 1 {
		return message{}, false
	}
	m := message{pos: c.Pos(), sent: true, spread: c.Ellipsis.IsValid()}
	if m.selectors, ok = f.r.strings(sel.Args[0]); !ok {
		return m, false
	}
	var to ast.Expr
	if at > 0 {
		to = c.Args[at-1]
	} else if s, ok := ast.Unparen(c.Fun).(*ast.SelectorExpr); ok {
		to = s.X
	}
	m.to = f.receiver(to)
	m.asked = strings.HasPrefix(name(callee(info, c)), "Optional")
	for _, a := range c.Args[at+1:] {
		m.arguments = append(m.arguments, info.Types[a].Type)
	}
	if inst, ok := info.Instances[calleeName(c)]; ok && inst.TypeArgs.Len() == 1 {
		m.result = inst.TypeArgs.At(0)
	}
	return m, true
}

// receiver finds out what a message goes to.
func (f *finder) receiver(e ast.Expr) receiver {
	if e == nil {
		return receiver{}
	}
	for range maxSteps {
		e = ast.Unparen(e)
		if c, ok := e.(*ast.CallExpr); ok {
			if makes(callee(f.pkg.info, c)) == "class" && len(c.Args) == 1 {
				if s, ok := f.r.strings(c.Args[0]); ok && len(s) == 1 {
					return receiver{s[0], true}
				}
			}
			if tv := f.pkg.info.Types[c.Fun]; tv.IsType() && len(c.Args) == 1 { // ID(class)
				e = c.Args[0]
				continue
			}
		}
		id, ok := e.(*ast.Ident)
		if !ok {
			break
		}
		o := f.pkg.info.Uses[id]
		v := f.r.values[o]
		if v == nil || f.r.assigned[o] || f.b.of(f.pkg.info.Types[e].Type).class != "" {
			break
		}
		e = v
	}
	return f.b.of(f.pkg.info.Types[e].Type)
}

// adds reads a call that gives a class of our own a method: darwinkit's AddMethod(class, selector, function). The
// function is given the object first.
func (f *finder) adds(c *ast.CallExpr, used map[ast.Expr]bool, out *[]message) {
	if n := name(callee(f.pkg.info, c)); (n == "AddMethod" || n == "AddClassMethod") && len(c.Args) == 3 {
		f.method(c.Args[1], c.Args[2], 1, used, out)
	}
}

// defines reads purego's MethodDef{Cmd: selector, Fn: function}. The function is given the object and the selector
// first.
func (f *finder) defines(lit *ast.CompositeLit, used map[ast.Expr]bool, out *[]message) {
	n, ok := types.Unalias(f.pkg.info.Types[lit].Type).(*types.Named)
	if !ok || n.Obj().Name() != "MethodDef" {
		return
	}
	var field [2]ast.Expr
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return
		}
		switch key, _ := kv.Key.(*ast.Ident); {
		case key == nil:
		case key.Name == "Cmd":
			field[0] = kv.Value
		case key.Name == "Fn":
			field[1] = kv.Value
		}
	}
	if field[0] != nil && field[1] != nil {
		f.method(field[0], field[1], 2, used, out)
	}
}

// method reads a method of our own: its selector, and a function with some arguments before the method's.
func (f *finder) method(selector, function ast.Expr, before int, used map[ast.Expr]bool, out *[]message) {
	sel, ok := ast.Unparen(selector).(*ast.CallExpr)
	if !ok || makes(callee(f.pkg.info, sel)) != "selector" || len(sel.Args) != 1 {
		return
	}
	s, ok := f.r.strings(sel.Args[0])
	sig, isFunc := f.pkg.info.Types[function].Type.(*types.Signature)
	if !ok || !isFunc {
		return
	}
	used[sel] = true
	m := message{pos: sel.Pos(), selectors: s, own: true}
	for i := before; i < sig.Params().Len(); i++ {
		m.arguments = append(m.arguments, sig.Params().At(i).Type())
	}
	*out = append(*out, m)
}
