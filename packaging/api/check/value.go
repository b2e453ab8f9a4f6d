package check

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// maxSteps bounds how far a value is followed.
const maxSteps = 8

// resolver finds out which strings an expression can be, in one package: constants, variables that run over lists and
// maps of constants, parameters with the arguments of all calls, sums of these.
type resolver struct {
	pkg      *pkg
	values   map[types.Object]ast.Expr  // what variables are declared as
	ranges   map[types.Object]rangeOver // variables of range loops
	params   map[types.Object]param     // parameters of functions
	calls    map[*types.Func][]*ast.CallExpr
	assigned map[types.Object]bool // variables that change later
}

type rangeOver struct {
	list ast.Expr
	key  bool // the variable is the key
}

type param struct {
	f     *types.Func
	index int
	rest  bool // the last one of a variadic function
}

func newResolver(p *pkg) *resolver {
	r := &resolver{
		pkg: p, values: map[types.Object]ast.Expr{}, ranges: map[types.Object]rangeOver{},
		params: map[types.Object]param{}, calls: map[*types.Func][]*ast.CallExpr{}, assigned: map[types.Object]bool{},
	}
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool {
			r.note(n)
			return true
		})
	}
	return r
}

func (r *resolver) note(n ast.Node) {
	switch n := n.(type) {
	case *ast.ValueSpec:
		for i, name := range n.Names {
			if len(n.Values) == len(n.Names) {
				r.values[r.pkg.info.Defs[name]] = n.Values[i]
			}
		}
	case *ast.AssignStmt:
		r.noteAssignment(n)
	case *ast.RangeStmt:
		for i, e := range []ast.Expr{n.Key, n.Value} {
			if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
				r.ranges[r.pkg.info.Defs[id]] = rangeOver{n.X, i == 0}
			}
		}
	case *ast.FuncDecl:
		f, ok := r.pkg.info.Defs[n.Name].(*types.Func)
		if !ok {
			return
		}
		s := f.Signature()
		for i := range s.Params().Len() {
			r.params[s.Params().At(i)] = param{f, i, s.Variadic() && i == s.Params().Len()-1}
		}
	case *ast.CallExpr:
		if f := callee(r.pkg.info, n); f != nil {
			r.calls[f.Origin()] = append(r.calls[f.Origin()], n)
		}
	}
}

func (r *resolver) noteAssignment(n *ast.AssignStmt) {
	for i, e := range n.Lhs {
		id, ok := e.(*ast.Ident)
		if !ok {
			continue
		}
		if o := r.pkg.info.Defs[id]; o != nil && len(n.Rhs) == len(n.Lhs) {
			r.values[o] = n.Rhs[i]
		} else if o := r.pkg.info.Uses[id]; o != nil {
			r.assigned[o] = true
		}
	}
}

// callee returns the function or method that a call calls, or nil.
func callee(info *types.Info, c *ast.CallExpr) *types.Func {
	id := calleeName(c)
	if id == nil {
		return nil
	}
	f, _ := info.Uses[id].(*types.Func)
	return f
}

// calleeName returns the identifier that names what a call calls, or nil.
func calleeName(c *ast.CallExpr) *ast.Ident {
	f := ast.Unparen(c.Fun)
	switch i := f.(type) {
	case *ast.IndexExpr:
		f = i.X
	case *ast.IndexListExpr:
		f = i.X
	}
	switch f := f.(type) {
	case *ast.SelectorExpr:
		return f.Sel
	case *ast.Ident:
		return f
	}
	return nil
}

// strings returns what e can be, and whether that is all.
func (r *resolver) strings(e ast.Expr) ([]string, bool) { return r.expr(e, 0) }

func (r *resolver) expr(e ast.Expr, steps int) ([]string, bool) {
	if steps > maxSteps {
		return nil, false
	}
	e = ast.Unparen(e)
	if v := r.pkg.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return []string{constant.StringVal(v)}, true
	}
	switch e := e.(type) {
	case *ast.BinaryExpr:
		if e.Op != token.ADD {
			return nil, false
		}
		a, ok := r.expr(e.X, steps+1)
		b, ok2 := r.expr(e.Y, steps+1)
		var out []string
		for _, x := range a {
			for _, y := range b {
				out = append(out, x+y)
			}
		}
		return out, ok && ok2
	case *ast.Ident:
		return r.variable(r.pkg.info.Uses[e], steps)
	}
	return nil, false
}

func (r *resolver) variable(o types.Object, steps int) ([]string, bool) {
	if o == nil || r.assigned[o] {
		return nil, false
	}
	if over, ok := r.ranges[o]; ok {
		return r.elements(over.list, over.key, steps+1)
	}
	if p, ok := r.params[o]; ok && !p.rest {
		return r.arguments(p, steps)
	}
	if v := r.values[o]; v != nil {
		return r.expr(v, steps+1)
	}
	return nil, false
}

// arguments returns what all calls in the package give a parameter. An exported function may be called elsewhere too.
func (r *resolver) arguments(p param, steps int) ([]string, bool) {
	if p.f.Exported() || len(r.calls[p.f]) == 0 {
		return nil, false
	}
	var out []string
	for _, c := range r.calls[p.f] {
		if c.Ellipsis.IsValid() || len(c.Args) <= p.index && !p.rest {
			return nil, false
		}
		args := c.Args[min(p.index, len(c.Args)):]
		if !p.rest {
			args = args[:1]
		}
		for _, a := range args {
			s, ok := r.expr(a, steps+1)
			if !ok {
				return nil, false
			}
			out = append(out, s...)
		}
	}
	return out, true
}

// elements returns the keys or values of a list or map.
func (r *resolver) elements(e ast.Expr, keys bool, steps int) ([]string, bool) {
	if steps > maxSteps {
		return nil, false
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		o := r.pkg.info.Uses[e]
		if o == nil || r.assigned[o] {
			return nil, false
		}
		if p, ok := r.params[o]; ok && p.rest && !keys {
			return r.arguments(p, steps)
		}
		if v := r.values[o]; v != nil {
			return r.elements(v, keys, steps+1)
		}
	case *ast.CompositeLit:
		var out []string
		for _, x := range e.Elts {
			if kv, ok := x.(*ast.KeyValueExpr); ok {
				if x = kv.Value; keys {
					x = kv.Key
				}
			} else if keys {
				return nil, false
			}
			s, ok := r.expr(x, steps+1)
			if !ok {
				return nil, false
			}
			out = append(out, s...)
		}
		return out, true
	}
	return nil, false
}
