module planted

go 1.26

require (
	github.com/ebitengine/purego v0.0.0
	github.com/progrium/darwinkit v0.0.0
)

replace (
	github.com/ebitengine/purego => ./purego
	github.com/progrium/darwinkit => ./darwinkit
)
