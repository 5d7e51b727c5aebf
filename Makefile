# One command each; every target builds its virtual environment first if there is none.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# Two processes of one thread each; tests of a file stay together while both have work
SIDE_BY_SIDE = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist=worksteal

.PHONY: quickstart test test-slow test-matrix dist lint docs docs-check clean

quickstart: $(VENV)/.plot
	$(BIN)/python examples/first_steps/plot_quickstart.py

test: $(VENV)/.tests
	$(SIDE_BY_SIDE) -m "not slow and not cluster"
	$(BIN)/python -m pytest tests -m "cluster and not slow"

test-slow: $(VENV)/.tests
	$(SIDE_BY_SIDE) -m "not cluster"
	$(BIN)/python -m pytest tests -m cluster

test-matrix: $(VENV)/.dev
	$(BIN)/python -m nox

dist: $(VENV)/.dev
	$(BIN)/python -m nox --session dist wheel

lint: $(VENV)/.tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

docs-check: docs
	$(BIN)/python docs/check_site.py docs/_build/html

clean:
	rm -rf $(VENV) .nox build dist docs/_build docs/auto_examples docs/api/generated

$(VENV)/.plot $(VENV)/.tests $(VENV)/.docs $(VENV)/.dev: $(VENV)/.%: setup.cfg constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$*]"
	touch $@
