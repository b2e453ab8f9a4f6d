package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"sotto/packaging/api"
)

// protocolMethod is a method of a protocol.
type protocolMethod struct {
	selector  string
	signature api.Signature
}

// goNames returns a protocol's methods by the name that darwinkit gives them: the words of the selector, each with a
// capital, put together. Of two with the same name the one with the longer selector gets a _ at the end.
func (c *checker) goNames(protocol string) map[string]protocolMethod {
	out := map[string]protocolMethod{}
	methods := c.rules.Facts.ProtocolMethods(protocol)
	keys := make([]string, 0, len(methods))
	for k := range methods {
		if k[0] == '-' {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return len(a) - len(b) })
	for _, k := range keys {
		var b strings.Builder
		for word := range strings.SplitSeq(k[1:], ":") {
			if word != "" {
				b.WriteString(strings.ToUpper(word[:1]) + word[1:])
			}
		}
		n := b.String()
		if _, taken := out[n]; taken {
			n += "_"
		}
		out[n] = protocolMethod{k[1:], methods[k]}
	}
	return out
}

// delegates looks at a call that sets a method of one of darwinkit's delegates, or that makes an object of a Go value
// that implements a protocol.
func (c *checker) delegates(f *finder, call *ast.CallExpr) {
	if s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		method, isSet := strings.CutPrefix(s.Sel.Name, "Set")
		if protocol, i := c.b.delegate(f.pkg.info.Types[s.X].Type); isSet && protocol != "" {
			if m := lookUpMethod(i, method); m != nil {
				c.delegateMethod(call.Pos(), protocol, m)
			}
			c.required(call.Pos(), protocol, i)
		}
	}
	id := calleeName(call)
	if id == nil {
		return
	}
	inst, ok := f.pkg.info.Instances[id]
	if !ok {
		return
	}
	for a := range inst.TypeArgs.Types() {
		n, ok := types.Unalias(a).(*types.Named)
		if !ok || n.Obj().Pkg() == nil || !strings.HasPrefix(n.Obj().Pkg().Path(), darwinkit+"/") ||
			!strings.HasPrefix(n.Obj().Name(), "P") {
			continue
		}
		i, ok := n.Underlying().(*types.Interface)
		for _, arg := range call.Args {
			if s, isText := constantString(f.pkg.info, arg); ok && isText {
				c.implements(f, call, n, s, i)
			}
		}
	}
}

func lookUpMethod(i *types.Interface, name string) *types.Func {
	for m := range i.Methods() {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

// delegateMethod looks a delegate's method up in its protocol.
func (c *checker) delegateMethod(pos token.Pos, protocol string, m *types.Func) {
	c.result.Delegates++
	if c.rules.Facts.Protocol(protocol) == nil {
		c.report(pos, "unknown protocol %s", strings.TrimPrefix(protocol, "?"))
		return
	}
	found, ok := c.goNames(protocol)[m.Name()]
	if !ok {
		c.report(pos, "the protocol %s has no method %s: it would never be called", protocol, m.Name())
		return
	}
	arguments, result := signatureTypes(m.Signature())
	why := c.mismatch(message{arguments: arguments, result: result}, found.signature)
	if why != "" {
		c.report(pos, "%s of the protocol %s: %s", found.selector, protocol, why)
	}
}

// required looks whether darwinkit's interface has all that a protocol requires.
func (c *checker) required(pos token.Pos, protocol string, i *types.Interface) {
	if c.touched[protocol] {
		return
	}
	c.touched[protocol] = true
	var missing []string
	for n, m := range c.goNames(protocol) {
		if !m.signature.Optional() && lookUpMethod(i, n) == nil {
			missing = append(missing, m.selector)
		}
	}
	if slices.Sort(missing); len(missing) > 0 {
		c.report(pos, "the protocol %s requires what darwinkit's interface lacks, which panics: %s", protocol,
			strings.Join(missing, " "))
	}
}

// implements looks at a Go value that a call makes an object of: it must implement darwinkit's interface, and every
// method that it offers must be in the protocol.
func (c *checker) implements(f *finder, call *ast.CallExpr, name *types.Named, protocol string, i *types.Interface) {
	if c.rules.Facts.Protocol(protocol) == nil {
		c.report(call.Pos(), "unknown protocol %s", protocol)
		return
	}
	c.required(call.Pos(), protocol, i)
	for at, arg := range call.Args {
		t := f.pkg.info.Types[arg].Type
		if t == nil || types.IsInterface(t) {
			continue
		}
		if m, _ := types.MissingMethod(t, i, true); m != nil {
			if generic(f, call, at) {
				c.report(arg.Pos(), "%s has no method %s of %s: the conversion would panic", t, m.Name(),
					name.Obj().Name())
			}
			continue
		}
		p, ok := types.Unalias(t).(*types.Pointer)
		if !ok {
			continue
		}
		n, ok := types.Unalias(p.Elem()).(*types.Named)
		if !ok || n.Obj().Pkg() != f.pkg.types {
			continue // darwinkit's own: its methods are looked up where they are set
		}
		for m := range i.Methods() {
			if !strings.HasPrefix(m.Name(), "Has") && f.offers(n.Obj().Name(), m.Name()) {
				c.delegateMethod(call.Pos(), protocol, m)
			}
		}
	}
}

// generic tells whether a call's argument may be of any type, or a pointer to any type, so that the compiler does not
// look whether it implements something.
func generic(f *finder, call *ast.CallExpr, at int) bool {
	fn, ok := f.pkg.info.Uses[calleeName(call)].(*types.Func)
	if !ok || at >= fn.Origin().Signature().Params().Len() {
		return false
	}
	t := fn.Origin().Signature().Params().At(at).Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	_, ok = t.(*types.TypeParam)
	return ok
}

// offers tells whether a type of this package may answer true to whether it has a method.
func (f *finder) offers(typeName, method string) bool {
	for _, file := range f.pkg.files {
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Name.Name != "Has"+method || receiverName(fn) != typeName || len(fn.Body.List) != 1 {
				continue
			}
			r, ok := fn.Body.List[0].(*ast.ReturnStmt)
			if !ok || len(r.Results) != 1 {
				continue
			}
			id, ok := r.Results[0].(*ast.Ident)
			return !ok || id.Name != "false"
		}
	}
	return true
}

// receiverName returns the type that a method belongs to, or nothing for a function.
func receiverName(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	t := fn.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	id, _ := t.(*ast.Ident)
	if id == nil {
		return ""
	}
	return id.Name
}
