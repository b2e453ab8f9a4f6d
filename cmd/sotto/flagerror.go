package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError says in the user's words what is wrong with a flag.
func flagError(_ *cobra.Command, err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := bad.GetFlag()
		err = fmt.Errorf("--%s %q: %s", f.Name, bad.GetValue(), wanted(f.Value.Type(), bad.Unwrap()))
	}
	return usageError{err}
}

// wanted says what a flag of this type takes.
func wanted(kind string, cause error) string {
	if errors.Is(cause, strconv.ErrRange) {
		return "the number is out of range"
	}
	switch kind {
	case "bool":
		return "want true or false"
	case "float32":
		return "want a number"
	case "int":
		return "want a whole number"
	case "intSlice":
		return "want whole numbers, separated by commas"
	case "uint64":
		return "want a whole number from 0"
	}
	return cause.Error()
}

// checkModel refuses an empty name, which is more likely a mistake in a script than the wish for the default model.
func checkModel(name string) error {
	if name == "" {
		return usageError{errors.New("--model: the name is empty")}
	}
	return nil
}
