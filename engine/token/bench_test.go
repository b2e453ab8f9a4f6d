package token

import (
	"os"
	"strings"
	"testing"
)

func BenchmarkLoad(b *testing.B) {
	for name, path := range map[string]string{"tiny": tinyPath, "qwen36": ""} {
		b.Run(name, func(b *testing.B) {
			if path == "" {
				path = qwen36.path(b)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := Load(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	tok := load(b, qwen36.path(b))
	text := strings.Join(corpus(b), "\n")
	source, err := os.ReadFile("load.go")
	if err != nil {
		b.Fatal(err)
	}
	long := strings.Repeat("ab", 1<<16)
	for name, s := range map[string]string{"corpus": text, "source": string(source), "letters": long} {
		b.Run(name, func(b *testing.B) {
			var ids []int32
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				ids = tok.EncodePlain(ids[:0], s)
			}
		})
	}
}

func BenchmarkPush(b *testing.B) {
	tok := load(b, tinyPath)
	ids := tok.EncodePlain(nil, strings.Join(corpus(b)[:200], "\n"))
	d := tok.NewDecoder(false)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		d.Push(ids[i%len(ids)])
	}
}
