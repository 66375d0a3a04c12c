# Needs GNU make and Python 3.11 or later, nothing else and no root. Each goal sets up .venv by
# itself, once. Variables: MODEL=path.onnx (demo, bench), PYTHON=python3.12, VENV=directory.

VENV ?= .venv
MODEL ?=
WORKERS ?= auto
HOME ?= $(CURDIR)/$(VENV)/home
export HOME

PY = $(VENV)/bin/python
PYTEST = $(PY) -m pytest -n $(WORKERS)
PYTHONS = $(PYTHON) python3 python3.14 python3.13 python3.12 python3.11 python
SOURCES = ago benchmarks tests tools setup.py

.DEFAULT_GOAL := help
.PHONY: help demo test test-all lint format bench docs clean
.DELETE_ON_ERROR:

help: ## this list
	@echo "AGO: from trained networks to standalone C"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.installed-run ## compile MobileNet-V2, or MODEL=path.onnx, and look inside
	@$(PY) -m tools.demo $(if $(MODEL),"$(MODEL)")

test: $(VENV)/.installed-dev ## the tests, a few minutes
	@$(PYTEST) -m "not slow"

test-all: $(VENV)/.installed-dev ## the long forms too: thousands of examples a property
	@AGO_HYPOTHESIS_PROFILE=long $(PYTEST)

lint: $(VENV)/.installed-dev ## style, types, and who may import whom
	@status=0; \
	$(PY) -m ruff check $(SOURCES) || status=1; \
	$(PY) -m ruff format --check --quiet $(SOURCES) || status=1; \
	$(PY) -m mypy || status=1; \
	$(VENV)/bin/lint-imports --no-cache || status=1; \
	exit $$status

format: $(VENV)/.installed-dev ## rewrite the sources in the house style
	@$(PY) -m ruff check --fix-only --quiet $(SOURCES)
	@$(PY) -m ruff format --quiet $(SOURCES)

bench: $(VENV)/.installed-bench ## time kernels, and MODEL beside ONNX Runtime and OpenVINO
	@$(PY) -m benchmarks $(if $(MODEL),"$(MODEL)")

docs: $(VENV)/.installed-docs ## the documentation as a site, in build/site
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet
	@echo "build/site/index.html"

clean: ## remove .venv and what tools left behind
	@rm -rf $(VENV) build dist *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache

$(VENV)/.installed-run: EXTRAS = emu
$(VENV)/.installed-dev: EXTRAS = emu dev
$(VENV)/.installed-bench: EXTRAS = emu bench
$(VENV)/.installed-docs: EXTRAS = docs

$(VENV)/.installed-%: pyproject.toml setup.py tools/setup_venv.py
	@python=$$(for p in $(PYTHONS); do \
	  if "$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
	  then echo "$$p"; break; fi; done); \
	if [ -z "$$python" ]; then \
	  echo "AGO needs Python 3.11 or later: install one, or say make PYTHON=/path/to/it" >&2; \
	  exit 1; fi; \
	"$$python" tools/setup_venv.py $(VENV) $(EXTRAS)
	@touch $@ $(if $(filter %-dev,$@),$(VENV)/.installed-run)
