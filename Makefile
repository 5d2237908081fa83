# Every target makes what it needs: `make demo` and `make test` work on a fresh machine with Python 3.11+ and Java 17.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CLASSES := $(VENV)/spark-classes.jsa

WORKERS ?= 4
PYTEST := $(BIN)/pytest -q -n $(WORKERS) --dist loadfile
# What one process of a run has compiled, those after it load.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo demo-full docs test test-long lint unit integration bench clean

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

$(STAMP): requirements.lock setup.cfg pyproject.toml tools/bootstrap.sh
	@bash tools/bootstrap.sh $(VENV)
	@touch $(STAMP)

demo: $(STAMP)  ## The main job, end to end: metastore, sync, Spark SQL on three real tables
	@$(BIN)/hudi-hive demo

demo-full: $(STAMP)  ## The set-up of docker/compose.yaml without docker: S3, metastore, Thrift server, pages; Ctrl-C ends it
	@$(BIN)/python -m tools.demo_full

# Spark starts twice as fast on an archive of its classes; the tests run without one, too.
$(CLASSES): $(STAMP)
	@echo "archiving Spark's classes (once) ..."
	@$(BIN)/python -m integration.support.class_archive >/dev/null 2>&1 || echo "note: no archive, sessions start slower"

test: $(STAMP)  ## Lint, types, layers, then all tests (those with a JVM too)
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target $(CLASSES) $(LINTERS) compile-tests
	@$(PYTEST)

# Once, where each of the workers would do it.
.PHONY: compile-tests
compile-tests:
	@$(BIN)/pytest --collect-only -qq >/dev/null || true

test-long: lint  ## All cases of all tests, then the long runs of integration/long and tests/support: half a day
	@$(PYTEST) -m ""
	@$(BIN)/python -m tools.long_runs

LINTERS := lint-types lint-checks lint-style lint-imports lint-docker
.PHONY: $(LINTERS)

lint: $(STAMP)  ## ruff, mypy --strict, import-linter, the repository's own checks, the docker files
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target $(LINTERS)

lint-types:
	@$(BIN)/mypy

lint-checks:
	@$(BIN)/python -m tools.checks

lint-style:
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

lint-imports:
	@$(BIN)/lint-imports

lint-docker:
	@$(BIN)/hadolint docker/*.Dockerfile
	@$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec docker/compose.yaml

docs: $(STAMP)  ## The documentation site, in build/site; a link that leads nowhere fails, nothing is downloaded
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@$(BIN)/python -m tools.site

unit: $(STAMP)  ## Only the tests that need no JVM
	@$(PYTEST) tests

integration: $(STAMP)  ## Only the tests against real metastores and real Spark
	@$(PYTEST) integration

bench: $(STAMP)  ## Benchmarks: us and the peers side by side
	@for f in benchmarks/*.py; do echo "== $$f"; $(BIN)/python $$f || exit 1; done

clean:  ## Remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build *.egg-info
