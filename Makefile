# Every target sets itself up in .venv, from nothing but make and Python >= 3.11.
#
#   PYTHON   interpreter that .venv is made with, e.g. make test PYTHON=python3.12
#   CONFIG   study that `make surrogate` runs
#   ARGS     further arguments for the program a target runs, e.g. make test ARGS="-k pose"
#   WORKERS  most test processes at once
#   THREADS  BLAS threads of a test process
#   COVERAGE least coverage [%]: `make test` measures what the tests cover, and fails below that
#   PLATFORMS of the wheels that `make dist` builds
#   CORES    processors whose BLAS kernels `make test-kernels` asks OpenBLAS for

PYTHON ?=
CONFIG ?= configs/implant.toml
ARGS ?=
WORKERS ?= 4
THREADS ?= 1
COVERAGE ?=
PLATFORMS ?= manylinux2014_x86_64 manylinux2014_aarch64 macosx_11_0_arm64 win_amd64
CORES ?= Haswell SkylakeX Zen Prescott

VENV  := .venv
BIN   := $(VENV)/bin
PEERS := .venv-peers
READY := $(VENV)/.installed-to-run
STAMP := $(VENV)/.installed
PIP   := $(BIN)/python -m pip --quiet --quiet --disable-pip-version-check --no-input

# A run is several processes: without bytecode, each compiles 2,000 files of its packages anew (6 s).
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help install surrogate test test-data test-slow test-kernels coverage dist wasm bench bench-peers lint type format docs lock clean distclean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

install: $(STAMP) ## install the locked packages and this project in .venv

surrogate: $(READY) ## run a study from meshes to report [CONFIG=configs/implant.toml] [ARGS="--out DIR"]
	@$(BIN)/python -m pipeline run "$(CONFIG)" $(ARGS)
	@command -v knee-contact >/dev/null || echo "to use knee-contact in this shell: . $(BIN)/activate" >&2

# One BLAS thread a process, as the test processes share the cores; no result depends on the number.
# Idle threads of OpenBLAS give up their core soon, which other test processes need.
test test-data test-slow: export OMP_NUM_THREADS := $(THREADS)
test test-data test-slow: export OPENBLAS_NUM_THREADS := $(THREADS)
test test-data test-slow: export MKL_NUM_THREADS := $(THREADS)
test test-data test-slow: export OPENBLAS_THREAD_TIMEOUT := 4
test test-data test-slow: export MPLBACKEND := Agg
# Modules stay whole, as many share an expensive result; the slow ones are parted for balance.
DIST = loadfile
PYTEST = $(BIN)/python -m pytest --numprocesses auto --maxprocesses $(WORKERS) --dist $(DIST)

# No process can hold both CasADi and OpenSim, which has a CasADi of its own: two runs. Status 5 of
# pytest: none was chosen. Coverage is that of all runs since `make test` began.
BOTH = failed=0; for apart in "not casadi" casadi; do \
	$(PYTEST) -m "$(MARKS) and $$apart" $(and $(COVERAGE),--cov --cov-append --cov-report=) $(ARGS) \
		|| [ $$? -eq 5 ] || failed=1; done; \
	$(and $(COVERAGE),$(BIN)/python -m coverage report --skip-covered --fail-under=$(COVERAGE) || failed=1;) \
	exit $$failed

test: MARKS = not slow
test: $(STAMP) ## run the tests but the slow ones [ARGS="-k NAME"] [COVERAGE=97] [THREADS=2]
	@$(and $(COVERAGE),$(BIN)/python -m coverage erase;) $(BOTH)

test-data: MARKS = data and not slow
test-data: $(STAMP) ## run those of `make test` that read the data folder; coverage is added
	@$(BOTH)

test-slow: MARKS = slow
test-slow: DIST = worksteal
test-slow: $(STAMP) ## run the slow tests [ARGS="-k NAME"]
	@$(BOTH)

test-kernels: $(STAMP) ## run the tests that depend on rounding under several BLAS kernels [ARGS="-k NAME"]
	@CORES="$(CORES)" PYTHON=$(BIN)/python WORKERS=$(WORKERS) .ci/kernels $(ARGS)

coverage: ## run the tests and show, line by line, what they cover: htmlcov/index.html
	@$(MAKE) --no-print-directory test COVERAGE=0
	@$(BIN)/python -m coverage html

dist: $(STAMP) ## build the sdist, and a wheel for each platform, in dist/
	@rm -rf dist
	@$(BIN)/python -c 'import ziglang' 2>/dev/null || $(PIP) install $(ZIGLANG)
	@$(BIN)/python -m build --no-isolation --sdist --outdir dist .
	@for platform in $(PLATFORMS); do \
		KNEE_PLATFORM=$$platform $(BIN)/python -m build --no-isolation --wheel --outdir dist . || exit 1; \
	done

wasm: $(STAMP) ## compile the library for pages of runs, dynamics/core/page.wasm.gz
	@$(BIN)/python -c 'import ziglang' 2>/dev/null || $(PIP) install $(ZIGLANG)
	@$(BIN)/python foundation/core/building.py page

bench: $(STAMP) ## measure speed and accuracy, as ratios [ARGS="accuracy gait"]
	@$(BIN)/python -m benchmarks $(ARGS)

# An environment of its own: the other engines are large, and no part of the project needs them.
bench-peers: $(PEERS)/.installed ## time and error beside other contact engines
	@OMP_NUM_THREADS=1 $(PEERS)/bin/python -m benchmarks $(or $(ARGS),peers)

lint: $(STAMP) ## check style, format and the direction of imports
	@$(BIN)/python -m ruff check .
	@$(BIN)/python -m ruff format --check .
	@$(BIN)/lint-imports --no-cache --no-logo

type: $(STAMP) ## check the types of the four packages
	@$(BIN)/python -m mypy

format: $(STAMP) ## put the code into the house format
	@$(BIN)/python -m ruff check --fix-only --quiet .
	@$(BIN)/python -m ruff format .

docs: $(STAMP) ## build the documentation site; it begins at site/index.html
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Needs no installed project: a lock that cannot be installed must not stand in its own way.
lock: ## write the files of locked packages anew from pyproject.toml [ARGS="--upgrade"]
	@$(have_venv) || $(make_venv)
	@$(have_uv) || $(PIP) install uv
	@$(COMPILE) pyproject.toml --extra all --output-file requirements.lock $(ARGS)
	@echo "setuptools>=77" | $(COMPILE) pyproject.toml - --constraint requirements.lock \
		--output-file requirements-run.lock --upgrade
	@for file in requirements.lock requirements-run.lock; do \
		echo "$$file: $$(grep -c '==' $$file) pins"; done

COMPILE = $(BIN)/python -m uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-annotate --custom-compile-command "make lock"

clean: ## remove caches and build products (not .venv, not runs/)
	@rm -rf build dist site *.egg-info surrogates/core/libknee-* .mypy_cache .ruff_cache .pytest_cache .hypothesis htmlcov .coverage
	@find . \( -path ./$(VENV) -o -path ./.git -o -path ./runs \) -prune \
		-o -type d -name __pycache__ -prune -exec rm -rf {} +

distclean: clean ## remove .venv as well
	@rm -rf $(VENV)

# ---- set-up -------------------------------------------------------------------------------------

# Two steps, since a study needs a third of the packages that tests and documentation need. A stamp
# comes last, so that an interrupted installation is taken up again by the next target.
$(READY): pyproject.toml requirements-run.lock setup.py $(wildcard */core/*.[ch])
	@rm -f $@
	@$(have_venv) || $(make_venv)
	@echo "installing the packages of requirements-run.lock in $(VENV) (half a minute when new)"
	@$(call install_locked,requirements-run.lock)
	@$(have_compiler) || $(PIP) install $(ZIGLANG)
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMP): $(READY) requirements.lock
	@rm -f $@
	@echo "installing the packages of requirements.lock in $(VENV) (a minute when new)"
	@$(call install_locked,requirements.lock)
	@touch $@

$(PEERS)/.installed: $(STAMP) pyproject.toml
	@rm -f $@
	@$(BIN)/python -m venv $(PEERS)
	@echo "installing the other engines in $(PEERS) (some minutes when new)"
	@$(PEERS)/bin/python -m pip --quiet --disable-pip-version-check --no-input install --editable ".[peers]"
	@touch $@

# By uv, which takes a fifth of pip's time; by pip where there is no uv, or no index that uv can use:
# uv reads the settings of pip neither from its files nor from the environment.
define install_locked
{ $(have_uv) || $(PIP) install uv 2>/dev/null; } && \
	$(BIN)/python -m uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps \
		--requirement $(1) 2>/dev/null || \
	$(PIP) install --require-hashes --no-deps --requirement $(1)
endef

# The library is compiled by the system's C compiler, or by a compiler that is a package, which also
# compiles for other platforms.
ZIGLANG = 'ziglang>=0.13'
have_compiler = { command -v cc || command -v gcc || command -v clang; } >/dev/null 2>&1

have_uv = $(BIN)/python -c 'import uv' 2>/dev/null

have_venv = $(BIN)/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null

# The first interpreter that is new enough and can make an environment with pip in it. Names are
# tried, not looked up: a version manager's shim may exist and yet start nothing.
define make_venv
{ \
	found=; bare=; \
	for candidate in $(if $(PYTHON),"$(PYTHON)",python3.13 python3.12 python3.11 python3); do \
		"$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
		if "$$candidate" -c 'import ensurepip, venv' 2>/dev/null; \
		then found=$$candidate; break; else bare=$$candidate; fi; \
	done; \
	if [ -z "$$found" ] && [ -n "$$bare" ]; then \
		echo "error: $$bare lacks the modules venv and ensurepip;" \
			"install them (Debian, Ubuntu: apt-get install python3-venv)" \
			"or name another interpreter: make PYTHON=/path/to/python3" >&2; exit 1; \
	elif [ -z "$$found" ]; then \
		echo "error: no Python >= 3.11 found (tried:" $(if $(PYTHON),"$(PYTHON)",python3.13 python3.12 python3.11 python3)");" \
			"name one: make PYTHON=/path/to/python3" >&2; exit 1; \
	fi; \
	echo "making $(VENV) with $$found ($$("$$found" --version))"; \
	"$$found" -m venv --clear $(VENV); \
}
endef
