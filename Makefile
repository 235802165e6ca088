# Each of `make demo`, `make lab` and `make test` works as the first command on a fresh machine
# with make and Python 3.11 or newer (`lab` and `test` also need node 20.19 or newer). They install
# into .venv and never use sudo. Stamps make a second run quick.

PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11 python,$(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $(name))))
VENV   := .venv
BIN    := $(CURDIR)/$(VENV)/bin
OLD    := .venv-ipykernel73
NPM    := PATH="$(BIN):$$PATH" npm --prefix labextension
STAMP  := $(VENV)/.made

TS_SOURCES := $(shell find labextension/src labextension/style labextension/schema \
	labextension/scripts -type f 2>/dev/null) labextension/package.json labextension/tsconfig.json

# Given to pytest, e.g. `make test ARGS="-m 'not browser'"`.
ARGS ?=

.PHONY: help demo lab test check extension clean
help:
	@echo "make demo    run the tour notebook on the offline model (Python only)"
	@echo "make lab     open the tour notebook in JupyterLab"
	@echo "make test    run the tests"
	@echo "make check   linters, types, architecture"
	@echo "make clean   remove everything that was built or installed"

demo: $(STAMP)-demo
	$(BIN)/agent-kernel demo

# Node is looked at first: it is what a machine lacks most often, and the look is quick.
lab: labextension/node_modules/.made $(STAMP)-lab $(STAMP)-extension
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks/tour.ipynb

test: labextension/node_modules/.made $(STAMP)-test $(STAMP)-extension $(OLD)/.made
	$(BIN)/python -m tests.support.chromium
	AGENT_KERNEL_IPYKERNEL73="$(CURDIR)/$(OLD)/bin/python" PATH="$(BIN):$$PATH" $(BIN)/pytest $(ARGS)

check: labextension/node_modules/.made $(STAMP)-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(NPM) run check

# Rebuild both bundles: the JupyterLab extension and the cell widget.
extension: $(STAMP)-extension

clean:
	rm -rf $(VENV) $(OLD) build dist artifacts .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -rf labextension/node_modules labextension/lib labextension/lib-test
	rm -rf labextension/tsconfig.tsbuildinfo agent_kernel/labextension
	rm -f agent_kernel/view/static/widget.js agent_kernel/view/static/widget.css

# --- What the targets stand on ----------------------------------------------

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; none was found." \
		"Install one, or name it: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "On Debian and Ubuntu the module venv is" \
		"in the package python3-venv." >&2; exit 1; }

# The Python package by itself; the JavaScript is built below, by changed file.
define install
	SKIP_JUPYTER_BUILDER=1 $(BIN)/python -m pip install --quiet --disable-pip-version-check \
		--editable '.[$(1)]'
	@touch $@
endef

$(STAMP)-demo: pyproject.toml hatch_build.py | $(BIN)/python
	$(call install,demo)

$(STAMP)-lab: pyproject.toml hatch_build.py | $(BIN)/python
	$(call install,demo$(,)lab)

$(STAMP)-test: pyproject.toml hatch_build.py | $(BIN)/python
	$(call install,demo$(,)lab$(,)test)
	@touch $(STAMP)-demo $(STAMP)-lab

, := ,

labextension/node_modules/.made: labextension/package.json labextension/package-lock.json
	@node labextension/scripts/check-node.cjs 2>/dev/null || { \
		echo "node 20.19 or newer (with npm) is needed to build the JupyterLab extension;" \
		"see https://nodejs.org. make demo does without." >&2; exit 1; }
	$(NPM) ci --no-audit --no-fund
	@touch $@

# jupyter-builder comes with JupyterLab, so one of the two installs has to be there.
$(STAMP)-extension: $(TS_SOURCES) labextension/node_modules/.made | $(BIN)/python
	@test -x $(BIN)/jupyter-builder || $(MAKE) $(STAMP)-lab
	$(NPM) run build
	PATH="$(BIN):$$PATH" $(BIN)/jupyter labextension develop . --overwrite
	@touch $@

# The same packages with the ipykernel before 7.4, whose comms answer on other shells.
$(OLD)/.made: $(STAMP)-test
	rm -rf $(OLD)
	$(BIN)/python -m venv --without-pip $(OLD)
	$(BIN)/python -m pip --python $(OLD)/bin/python install --quiet --disable-pip-version-check \
		--no-deps ipykernel==7.3.0
	$(OLD)/bin/python -c "import sysconfig, pathlib; \
		pathlib.Path(sysconfig.get_path('purelib'), 'rest.pth').write_text( \
		'import site; site.addsitedir(%r)\n' % '$(shell $(BIN)/python -c \
		'import sysconfig; print(sysconfig.get_path("purelib"))' 2>/dev/null)')"
	@touch $@
