# Each target says in one line what it does: `make help` lists them.
.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench wheel golden docs format clean

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
KERNEL := $(VENV)/.kernel
KERNEL_SOURCES := $(shell find kernel -path kernel/target -prune -o \
	\( -path 'kernel/src/*' -o -name 'Cargo.*' -o -name pyproject.toml \) -type f -print)

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) $(KERNEL) ## create .venv, install everything into it, build the native kernel

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Narrows needs Python 3.11 or later" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --prefer-binary --editable '.[dev]'
	@touch $@

$(KERNEL): $(INSTALLED) $(KERNEL_SOURCES)
	@tools/build_kernel.sh $(VENV)

demo: setup ## run pipelines over generated data on an embedded Spark, and show what is saved
	@$(BIN)/narrows demo

test: setup ## run all tests
	@tools/run_tests.sh $(BIN)/python

check: setup ## lint, format check, types; of the kernel's sources, too
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	tools/check_kernel.sh lint

bench: setup ## measure Narrows against Spark: one table, as Markdown, JSON and a plot
	$(BIN)/python bench/run.py

wheel: setup ## build wheels of Narrows and of the native kernel into dist/
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	$(BIN)/maturin build --release --locked --quiet --manifest-path kernel/Cargo.toml --out dist
	@ls dist

golden: setup ## rewrite the golden files; read the diff before you commit it
	NARROWS_GOLDEN=rewrite $(BIN)/python -m pytest tests/golden
	git diff --stat -- tests/golden

docs: setup ## rewrite the tables of options in docs/
	$(BIN)/python tools/write_option_tables.py

format: setup ## format the code
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format .

clean: ## remove the virtual environment and all caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
