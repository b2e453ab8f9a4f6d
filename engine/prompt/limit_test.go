package prompt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// TestRefusedTemplates are templates that cannot be followed.
func TestRefusedTemplates(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"tag without an end", "{{ x", "line 1: a tag without an end"},
		{"string without an end", "\n{{ 'x }}", "line 2: a tag without an end"},
		{"comment without an end", "{# x", "a comment without an end"},
		{"raw without an end", "{% raw %}x", "a raw block without an end"},
		{"unknown statement", "{% include 'x' %}", `unknown statement "include`},
		{"end without beginning", "{% endif %}", "endif without its beginning"},
		{"beginning without end", "{% if x %}", "unclosed if"},
		{"crossed", "{% if x %}{% for a in b %}{% endif %}{% endfor %}", "endif without its beginning"},
		{"code", "{{ a ; b }}", "not understood"},
		{"empty", "{{ }}", "empty expression"},
		{"brackets", "{{ (a }}", "closing bracket"},
		{"closing bracket", "{{ a) }}", "closing bracket"},
		{"several names", "{% set a, b = 1, 2 %}", "several names"},
		{"recursive", "{% for a in b recursive %}{% endfor %}", "recursive"},
		{"comma in a default", "{% macro f(a=', ') %}{% endmacro %}", "comma"},
		{"power", "{{ 9 ** 9 }}", "**"},
		{"unknown factor", "{{ 'a' * x[0] }}", "factor"},
		{"large factor", "{{ 'a' * 1000000 }}", "limit"},
		{"factors", "{{ 'a' * 256 * 256 }}", "limit"},
		{"large number", "{{ x[99999999999] }}", "limit"},
		{"nesting", "{{ " + strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100) + " }}", "limit"},
		{"signs", "{{ " + strings.Repeat("- ", 1000) + "1 }}", "limit"},
		{"nots", "{{ " + strings.Repeat("not ", 1000) + "1 }}", "limit"},
		{"blocks", strings.Repeat("{% if a %}", 1000), "limit"},
		{"a long tag", "{{ 1" + strings.Repeat(" + 1", 10000) + " }}", "limit"},
		{"length", strings.Repeat("x", maxTemplate+1), "limit"},
		{"not UTF-8", "a\xffb", "UTF-8"},
		{"bad escape", `{{ "\ud800" }}`, "escape"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := New(Source{Default: c.text}, nil)
			if err == nil || !strings.HasPrefix(err.Error(), "chat template: ") ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("got error %v, want chat template: ... %s", err, c.want)
			}
		})
	}
}

// TestHostileTemplates ask for more than a rendering may have.
func TestHostileTemplates(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"a macro calls itself", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"},
		{
			"macros call one another",
			"{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}x{{ f() }}{% endmacro %}{{ f() }}",
		},
		{"a caller calls its macro", "{% macro f() %}{{ caller() }}{% endmacro %}" +
			"{% macro g() %}{% call f() %}{{ g() }}{% endcall %}{% endmacro %}{{ g() }}"},
		{"a long range", "{{ range(1000000) }}"},
		{"a large factor", "{{ 'a' * (999 + 999) }}"},
		{"loops in loops", "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"},
		{
			"doubling",
			"{% set ns = namespace(s='ab') %}{% for a in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
		},
		{"doubling a list", "{% set ns = namespace(l=[1]) %}{% for a in range(99) %}" +
			"{% set ns.l = ns.l + ns.l %}{% endfor %}"},
		{"much output", "{% for a in range(99999) %}" + strings.Repeat("x", 1000) + "{% endfor %}"},
		{"a list in itself", "{% set l = [] %}{% set x = l.append(l) %}{{ l }}"},
		{"a list in itself as JSON", "{% set l = [] %}{% set x = l.append(l) %}{{ l | tojson }}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			_, err := chat(t, c.text).Render(context.Background(), Request{}, noon)
			if !errors.Is(err, ErrLimit) {
				t.Errorf("got error %v, want ErrLimit", err)
			}
			if took := time.Since(start); took > 2*maxTime {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestPanicBecomesError(t *testing.T) {
	_, err := chat(t, "{{ [1] | selectattr('a') }}").Render(context.Background(), Request{}, noon)
	if err == nil || !strings.HasPrefix(err.Error(), "the template cannot be evaluated: ") {
		t.Errorf("got error %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := chat(t, "{% for a in range(9999) %}x{% endfor %}").Render(ctx, Request{}, noon)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want %v", err, context.Canceled)
	}
}

func TestProducts(t *testing.T) {
	for text, want := range map[string]string{
		"{{ '-' * 5 }}":                                    "-----",
		"{{ 3 * 4 }}":                                      "12",
		"{% set n = 3 %}{{ 'ab' * n }}":                    "ababab",
		"{% set n = 3 %}{{ 'ab' * n if n else '' }}":       "ababab",
		"{% set n = 3 %}[{{ 'ab' * (n - 1) }}]":            "[abab]",
		"{% set n = 3 %}{{ ('ab' * n) ~ 'c' }}":            "abababc",
		"{% set d = {'n': 2} %}{{ 'ab' * d.n }}":           "abab",
		"{{ 'a' * (0 - 3) }}b":                             "b",
		"{{ 'x}}' }}{{ {'a': {'b': '%}'}}['a'].b }}":       "x}}%}",
		`{{ 'a\x41\u00e9\'\"\\\n' }}{{ "\q" }}`:            "aAé'\"\\\n\\q",
		"{% if not (1 == 2) and 'a' in 'abc' %}y{%endif%}": "y",
	} {
		if got := joined(render(t, chat(t, text), Request{})); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
