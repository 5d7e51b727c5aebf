# Commands for everybody. Each builds its virtual environment first if there is none.
# `$(VENV)/bin/nox --list` shows what only maintainers need.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: quickstart test lint docs bench clean

quickstart: $(VENV)/.plot
	$(BIN)/python examples/first_steps/plot_quickstart.py

# Two processes of one thread run most tests. Tests that start processes themselves, marked
# "cluster", follow: they are in tests/clusters, and collecting all others takes half a minute.
# The second half runs even if the first fails. Tests start many processes, which would compile
# all modules anew if Python kept no bytecode.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.tests
	status=0; \
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist=worksteal \
		-m "not cluster and not slow" || status=$$?; \
	$(BIN)/python -m pytest tests/clusters -m "cluster and not slow" || status=$$?; \
	exit $$status

lint: $(VENV)/.tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -q -m "" tests/typing

# Warnings of Sphinx are errors, and each reference must resolve.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	$(BIN)/python docs/check_numbers.py

# `make bench ONLY="neighbors training"` runs two of the benchmarks. All take a day.
bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py $(if $(ONLY),--only $(ONLY))

clean:
	rm -rf $(VENV) .nox build dist docs/_build docs/auto_examples docs/api/generated

# An environment is an empty file: .plot, .tests, .docs or .bench, as an extra of setup.cfg.
$(VENV)/.%: setup.cfg constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$*]"
	touch $@
