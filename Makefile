# `make` alone lists what can be made. Everything works as root or not, and sets itself up first.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/bin
WORKERS ?= 2# tests at once
PROJECT ?= .# the folder with the project file that quick, evaluate, analyze, baseline and test-category work on
SUITE ?=# a suite of it; empty: its default
RIVALS ?= $(HOME)/.cache/cortex-rivals# the folder with the tools that bench-rivals compares with
CORTEX := cd "$(PROJECT)" && "$(CURDIR)/$(BIN)/cortex"

# Python keeps what it compiled, whatever the environment says: otherwise each of its hundreds of starts compiles anew.
unexport PYTHONDONTWRITEBYTECODE

# The fast tests write to memory where programs may run and a gigabyte is left: waiting for the disk is a fifth of their
# time. `make test` writes to the disk.
MEMORY = $(firstword $(shell awk '$$2 == "/dev/shm" && $$4 !~ /noexec/ {print $$2}' /proc/mounts 2>/dev/null | \
	xargs -r df -Pk 2>/dev/null | awk 'NR > 1 && $$4 > 1000000 {print $$6}'))

##@ Use it

.PHONY: setup
setup: ## build .venv with all that the demo and the tests need (PYTHON=… names the interpreter)
	@scripts/setup.sh

.PHONY: demo
demo: setup ## a tour of the sample projects in two minutes, and where to look next
	@$(BIN)/cortex demo && echo "Here, cortex is $(CURDIR)/$(BIN)/cortex" >&2

##@ Work on it

.PHONY: check
check: setup lint ## before every commit: format, lint, types and the fast tests; under a minute
	@$(if $(MEMORY),TMPDIR=$(MEMORY)) $(BIN)/pytest -q -m "not slow and not soak" -n $(WORKERS) --dist worksteal --hypothesis-profile=quick

.PHONY: test
test: setup-test lint ## everything but the soak tests, with browser and PostgreSQL
	@$(BIN)/pytest -m "not soak" -n $(WORKERS) --dist worksteal

.PHONY: soak
soak: setup-test ## the long tests
	@$(BIN)/pytest -m soak -o faulthandler_timeout=0

.PHONY: bench
bench: setup ## measure it, and write benchmarks/results.md
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --no-input --no-deps --require-hashes -r requirements/bench.txt
	@$(BIN)/python benchmarks/run.py

.PHONY: bench-rivals
bench-rivals: setup ## measure it beside other tools, if their drivers lie beside the repository (INSTALL=1 gets the tools)
	@$(BIN)/python benchmarks/rivals.py --work "$(RIVALS)" $(if $(INSTALL),--install)

.PHONY: quality
quality: setup ## measure scorers against people on public data, and write docs/quality.md (needs ../shared/data; half an hour)
	@$(BIN)/python benchmarks/quality.py

.PHONY: pictures
pictures: setup-test ## take the pictures of docs/images again (a minute; needs Chromium)
	@$(BIN)/python scripts/pictures.py

.PHONY: format
format: setup ## put the code into the house format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: lint
lint: setup
	@$(BIN)/ruff format --check --quiet . || { echo "Some files are not in the house format. Run: make format" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy --no-error-summary

.PHONY: setup-test
setup-test: setup
	@scripts/setup-test.sh

.PHONY: lock
lock: ## make requirements/*.txt again (needs uv; UPGRADE=1 takes the newest)
	@scripts/lock.sh

.PHONY: clean
clean: ## remove caches and built files; .venv, .cortex and reports stay
	@rm -rf build dist .pytest_cache .ruff_cache .mypy_cache .hypothesis
	@find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

##@ Evaluate a project (PROJECT=folder, SUITE=name)

.PHONY: quick
quick: setup ## a small sample of every category
	@$(CORTEX) run $(SUITE) --quick

.PHONY: evaluate
evaluate: setup ## the whole evaluation
	@$(CORTEX) run $(SUITE)

.PHONY: analyze
analyze: setup ## why cases of the latest run failed, and what to mend first
	@$(CORTEX) analyze latest

.PHONY: baseline
baseline: setup ## make the latest run the baseline
	@$(CORTEX) baseline set latest

.PHONY: test-category
test-category: setup ## one category: CATEGORY=data_discovery
	@test -n "$(CATEGORY)" || { echo "Name the category: make test-category CATEGORY=data_discovery" >&2; exit 1; }
	@$(CORTEX) run $(SUITE) --category "$(CATEGORY)"

.PHONY: help
help:
	@awk 'BEGIN {FS = ":.*## "} /^##@ / {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
