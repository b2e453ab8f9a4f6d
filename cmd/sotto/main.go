// Command sotto answers with a language model that runs on this machine: chat in the terminal, single questions
// for scripts, an API for other programs, a list of models.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// errInterrupted is returned by a command that the user stopped: what there was has been printed.
var errInterrupted = errors.New("interrupted")

// usageError marks mistakes in the command line itself.
type usageError struct{ error }

func main() {
	os.Exit(run(os.Args[1:], terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// terminal is where a command reads and writes.
type terminal struct {
	in       *os.File
	out, err io.Writer
}

// checked remembers the first error of writing, since an answer that nobody could read is no success.
type checked struct {
	io.Writer
	err error
}

func (o *checked) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// checkedFile is one that is a terminal's or a file's.
type checkedFile struct {
	*checked
	fd uintptr
}

// Fd is the descriptor, by which a terminal is told from a pipe.
func (o checkedFile) Fd() uintptr { return o.fd }

// interruptible returns a context that the signals of leaving end. Until stop is called they do nothing else; after
// it, and while a command waits for its input, they end the process as they always do.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}

func run(args []string, t terminal) int {
	out := &checked{Writer: t.out}
	if f, ok := t.out.(*os.File); ok {
		t.out = checkedFile{out, f.Fd()}
	} else {
		t.out = out
	}
	root := newRoot(t)
	root.SetArgs(args)
	c, err := root.ExecuteContextC(context.Background())
	if err == nil {
		err = out.err
	}
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(t.err, "sotto: %v\nRun '%s --help' for usage.\n", err, c.CommandPath())
		return exitUsage
	default:
		fmt.Fprintf(t.err, "sotto: %v\n", err)
		return exitFailure
	}
}

func newRoot(t terminal) *cobra.Command {
	root := &cobra.Command{
		Use:           "sotto",
		Version:       version(),
		Short:         "A language model on this machine, in private",
		Long:          "Sotto answers with a language model that runs on this machine. Nothing you type leaves it.",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usageError{fmt.Errorf("unknown command %q", args[0])}
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetIn(t.in)
	root.SetOut(t.out)
	root.SetErr(t.err)
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(newChat(t), newAsk(t), newServe(t), newModels(t), newBench(t), newDoctor(t))
	addWindow(root, t)
	return root
}

// noArgs refuses positional arguments.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", args[0])}
	}
	return nil
}
