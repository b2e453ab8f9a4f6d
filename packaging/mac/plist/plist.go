// Package plist reads property lists in XML, strictly: what Apple's own reader would refuse, or would read as something
// else than it seems to say, is an error with its line.
package plist

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// maxDepth bounds how deep values lie in one another.
const maxDepth = 64

// Decode reads a property list. A dict becomes a map[string]any, an array []any; the rest string, int64, float64, bool,
// time.Time and []byte.
func Decode(b []byte) (any, error) {
	if !bytes.HasPrefix(b, []byte("<?xml ")) {
		return nil, errors.New("line 1: does not begin with <?xml")
	}
	d := &decoder{x: xml.NewDecoder(bytes.NewReader(b))}
	d.x.Entity = map[string]string{}
	v, err := d.document()
	if err != nil {
		line, _ := d.x.InputPos()
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return v, nil
}

type decoder struct{ x *xml.Decoder }

// next returns the next start or end of an element; only blanks and comments may lie between.
func (d *decoder) next() (xml.Token, error) {
	for {
		t, err := d.x.Token()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if t.Name.Local != "plist" && len(t.Attr) > 0 {
				return nil, fmt.Errorf("<%s> has attributes", t.Name.Local)
			}
			return t.Copy(), nil
		case xml.EndElement:
			return t, nil
		case xml.CharData:
			if text := strings.TrimSpace(string(t)); text != "" {
				return nil, fmt.Errorf("text outside of a value: %q", text)
			}
		}
	}
}

func (d *decoder) document() (any, error) {
	t, err := d.next()
	if err != nil {
		return nil, err
	}
	root, ok := t.(xml.StartElement)
	if !ok || root.Name.Local != "plist" {
		return nil, errors.New("the outermost element is not <plist>")
	}
	if len(root.Attr) != 1 || root.Attr[0].Name.Local != "version" || root.Attr[0].Value != "1.0" {
		return nil, errors.New(`<plist> is not version="1.0"`)
	}
	if t, err = d.next(); err != nil {
		return nil, err
	}
	start, ok := t.(xml.StartElement)
	if !ok {
		return nil, errors.New("<plist> is empty")
	}
	v, err := d.value(start, 0)
	if err != nil {
		return nil, err
	}
	if t, err = d.next(); err != nil {
		return nil, err
	}
	if _, ok := t.(xml.EndElement); !ok {
		return nil, errors.New("<plist> has more than one value")
	}
	if _, err = d.next(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows </plist>")
	}
	return v, nil
}

func (d *decoder) value(start xml.StartElement, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errors.New("values lie too deep in one another")
	}
	switch kind := start.Name.Local; kind {
	case "dict":
		return d.dict(depth)
	case "array":
		return d.array(depth)
	case "true", "false":
		text, err := d.text()
		if err == nil && text != "" {
			err = fmt.Errorf("<%s> is not empty", kind)
		}
		return kind == "true", err
	case "string", "integer", "real", "date", "data":
		text, err := d.text()
		if err != nil {
			return nil, err
		}
		return scalar(kind, text)
	default:
		return nil, fmt.Errorf("unknown element <%s>", kind)
	}
}

func scalar(kind, text string) (any, error) {
	switch kind {
	case "integer":
		return strconv.ParseInt(strings.TrimSpace(text), 0, 64)
	case "real":
		return strconv.ParseFloat(strings.TrimSpace(text), 64)
	case "date":
		return time.Parse("2006-01-02T15:04:05Z", text)
	case "data":
		return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	default:
		return text, nil
	}
}

// text reads up to the end of the element that was opened.
func (d *decoder) text() (string, error) {
	var b strings.Builder
	for {
		t, err := d.x.Token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.EndElement:
			return b.String(), nil
		case xml.StartElement:
			return "", fmt.Errorf("<%s> inside of text", t.Name.Local)
		}
	}
}

func (d *decoder) array(depth int) (any, error) {
	out := []any{}
	for {
		t, err := d.next()
		if err != nil {
			return nil, err
		}
		start, ok := t.(xml.StartElement)
		if !ok {
			return out, nil
		}
		v, err := d.value(start, depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
}

func (d *decoder) dict(depth int) (any, error) {
	out := map[string]any{}
	for {
		t, err := d.next()
		if err != nil {
			return nil, err
		}
		start, ok := t.(xml.StartElement)
		if !ok {
			return out, nil
		}
		if start.Name.Local != "key" {
			return nil, fmt.Errorf("<%s> in a dict where a <key> should be", start.Name.Local)
		}
		key, err := d.text()
		if err != nil {
			return nil, err
		}
		if _, twice := out[key]; twice {
			return nil, fmt.Errorf("the key %q is there twice", key)
		}
		if t, err = d.next(); err != nil {
			return nil, err
		}
		if start, ok = t.(xml.StartElement); !ok {
			return nil, fmt.Errorf("the key %q has no value", key)
		}
		if out[key], err = d.value(start, depth+1); err != nil {
			return nil, err
		}
	}
}
