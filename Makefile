# Two commands do everything on a machine with Python 3.11+ and make: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test lint clean
help:
	@echo "make demo   install into .venv and run the demonstration"
	@echo "make test   install into .venv with the test tools and run the whole suite"
	@echo "make lint   check style and types"
	@echo "make clean  remove .venv and caches"

demo: $(VENV)/.cli
	$(BIN)/gnpolyak demo

test: $(VENV)/.dev
	$(BIN)/pytest -n 2

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis

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
