# `make` without a target lists the targets; the work is done in scripts/.

SHELL       := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help up build web test test-long test-agents soak lint bench fuzz audit screenshots demo-video release clean

# Without git (a source archive) or without a commit the version is "unknown".
VERSION  := $(shell git describe --always --dirty 2>/dev/null || echo unknown)
FUZZTIME ?= 5m
MINUTES  ?= 20
BENCH    ?= .

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: build ## Build, then run the orchestrator, a local worker and the demo on the embedded database
	@scripts/install-test-deps tmux
	@bin/svc up --demo

build: web ## Build the static binary bin/svc
	@scripts/check-tools go
	@[[ -e bin/svc ]] || echo 'building svc; the first time, Go fetches its modules' >&2
	@CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X svc/cli.version=$(VERSION)' -o bin/svc ./cmd/svc 2>&1 | sed '/^go: downloading /d' >&2

web: ## Build the browser app that the binary embeds, if it has changed
	@scripts/build-web

test: web ## Install what the tests need, then check format, vet, lint and run every test
	@scripts/install-test-deps
	@scripts/test

test-long: build ## Run the Go tests including the long ones (soak, crash loops, large fleets), the trial of the page, and Firefox if installed
	@scripts/install-test-deps
	cd web && npm run --silent e2e:firefox
	cd web && npm run --silent e2e:trial
	SVC_TEST_LONG=1 scripts/go-race test -timeout 60m ./...

test-agents: web ## Run the real agent tools, fetched from npm, through svc (UPDATE=1: results into docs/providers.md)
	@scripts/test-agents $(if $(UPDATE),-update)

soak: web ## Cause random faults for MINUTES on each database, then check the results (DATABASE=sqlite|postgres|members, SEED=n)
	@scripts/install-test-deps
	SVC_SOAK_MINUTES='$(MINUTES)' SVC_SOAK_DATABASE='$(DATABASE)' SVC_SOAK_SEED='$(SEED)' \
		go test -count=1 -v -timeout 0 -run '^TestSoak$$' ./e2e/soak

lint: web ## Install golangci-lint when missing and run it
	@scripts/install-lint
	.cache/bin/golangci-lint run ./...

bench: web ## Run the benchmarks and their peers (BENCH=regexp)
	cd bench && go run . '$(BENCH)'

fuzz: web ## Run each fuzz target for FUZZTIME (default 5m)
	@scripts/install-test-deps
	@scripts/fuzz '$(FUZZTIME)'

screenshots: build ## Remake docs/screenshots: every page in both themes
	@scripts/install-test-deps
	@scripts/screenshots

demo-video: build ## Remake docs/demo.svg: the recording of the demo run, as an animated picture
	@scripts/install-test-deps tmux
	@scripts/demo-video

audit: ## Look for known vulnerabilities in Go modules and npm packages (needs the network)
	@scripts/audit

release: web ## Build reproducible archives, packages, formula and manual pages for linux and darwin, amd64 and arm64, into dist/
	@scripts/release '$(VERSION)'

clean: ## Remove build results; installed tools stay
	rm -rf bin dist .cache/web
	go clean -testcache
