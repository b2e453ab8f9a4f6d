// Package broken does not compile for macOS.
package broken

func use() int { return "one" }
