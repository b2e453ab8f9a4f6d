module github.com/progrium/darwinkit

go 1.26
