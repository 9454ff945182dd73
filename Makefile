# Everything a machine needs beyond Python 3.11, make and (for the playground and browser tests) Node 20 is made here.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DIST := playground/dist/index.html
AUDITS := tests/audits/node_modules/.installed
RUNTIME := $(VENV)/.runtime
TOOLS := $(VENV)/.tools
CLIENTS := playground/clients
CLIENT_PYTHON := $(CLIENTS)/python/.venv/.tools
CLIENT_TYPESCRIPT := $(CLIENTS)/typescript/node_modules/.package-lock.json
HAS_NODE := command -v npm >/dev/null && [ "$$(node -p 'parseInt(process.versions.node)' 2>/dev/null || echo 0)" -ge 20 ]
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: run test lint bench quality scenarios schema clients clean playground client-tools audits

run: $(RUNTIME) playground
	@exec $(BIN)/muniment serve

test: $(TOOLS) playground client-tools audits
	$(BIN)/python -m pytest

lint: $(TOOLS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.lints.tenancy
	$(BIN)/python -m schema.export --check
	$(BIN)/python -m tests.lints.schema_rules

bench: $(TOOLS)
	$(BIN)/python -m tests.benchmarks $(if $(OUT),--out $(OUT))

quality: $(TOOLS)
	@test -n "$(DATA)" || { echo "name a folder: make quality DATA=folder"; exit 2; }
	$(BIN)/python -m tests.quality.ranking $(DATA) $(if $(OUT),--out $(OUT))

scenarios: $(TOOLS)
	@test -n "$(DATA)" || { echo "name a folder: make scenarios DATA=folder"; exit 2; }
	$(BIN)/python -m tests.quality.scenarios $(DATA) $(if $(OUT),--out $(OUT))

schema: $(TOOLS)
	$(BIN)/python -m schema.export

clients: client-tools
	cd $(CLIENTS)/python && .venv/bin/python -m ariadne_codegen
	cd $(CLIENTS)/typescript && npm run --silent generate

clean:
	rm -rf $(VENV) .muniment playground/node_modules playground/dist tests/audits/node_modules
	rm -rf $(CLIENTS)/python/.venv $(CLIENTS)/typescript/node_modules $(CLIENTS)/typescript/dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or later is needed")'
	$(PYTHON) -m venv $(VENV)

# The tools' lock holds the runtime's too, so a tree that is tested runs what it ships.
$(TOOLS): requirements-dev.lock pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $(TOOLS) $(RUNTIME)

$(RUNTIME): requirements.lock pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $(RUNTIME)

# Without Node the page is left out, and the server says so.
playground:
	@if $(HAS_NODE); then \
		$(MAKE) --no-print-directory $(DIST); \
	else \
		echo "Node 20 or later was not found: the playground is not built."; \
	fi

# Without Node its tests are skipped.
audits:
	@if $(HAS_NODE); then $(MAKE) --no-print-directory $(AUDITS); fi

$(AUDITS): tests/audits/package-lock.json
	cd tests/audits && npm ci --no-audit --no-fund --loglevel=error
	@touch $(AUDITS)

$(DIST): playground/package-lock.json playground/index.html $(shell find playground/src -type f 2>/dev/null)
	cd playground && npm ci --no-audit --no-fund --loglevel=error && npm run --silent build

# Each client has tools of its own: what generates and compiles it is no part of the server.
client-tools: $(CLIENT_PYTHON)
	@if $(HAS_NODE); then \
		$(MAKE) --no-print-directory $(CLIENT_TYPESCRIPT); \
	else \
		echo "Node 20 or later was not found: the TypeScript client is not built."; \
	fi

$(CLIENT_PYTHON): $(CLIENTS)/python/requirements.lock
	$(PYTHON) -m venv $(CLIENTS)/python/.venv
	$(CLIENTS)/python/.venv/bin/python -m pip install --quiet --require-hashes -r $<
	@touch $@

$(CLIENT_TYPESCRIPT): $(CLIENTS)/typescript/package-lock.json
	cd $(CLIENTS)/typescript && npm ci --no-audit --no-fund --loglevel=error
	@touch $@
