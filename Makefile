# Sotto: `make run` answers, `make test` tests; both set up what is missing.
SHELL := /bin/bash
GO    ?= go
BIN   := bin/sotto
FAST  := engine/gpu/host/lib/fast/sotto.so
EXACT := build/kernels/exact.so
TOOLS := $(CURDIR)/build/tools
LINT  := $(TOOLS)/golangci-lint
FORMAT := clang-format-19
C_SOURCES = $(shell find kernels -type f \( -name '*.metal' -o -name '*.h' -o -name '*.cpp' \) -not -path '*/testdata/*')
KERNEL_SOURCES := $(shell find kernels -type f -not -path '*/testdata/*')
ARGS  ?=
MODEL ?= qwen
FUZZTIME ?= 5m
RACE  ?= ./app/... ./engine ./engine/run ./engine/gpu/... ./ui/...

export CGO_ENABLED ?= 0

.PHONY: help setup run build kernels test race sim-test check strict ptx fmt fmt-check lint generate generate-check fuzz bench \
	bench-peer full-size api-test golden ui-build run-ui ui-test ui-stress ui-pictures app app-darwin vet-darwin api-check \
	api-facts clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

setup: build/compiler ## Find or install the compiler that builds the kernels

build/compiler: packaging/setup.sh
	@packaging/setup.sh
	@mkdir -p build && touch $@

run: build ## Chat with the built-in model (ARGS="..." goes to sotto chat)
	@$(BIN) chat $(ARGS)

build: $(BIN) ## Build bin/sotto

# Go embeds models, kernels and recorded results: what is no Go counts too.
SOURCES = $(shell find app assets cmd engine kernels -type f -not -name '*_test.go' -not -path '*/testdata/*' \
	-not -path 'assets/training/*' 2>/dev/null)

$(BIN): $(FAST) go.mod $(SOURCES)
	@mkdir -p bin
	$(GO) build -trimpath -o $(BIN) ./cmd/sotto

kernels: $(FAST) $(EXACT) ## Build the kernels for this machine: fast build and exact (checking) build

$(FAST): $(KERNEL_SOURCES) | build/compiler
	@$(GO) run ./kernels/msl/cmd/mslbuild host-fast
	@touch $@

$(EXACT): $(KERNEL_SOURCES) | build/compiler
	@$(GO) run ./kernels/msl/cmd/mslbuild host-exact
	@touch $@

test: kernels ## Run every test
	$(GO) test ./...

race: kernels ## Run the tests of what is concurrent under the race detector, with gcc or clang (RACE=./... for all)
	packaging/race.sh $(RACE)

sim-test: kernels ## Run every kernel suite through the Metal driver on its simulated runtime
	$(GO) test ./engine/gpu/metal/sim -run Suites -all

check: fmt-check lint generate-check strict test ## What to run before a commit

strict: | build/compiler ## Compile every kernel for real address spaces, without code
	@$(GO) run ./kernels/msl/cmd/mslbuild strict

ptx: | build/compiler ## Build every kernel for NVIDIA GPUs, into build/kernels
	@$(GO) run ./kernels/msl/cmd/mslbuild ptx

generate: ## Write generated files anew
	@$(GO) run ./kernels/msl/cmd/mslbuild params

generate-check: ## Fail if a generated file is not current
	@$(GO) run ./kernels/msl/cmd/mslbuild params -check

fmt: $(LINT) build/formatter ## Format Go and kernel sources
	$(LINT) fmt ./...
	$(FORMAT) -i $(C_SOURCES)

fmt-check: $(LINT) build/formatter ## Fail on unformatted files
	$(LINT) fmt --diff ./...
	$(FORMAT) --dry-run --Werror $(C_SOURCES)

build/formatter:
	@command -v $(FORMAT) >/dev/null || packaging/apt.sh "Formatting the kernels" $(FORMAT)
	@mkdir -p build && touch $@

lint: $(LINT) ## Run the linters
	@packaging/lint.sh $(LINT)

$(LINT):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

fuzz: kernels ## Run every fuzz target for FUZZTIME each
	@packaging/fuzz.sh $(FUZZTIME)

bench: kernels ## Run the benchmarks
	$(GO) test -run '^$$' -bench . -benchtime 2s ./...

bench-peer: build ## Compare with mlx-lm on this processor (own Python environment under build/; ARGS="--pairs 9")
	@packaging/bench-peer.sh $(ARGS)

full-size: build ## Write, pack and run made-up weights of a published model's size: 40 GB of disk (MODEL=nemotron, KEEP=1)
	@packaging/full-size.sh $(MODEL) $(ARGS)

api-test: build ## Test and measure the API with OpenAI's client for Python and with curl (own environment under build/)
	@packaging/api-test.sh --sotto $(BIN)

golden: kernels ## Rewrite golden files from the present output; look at the difference before committing
	$(GO) test ./... -update

ui-build: $(FAST) ## Build Sotto with its windows over GNUstep (Linux), as build/linux-rig/Sotto.app
	@packaging/linux-rig/setup.sh
	@packaging/linux-rig/build.sh

run-ui: ui-build ## Open the windows on this Linux desktop, with a home folder of their own under build/
	@packaging/linux-rig/run.sh build/linux-rig/home build/linux-rig/Sotto.app/Sotto app

ui-test: ui-build ## Drive the windows on a virtual screen and take pictures (build/shots)
	$(GO) run ./packaging/linux-rig/uitest $(ARGS)

ui-stress: ui-build ## 3,000 random events and 200 windows while the garbage collector is always at work
	$(GO) run ./packaging/linux-rig/uitest -run '^(random|windows)$$' -events 3000 -windows 200 $(ARGS)

ui-pictures: ui-build ## Take the README's pictures anew (docs/images)
	$(GO) run ./packaging/linux-rig/uitest -pictures docs/images $(ARGS)

app: ## Build build/Sotto.app for Macs with Apple silicon: on a Mac with its own tools, on Linux with clang and stubs
	@packaging/mac/app.sh

app-darwin: api-check app vet-darwin ## app, and every check of the macOS side

vet-darwin: ## Vet what is other on macOS than on Linux, as macOS sees it
	@packaging/mac/vet.sh

api-check: ## Type-check all code for macOS; check classes, selectors and arguments against the API facts
	@packaging/darwinkit.sh
	@$(GO) run ./packaging/api/cmd/apicheck -modfile build/darwinkit.mod -info Info.plist ./...

api-facts: ## Read the API facts anew out of the objc2 crates (needs cargo)
	@packaging/api/facts.py build/api
	@$(GO) run ./packaging/api/cmd/metalfacts engine/gpu/metal/sim/facts.json

clean: ## Remove what was built
	rm -rf build bin $(FAST)
