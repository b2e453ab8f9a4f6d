package kit

import (
	"reflect"
	"testing"
)

func TestLines(t *testing.T) {
	mono := Face{Mono: true}
	for _, tt := range []struct {
		name string
		para Para
		want []Para
	}{
		{
			"one",
			Para{Spans: []Span{{Text: "a\n"}}, First: 3, Before: 1, After: 2},
			[]Para{{Spans: []Span{{Text: "a\n"}}, First: 3, Before: 1, After: 2}},
		},
		{
			"indents and spaces",
			Para{Spans: []Span{{Text: "a\u2028b\u2028c\n"}}, First: -20, Indent: 5, Before: 1, After: 2},
			[]Para{
				{Spans: []Span{{Text: "a\n"}}, First: -20, Indent: 5, Before: 1},
				{Spans: []Span{{Text: "b\n"}}, First: 5, Indent: 5},
				{Spans: []Span{{Text: "c\n"}}, First: 5, Indent: 5, After: 2},
			},
		},
		{
			"faces and links stay",
			Para{Spans: []Span{{Text: "a"}, {Text: "b\u2028c", Face: mono, Link: "l"}, {Text: "\n"}}},
			[]Para{
				{Spans: []Span{{Text: "a"}, {Text: "b\n", Face: mono, Link: "l"}}},
				{Spans: []Span{{Text: "c", Face: mono, Link: "l"}, {Text: "\n"}}},
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.para.Lines(); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
