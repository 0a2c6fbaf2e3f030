# make run     build the program and serve (installs Go if need be)
# make test    every check there is (installs what the checks need)
#
# Both work on a bare Debian, Ubuntu, Fedora or macOS. The others leave the
# machine alone: build, check, e2e, bench, fmt.

# One set of build flags for everything that compiles, handed to the go command
# through GOFLAGS, so that run, test, vet and staticcheck share one build cache:
# a flag that differs is a cold build again, minutes of it.
#
# The two model SDKs are generated code. On two cores they are a third of a
# cold build, most of it optimising accessors that run once per model request.
# Measured as CPU seconds (user) of a cold build without cgo, of a program with
# the same dependencies:
#     114  plain
#      99  without debug information for debuggers (-dwarf=false, -w)
#      93  and no optimising of the SDKs' two root packages (-N -l)
#      81  and of openai-go/responses, which its root package draws in
# The rest of the list is what runs once at the start, at a person's pace, or
# when the configuration is read. A larger GOGC for the compiler, or -p, changes
# nothing. Stack traces and profiles are the same; to step through with a
# debugger: make build GOFLAGS=
NODEBUG := -dwarf=false
SLOW_TO_OPTIMISE := \
	github.com/anthropics/anthropic-sdk-go/... \
	github.com/openai/openai-go/... \
	github.com/goccy/go-yaml/... \
	github.com/godbus/dbus/... \
	github.com/google/jsonschema-go/... \
	github.com/spf13/... \
	go.yaml.in/yaml/... \
	golang.org/x/text/... \
	ionclaw-tray/cmd/...
GOFLAGS := -buildvcs=false -ldflags=-w -gcflags=all=$(NODEBUG) \
	$(foreach package,$(SLOW_TO_OPTIMISE),'-gcflags=$(package)=$(NODEBUG) -N -l')
export GOFLAGS

# Fedora's Go does not fetch the version of go.mod unless it is told to.
export GOTOOLCHAIN ?= auto

VERSION := $(shell sed -n 's/^Version = "\(.*\)"/\1/p' FyneApp.toml)

# A Go that setup has fetched comes first; one that is only in its usual place last.
CACHE := $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/ionclaw-tray
export PATH := $(CACHE)/go/bin:$(PATH):/usr/local/go/bin

# The program and the checks need no C compiler; the race detector does.
export CGO_ENABLED := 0

# In CI no test result is taken from the cache.
TEST_FLAGS := $(if $(filter true,$(CI)),-count=1)

SOURCES := $(wildcard app assets cmd server ui)

.PHONY: run
run: setup-run build
	bin/ionclaw serve

.PHONY: test
test: setup-test check
	CGO_ENABLED=1 go test -race $(TEST_FLAGS) ./...
	.ci/conformance

.PHONY: build
build:
	go build -ldflags '-w -X main.version=$(VERSION)' -o bin/ionclaw ./cmd/ionclaw

# What needs no test to run: format, vet, staticcheck, directions between packages.
.PHONY: check
check:
	@unformatted=$$(gofmt -l $(SOURCES)); [ -z "$$unformatted" ] || { echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; }
	go vet ./...
	go tool staticcheck ./...
	go test $(TEST_FLAGS) -run '^TestDirection' ./app

# The program as people and clients meet it: its command line and its endpoint.
.PHONY: e2e
e2e:
	go test -count=1 ./cmd/...
	.ci/conformance

# The figures that the documents quote: CPU, memory, throughput.
.PHONY: bench
bench:
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: fmt
fmt:
	gofmt -w $(SOURCES)

.PHONY: setup-run setup-test
setup-run:
	@.make/setup.sh run
setup-test:
	@.make/setup.sh test
