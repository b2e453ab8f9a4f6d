package msl

import (
	"fmt"
	"strings"
)

// Target is a way to compile a unit.
type Target int

// Targets.
const (
	Host   Target = iota // x86-64, a fiber or a plain call for each lane
	PTX                  // NVIDIA, a warp for each simdgroup
	Strict               // C++ for OpenCL with real address spaces; checked, never run
)

// Source writes the unit as C++ for a target. Lines stay where they are in the .metal source; msl.h gives the MSL
// words their meaning.
func (u *Unit) Source(t Target) string {
	text := make([]string, len(u.ts))
	for i, tok := range u.ts {
		text[i] = tok.text
	}
	u.dropAttributes(text)
	if t != Strict {
		u.dropDuplicates(text)
	}
	for _, i := range u.consts {
		text[i] = "MSL_CONSTANT"
	}
	for _, d := range u.insts {
		for i := d.start; i <= d.end; i++ {
			if t != Strict || u.at(i) == "kernel" {
				text[i] = ""
			}
		}
	}
	for _, k := range u.Kernels {
		u.rewrite(k, text, t)
	}
	var b strings.Builder
	b.WriteString("#include \"msl.h\"\n")
	for i, tok := range u.ts {
		b.WriteString(tok.space)
		b.WriteString(text[i])
	}
	b.WriteString("\n#line 1 \"entry points\"\n")
	if t != Strict {
		for _, e := range u.Entries {
			b.WriteString(u.entry(e))
		}
	}
	return b.String()
}

func (u *Unit) dropAttributes(text []string) {
	for i := range u.ts {
		if u.at(i) != "[[" {
			continue
		}
		for j := i; j <= closer(u.ts, i) && j < len(text); j++ {
			text[j] = ""
		}
		if u.at(i+1) == "kernel" {
			text[i] = "kernel"
		}
	}
}

func (u *Unit) dropDuplicates(text []string) {
	for _, f := range u.funcs {
		if f.name != "" {
			continue
		}
		for j := f.start; j <= f.close && j < len(text); j++ {
			text[j] = ""
		}
	}
}

// frameType is the type of a kernel's threadgroup frame with the given template arguments.
func (k *Kernel) frameType(args string) string { return "msl_frame_" + k.Name + args }

// rewrite gives a kernel its context parameter and its frame.
func (u *Unit) rewrite(k *Kernel, text []string, t Target) {
	if t != Strict {
		text[k.fn.params] = "(msl_ctx msl_c"
		if len(k.Params) > 0 {
			text[k.fn.params] += ", "
		}
	}
	if k.frame == nil {
		return
	}
	header, args := "", ""
	if k.Template != nil {
		header = join(u.ts[k.fn.start : closer(u.ts, k.fn.start+1)+1])
		args = "<" + strings.Join(k.Template, ", ") + ">"
	}
	text[k.fn.start] = header + " struct " + k.frameType("") + " { " + join(k.frame) + " }; " + text[k.fn.start]
	text[k.fn.open] += " MSL_FRAME(" + k.frameType(args) + ")"
}

// bound is the number of threads that the kernel's attribute allows, 0 without one.
func (k *Kernel) bound() int {
	if k.MaxThreads == maxThreads {
		return 0
	}
	return k.MaxThreads
}

// entry writes the entry point: the shim binds each parameter by its type and the attribute named here.
func (u *Unit) entry(e Entry) string {
	var b strings.Builder
	frame := "msl_no_frame"
	if e.Kernel.frame != nil {
		frame = e.Kernel.frameType(strings.TrimPrefix(e.Expr, e.Kernel.Name))
	}
	fmt.Fprintf(&b, "#line %d %q\n", e.Pos.Line, e.Pos.File)
	fmt.Fprintf(&b, "MSL_ENTRY(%s, (%s), (%s), %d", e.Host, e.Expr, frame, e.Kernel.bound())
	for _, p := range e.Kernel.Params {
		if p.Attr == "buffer" {
			fmt.Fprintf(&b, ", msl_buffer<%d>", p.Num)
		} else {
			b.WriteString(", " + builtins[p.Attr])
		}
	}
	b.WriteString(")\n")
	return b.String()
}
