# make demo   watch a tournament of sample bots      make test   run the tests
# Both set up a virtual environment in .venv first. Without make: see README.md.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml sdk/pyproject.toml

.PHONY: demo test check clean

demo: $(VENV)/installed
	$(BIN)/getstep-server demo

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest

check: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/installed: $(SOURCES) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ./sdk -e .
	@touch $@

$(VENV)/installed-dev: $(SOURCES) | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ./sdk -e ".[dev]"
	@touch $@ $(VENV)/installed

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "getstep's server needs Python 3.11 or newer; name one with: make demo PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "Could not make a virtual environment; on Debian or Ubuntu: apt install python3-venv"; exit 1; }

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
