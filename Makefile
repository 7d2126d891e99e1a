# Two commands do everything on a machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test lint docs clean
help:
	@echo "make demo   install into .venv and run the demonstration"
	@echo "make test   install into .venv with the test tools and run the whole suite"
	@echo "make lint   check style and types"
	@echo "make docs   build the documentation into site/"
	@echo "make clean  remove .venv and caches"

demo: $(VENV)/.cli
	$(BIN)/gnpolyak demo

test: $(VENV)/.dev
	$(BIN)/pytest -n 2

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Strict: a broken link, a page that nothing leads to or a name that is not there ends the build. Never with --quiet, under
# which warnings are not counted. The variable silences an announcement of another generator.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "The site is in site/: open site/index.html, or read along while you write with $(BIN)/mkdocs serve"

clean:
	rm -rf $(VENV) site .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gnpolyak needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.cli: $(BIN)/python pyproject.toml
	@echo "Installing into $(VENV) (about a minute, once) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cli]'
	@touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	@echo "Installing into $(VENV) (about a minute, once) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/.cli

$(VENV)/.docs: $(BIN)/python pyproject.toml
	@echo "Installing into $(VENV) (about a minute, once) ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@ $(VENV)/.cli
