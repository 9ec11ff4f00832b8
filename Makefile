# make demo   watch a tournament of sample bots      make test       run the tests, some minutes
# make check  run the linters and the type checker   make test-all   run the long tests as well
# make dist   build all files of a release in dist
# Each sets up a virtual environment in .venv first. Without make: see README.md.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SOURCES := pyproject.toml $(wildcard */pyproject.toml)
OURS := -e ./engines -e ./bots -e ./sdk -e ./conformance
# Tests run in four processes: on two cores, two work while the others wait for a server or a browser. Long tests
# wait for most of their time, for clocks, kills and pauses of clients: they run in five. A process that dies ends the
# run: one that is started in its place may wait for ever for the last test.
TOGETHER := --max-worker-restart 0
# A test that fails is run once more, alone, at the end: on a busy machine one of thousands does now and then. It has to
# pass then.
PYTEST := $(BIN)/python -m tests.support.twice
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off

# A line for each package as pip begins with it; what goes wrong is on pip's standard error, which is shown whole.
PROGRESS := sed -un \
	-e 's|^Obtaining file://.*/\([^/]*\)$$|  reading \1/pyproject.toml|p' \
	-e 's|^ *Downloading \([^-]*\)-\([^-]*\)-.* (\(.*\))$$|  \1 \2, \3|p' \
	-e 's|^ *Using cached \([^-]*\)-\([^-]*\)-.*|  \1 \2, downloaded before|p' \
	-e 's|^Processing .*/\([^-/]*\)-\([^-]*\)-.*|  \1 \2|p' \
	-e 's|^Installing collected packages: .*|  unpacking|p'

.PHONY: demo test test-long test-all check dist clean

demo: $(VENV)/installed
	$(BIN)/getstep-server demo

test: $(VENV)/installed-dev
	$(PYTEST) -n 4 $(TOGETHER)

# The soak runs alone: its hostile cases keep the real time limits, which other tests on the same cores disturb.
test-long: $(VENV)/installed-dev
	$(PYTEST) -n 5 $(TOGETHER) -m long -v --deselect tests/e2e/test_soak.py \
		--and -m long -v tests/e2e/test_soak.py

test-all: test test-long

check: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --python-version 3.10 sdk engines bots

dist: $(VENV)/installed-dev
	$(BIN)/python -m release.dist

$(VENV)/installed: $(SOURCES) | $(VENV)/bin/python
	@echo "Installing the server and what it needs, some 20 packages:"
	@rm -f $@; { $(PIP) $(OURS) -e . && touch $@; } | $(PROGRESS); test -e $@

$(VENV)/installed-dev: $(SOURCES) | $(VENV)/bin/python
	@echo "Installing the server, what it needs, and what the tests need, some 70 packages:"
	@rm -f $@; { $(PIP) $(OURS) -e ./training -e ".[dev]" && touch $@ $(VENV)/installed; } | $(PROGRESS); test -e $@

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "getstep's server needs Python 3.11 or newer; name one with: make demo PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "Could not make a virtual environment; on Debian or Ubuntu: apt install python3-venv"; exit 1; }

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis dist
