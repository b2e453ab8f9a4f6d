package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"sotto/app"
)

func TestDoctor(t *testing.T) {
	emptyHome(t)
	out := good(t, sotto(t, "doctor")).out
	for _, want := range []string{"driver host", "0 failed", "qwen-tiny: equal", "nemotron-tiny: equal", "healthy"} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
}

func TestDoctorJSON(t *testing.T) {
	emptyHome(t)
	var d app.Diagnosis
	if err := json.Unmarshal([]byte(good(t, sotto(t, "doctor", "--json")).out), &d); err != nil {
		t.Fatal(err)
	}
	if !d.Healthy || d.Kernels.Checks == 0 || d.Kernels.Equal+d.Kernels.Close != d.Kernels.Checks {
		t.Errorf("got %+v, want every kernel checked", d.Kernels)
	}
	if len(d.Answers) != 2 || d.System.MemoryBytes == 0 || d.Device.MemoryLimit == 0 {
		t.Errorf("got %+v, want two answers and sizes", d)
	}
	for _, a := range d.Answers {
		if !a.Equal || a.Text != a.Expected || a.Tokens == 0 {
			t.Errorf("got %+v, want the reference's answer", a)
		}
	}
	if !strings.HasPrefix(d.Device.Name, d.System.Processor) {
		t.Errorf("the device %q is not on the processor %q", d.Device.Name, d.System.Processor)
	}
}

func TestDoctorRefused(t *testing.T) {
	for _, n := range []string{"-1", "65"} {
		refused(t, sotto(t, "doctor", "--threads", n), exitUsage, "--threads "+n+": want 0 to 64")
	}
}

// TestDoctorUnhealthy prints what a machine without a device, and one with a wrong kernel, would get.
func TestDoctorUnhealthy(t *testing.T) {
	var out strings.Builder
	err := printDiagnosis(&out, &app.Diagnosis{
		Errors: []string{"device: no GPU"},
		Kernels: &app.KernelFacts{
			Checks: 2, Equal: 1,
			Failures: []app.KernelFailure{{Kernels: []string{"gemv_a", "gemv_b"}, Error: "output 1, byte 4"}},
		},
		Answers: []app.AnswerFacts{{Model: "qwen-tiny", Text: "- pears", Expected: "- apples"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"qwen-tiny: NOT equal", "1 failed", "gemv_a, gemv_b: output 1, byte 4", "device: no GPU",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "healthy") {
		t.Errorf("the report says healthy:\n%s", out.String())
	}
}

// TestDoctorInterrupted holds that what was found out until then is printed, and is not called healthy.
func TestDoctorInterrupted(t *testing.T) {
	emptyHome(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs strings.Builder
	root := newRoot(terminal{out: &out, err: &errs})
	root.SetArgs([]string{"doctor", "--json"})
	if err := root.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	var d app.Diagnosis
	if err := json.Unmarshal([]byte(out.String()), &d); err != nil || d.Healthy || d.Device == nil {
		t.Errorf("%v: got %s, want a report with a device", err, out.String())
	}
}

// TestDrivers answers through the Metal driver on its simulated runtime as through the host driver, bit for bit.
func TestDrivers(t *testing.T) {
	emptyHome(t)
	args := []string{"Tell me a story.", "--temperature", "0.8", "--seed", "7", "--max-tokens", "40"}
	want := ask(t, args...)
	got := ask(t, append(args, "--driver", "sim")...)
	if !slices.Equal(got.CompletionID, want.CompletionID) || got.Text != want.Text {
		t.Errorf("driver sim: got %q, want %q", got.Text, want.Text)
	}
	if out := good(t, sotto(t, "doctor", "--driver", "sim")).out; !strings.Contains(out, "driver metal") {
		t.Errorf("the report of the simulated Mac is:\n%s", out)
	}
	refused(t, sotto(t, "ask", "hi", "--driver", "cuda"), exitUsage, `--driver "cuda": want host, metal, sim`)
	refused(t, sotto(t, "ask", "hi", "--driver", "metal"), exitFailure, "is not macOS")
}
