# Each verb sets up what it needs by itself: a virtual environment in .venv, made anew when pyproject.toml changes.

PYTHON ?= python3
BIN := .venv/bin
RUN := .venv/.installed
DEV := .venv/.installed-dev
BENCH := .venv/.installed-bench
DOCS := .venv/.installed-docs

.PHONY: demo test lint format docs bench clean

demo: $(RUN)
	$(BIN)/python examples/digits.py

test: $(DEV) lint
	$(BIN)/python -m pytest

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(DEV)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DOCS)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo 'Open docs/_build/html/index.html'

bench: $(BENCH)
	$(BIN)/python benchmarks/consensus.py
	$(BIN)/python benchmarks/agreement.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/methods.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/imports.py

clean:
	rm -rf docs/_build docs/gallery docs/reference .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ec3learn needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Set PYTHON=...")'
	$(PYTHON) -m venv .venv

$(RUN): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(DEV): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(RUN)

$(BENCH): pyproject.toml | $(DEV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	@touch $@

$(DOCS): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@ $(RUN)
