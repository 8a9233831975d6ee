# make demo       the main job on real input: fit on 600 labels, test on 1,200 other queries
# make test       the tests
# make check      what CI runs: lint, types, import contracts, tests
# make check-all  check, and what takes longer: long fuzzing, slow tests
# make bench      the benchmark of exact search (docs/benchmarks.md has the commands of the others)
# make bench-quality DATA=DIR   ours and the peers' recipes on the same splits, three cells (ARGS= for others)

PYTHON ?= python3
VENV ?= .venv
EDITABLE ?= -e
# Installed before what needs it, so that nothing else chooses a version of torch. Its build for CPUs is enough: where
# pip would take another, name that build here, or the index that has it.
TORCH ?= torch==2.13.0
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: demo test lint types contracts check check-all bench bench-quality docs clean

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile $(EDITABLE) '.[demo]'
	@touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) $(TORCH)
	$(PIP) $(EDITABLE) '.[dev]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/askew demo

test: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile -m 'not slow'

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

contracts: $(VENV)/.dev
	$(BIN)/lint-imports

check: lint types contracts test

check-all: check
	OMP_NUM_THREADS=1 HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -n auto --dist loadfile

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/exact_search.py

bench-quality: $(VENV)/.dev
	$(PIP) $(EDITABLE) '.[bench]'
	$(BIN)/python benchmarks/quality/run.py --data $(DATA) $(or $(ARGS),--quick)

docs: $(VENV)/.dev
	$(BIN)/python -m askew.cli.reference docs/cli.md

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
