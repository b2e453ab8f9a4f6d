package check

import (
	"go/types"
	"strings"

	"sotto/packaging/api"
)

// evaluate looks a message up.
func (c *checker) evaluate(m message, via string) {
	if via != "" {
		via = " (through " + strings.ReplaceAll(via, darwinkit+"/", "") + ")"
	}
	for _, s := range m.selectors {
		c.result.Messages++
		takes := strings.Count(s, ":")
		if (m.sent || m.own) && !m.spread && len(m.arguments) != takes {
			c.report(m.pos, "%s takes %d arguments, %d are given%s", s, takes, len(m.arguments), via)
		} else if !m.own && !c.own[s] && !c.rules.Extra[s] {
			c.known(m, s, via)
		}
	}
}

// known looks a selector of Apple's up.
func (c *checker) known(m message, s, via string) {
	found, ok := c.lookUp(m, s, via)
	if !ok || !m.sent {
		return
	}
	if !m.spread {
		c.compare(m, s, found, via)
	}
	if v := c.newer(m.to, s); v != "" && !m.asked {
		c.report(m.pos, "%s exists since macOS %s: ask whether it is understood%s", s, v, via)
	}
}

// lookUp returns the signatures that a selector can have where it is sent.
func (c *checker) lookUp(m message, s, via string) ([]api.Signature, bool) {
	facts := c.rules.Facts
	class := m.to.class
	if class == "" || c.classes[class] {
		found := facts.Anywhere(s)
		if len(found) == 0 {
			c.report(m.pos, "unknown selector %s%s", s, via)
		}
		return found, len(found) > 0
	}
	if facts.Types[class] == nil && facts.Protocol(class) == nil {
		c.report(m.pos, "nothing is known of %s, which is sent %s%s", class, s, via)
		return nil, false
	}
	sign, what := "-", class
	if m.to.meta {
		sign, what = "+", "the class "+class
	}
	if p := facts.Protocol(class); p != nil && p.Name != "" && facts.Types[class].Protocol() {
		class += "Protocol"
	}
	found, ok := facts.Find(class, sign+s)
	if !ok {
		c.report(m.pos, "%s does not answer %s%s", what, s, via)
	}
	return []api.Signature{found}, ok
}

// compare holds arguments and result against signatures; one of them must fit.
func (c *checker) compare(m message, s string, found []api.Signature, via string) {
	first := ""
	for _, sig := range found {
		why := c.mismatch(m, sig)
		if why == "" {
			return
		}
		if first == "" {
			first = why
		}
	}
	c.report(m.pos, "%s: %s%s", s, first, via)
}

func (c *checker) mismatch(m message, sig api.Signature) string {
	result, arguments := sig.Codes()
	if len(arguments) != len(m.arguments) {
		return "takes another number of arguments"
	}
	for i, a := range arguments {
		why, ok := fits(c.rules.Facts, a, m.arguments[i])
		if !ok && !widens(flat(c.rules.Facts, a), kind(m.arguments[i]), i) {
			return why
		}
	}
	if m.result == nil || kind(m.result) == "v" {
		return ""
	}
	if why, ok := fits(c.rules.Facts, result, m.result); !ok {
		return "the result " + strings.Replace(why, "is given as", "is taken as", 1)
	}
	return ""
}

// newer returns the version of macOS that brought a method, if the oldest one lacks it.
func (c *checker) newer(to receiver, s string) string {
	if to.class == "" {
		for key, v := range c.rules.Since {
			if strings.HasSuffix(key, " "+s) {
				return v
			}
		}
		return ""
	}
	for class := to.class; class != ""; {
		for _, key := range []string{class, class + " " + s} {
			if v := c.rules.Since[key]; v != "" {
				return v
			}
		}
		t := c.rules.Facts.Types[class]
		if t == nil {
			break
		}
		class = t.Super
	}
	return ""
}

// signatureTypes returns the types of a Go function's arguments and result.
func signatureTypes(s *types.Signature) (arguments []types.Type, result types.Type) {
	for i := range s.Params().Len() {
		arguments = append(arguments, s.Params().At(i).Type())
	}
	if s.Results().Len() == 1 {
		result = s.Results().At(0).Type()
	}
	return arguments, result
}
