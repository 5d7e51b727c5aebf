# One command each; every target builds its virtual environment first if there is none.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# Two processes of one thread each, where tests of a file stay together while both have work;
# then what starts processes itself. Both run, and then make fails if one did.
define suite
	status=0; \
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist=worksteal \
		-m "not cluster$(1)" || status=$$?; \
	$(BIN)/python -m pytest tests -m "cluster$(1)" || status=$$?; \
	exit $$status
endef

.PHONY: quickstart test test-slow test-matrix test-processors test-outputs test-learned test-without-torch dist release-check \
	lint docs docs-check clean

quickstart: $(VENV)/.plot
	$(BIN)/python examples/first_steps/plot_quickstart.py

test: $(VENV)/.tests
	$(call suite, and not slow)

test-slow: $(VENV)/.tests
	$(call suite)

test-matrix: $(VENV)/.dev
	$(BIN)/python -m nox

test-processors: $(VENV)/.tests $(VENV)/.dev
	$(BIN)/python -m nox --session processors

# Of the documents and of the learned tests, as on two older processors and on one unknown;
# test-learned tries one fast test on each
OTHERS = "outputs(sse4)" "outputs(avx2)" "outputs(rounding)"
test-outputs: $(VENV)/.tests $(VENV)/.dev
	$(BIN)/python -m nox --session $(OTHERS)

# What needs no torch, where there is none; ONLY names some of the tests
test-without-torch: $(VENV)/.dev
	$(BIN)/python -m nox --session without_torch -- $(ONLY)

test-learned: $(VENV)/.tests $(VENV)/.dev
	$(BIN)/python -m nox --session $(OTHERS) -- tests/hashing/test_talr.py -k training_beats

dist: $(VENV)/.dev
	$(BIN)/python -m nox --session dist wheel

# What is published, on every Python that is there
release-check: $(VENV)/.dev
	$(BIN)/python -m nox --session dist release

lint: $(VENV)/.tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -q tests/typing

docs: $(VENV)/.docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

docs-check: docs
	$(BIN)/python docs/check_numbers.py
	$(BIN)/python docs/check_site.py docs/_build/html

clean:
	rm -rf $(VENV) .nox build dist docs/_build docs/auto_examples docs/api/generated

$(VENV)/.plot $(VENV)/.tests $(VENV)/.docs $(VENV)/.dev: $(VENV)/.%: setup.cfg constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$*]"
	touch $@
