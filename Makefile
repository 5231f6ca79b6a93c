# The single entry to everything; `make` alone lists the targets.

VENV := .venv
PY := $(VENV)/bin/python
DEPENDENCIES := $(VENV)/.dependencies
# The profile of the extension: `dev` compiles in a third of the time of `release` and is fast enough for tests.
PROFILE ?= dev
EXTENSION := $(VENV)/.extension-$(PROFILE)
SITE := $(VENV)/.site
# The script that draws the diagrams of the site, and its hash.
MERMAID_VERSION := 11.17.2
MERMAID_SHA256 := 581ed7d74bd9048d0e3a91363927d72ef22942d7722546b27f7cc29e35390eb8
MERMAID := .cache/mermaid-$(MERMAID_VERSION).min.js
ANSIBLE := $(VENV)/ansible/.installed
DIST := $(VENV)/.dist
RUST_TESTED := target/.tested
# Empty outside a clone.
HOOK := $(shell test -d .git && echo .git/hooks/commit-msg)
CRATES := cdc_extension $(addprefix commitlog/,arrow-ffi core events python) $(addprefix mongo_agent/,encoder python) \
	$(addprefix sidecar/,encoding python) $(addprefix spark_jobs/,arrow merge python)
RUST_SOURCES := Cargo.toml Cargo.lock \
	$(shell find $(CRATES) -name '*.rs' -o -name Cargo.toml)
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml | head -1)
LOCK = $(VENV)/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --custom-compile-command "make lock"
# The builder of images: docker, podman …
DOCKER ?= docker
# The Python of the images, for which their wheels are fetched
IMAGE_PYTHON ?= 3.13
MACHINE := $(shell uname -m)
# The wheel of the images, such as one of `make dist`; without it they get one of this machine.
WHEEL ?=
# Arguments for pytest: make test-fast ARGS="-k offsets"
ARGS ?=
# The releases of `make test-kafka` and `make test-cassandra`
KAFKA ?= 3.9.2
CASSANDRA ?= 6.0-alpha2
NODE_TESTS := $(addprefix tests/acceptance/,agent/test_real_node.py agent/test_tls.py agent/test_check.py security/test_cassandra.py)
# Four processes for two cores, because many tests wait for their servers. Each file runs in one of them, and
# all files of Spark in one, in the order of tests/support/fixtures/groups.py.
SIDE_BY_SIDE := -n 4 --dist loadscope --no-loadscope-reorder
# What `make test` may take on two cores, from an empty clone.
LIMIT_MINUTES := 15

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help proofs setup demo demo-mongo demo-live demo-spark test test-all test-stages pytest test-fast \
	cargo-build cargo-test check lint types rust-checks python-checks lint-python lint-rust \
	types-python types-extension audit fmt bench fuzz soak strangers faults dist docs lock clean \
	prerequisites prerequisites-test

include scripts/proofs.mk

help:
	@awk 'BEGIN { FS = ":.*## " } \
	    /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	    /^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

proofs: ## List the targets of scripts/proofs.mk: longer tests, releases, builds
	@awk 'BEGIN { FS = ":.*## " } \
	    /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	    /^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' scripts/proofs.mk

##@ Start here
setup: $(EXTENSION) $(HOOK) ## Make .venv: locked dependencies and the extension (PROFILE=release for its full speed)

demo: setup ## Run the agent over a recorded cdc_raw of a real node; needs no servers
	@$(PY) -m examples.quickstart.demo

demo-mongo: setup ## Run the MongoDB agent beside a simulated replica set, or beside MONGODB_URI; needs no servers
	@$(PY) -m examples.mongo.demo

demo-live: prerequisites-test setup ## Run a Cassandra node, a Kafka broker and the agent
	@$(PY) -m examples.live.demo

demo-spark: prerequisites-test setup ## Run three replicas with agents, Kafka, and Spark jobs that keep their tables
	@$(PY) -m examples.spark.demo

##@ Tests
# Rust's tests compile beside the installation and the types; pytest runs beside Rust's tests and clippy.
# Many tests wait for their servers, so neither has the two cores for itself.
test: PYTEST = -m "not slow" --hypothesis-profile=fixed
test: export TEST_SEED ?= 1
test: export PROPTEST_RNG_SEED ?= 1
test: LIMIT = $(LIMIT_MINUTES)
test: test-stages ## Run all checks, and the tests with real servers: 15 minutes on 2 cores

test-all: test-stages ## Run all checks and all tests, also the slow ones

test-stages: prerequisites-test
	@scripts/stage begin
	@$(MAKE) --no-print-directory -j2 cargo-build python-checks
	@$(MAKE) --no-print-directory setup
	@$(MAKE) --no-print-directory -j2 pytest rust-checks ARGS='$(subst ','\'',$(PYTEST) $(ARGS))'; \
	    status=$$?; scripts/stage report $(LIMIT); exit $$status

pytest:
	@scripts/stage live pytest $(PY) -m pytest --durations=10 $(SIDE_BY_SIDE) $(ARGS)

test-fast: setup ## Run the unit tests of Python with few generated examples: a minute
	@$(PY) -m pytest tests/unit -m "not servers and not spark and not slow and not heavy" --hypothesis-profile=few -n 3 --dist loadscope $(ARGS)

cargo-build:
	+@scripts/stage cargo-build cargo test --quiet --locked --workspace --no-run

cargo-test:
	+@scripts/stage cargo-test cargo test --quiet --locked --workspace
	@touch $(RUST_TESTED)

# `make test` repeats the Rust tests when a file of them has changed.
$(RUST_TESTED): rust-toolchain.toml Cargo.toml Cargo.lock $(shell find $(CRATES) fuzz -type f ! -name '*.pyc')
	+@$(MAKE) --no-print-directory cargo-test

##@ Static checks
check: lint types ## Run lint, types and, if its databases answer, audit
	@VENV=$(VENV) scripts/audit || [ $$? -eq 2 ]

lint: lint-python lint-rust

types: types-python types-extension

# One after another, because Cargo locks its folder. A plus lends Cargo the job server of make.
rust-checks:
	@$(MAKE) --no-print-directory types-extension
	@$(MAKE) --no-print-directory $(RUST_TESTED)
	@$(MAKE) --no-print-directory lint-rust

python-checks: lint-python types-python

lint-python: $(DEPENDENCIES)
	@scripts/stage ruff sh -c "$(PY) -m ruff check . && $(PY) -m ruff format --check . && scripts/count --check"

lint-rust:
	+@scripts/stage clippy sh -c "cargo fmt --all --check && cargo clippy --quiet --locked --workspace --all-targets -- -D warnings"

types-python: $(DEPENDENCIES)
	@scripts/stage mypy $(PY) -m mypy

types-extension: $(EXTENSION)
	@scripts/stage stubtest $(PY) -m mypy.stubtest commitlog._commitlog mongo_agent.encoder sidecar.encoding spark_jobs._rows

audit: $(DEPENDENCIES)
	@VENV=$(VENV) scripts/audit

fmt: $(DEPENDENCIES) ## Format Python and Rust in place
	$(PY) -m ruff check --fix-only --quiet .
	$(PY) -m ruff format .
	cargo fmt --all

##@ Long runs
bench: prerequisites-test ## Run the benchmarks (docs/evidence/benchmarks.md)
	@$(MAKE) --no-print-directory PROFILE=release setup
	@$(PY) -m benches $(ARGS)

fuzz: setup ## Fuzz the parsers, guided by coverage, and flip every bit of a segment
	@$(PY) -m tests.support.fuzz $(ARGS)

soak: prerequisites-test setup ## Run the kill test for hours
	@$(PY) -m tests.acceptance.soak $(ARGS)

strangers: prerequisites-test setup ## Run rounds of hostile names, values, clocks and faults over whole paths, from a seed
	@$(PY) -m tests.acceptance.strangers $(ARGS)

faults: prerequisites-test setup ## Run the whole fault matrix on real servers; writes docs/evidence/faults.md
	@CDC_RECORD_FAULTS=1 $(PY) -m pytest -o python_files="test_*.py slow_*.py" tests/acceptance/faults tests/acceptance/security/slow_*.py --deselect tests/acceptance/faults/test_matrix.py $(ARGS)
	@$(PY) -m tests.acceptance.faults.matrix

##@ Upkeep
dist: setup $(DIST) ## Build wheels, source archive, packages for Debian and RPM, and SBOM (needs Go)
	@$(PY) -m release $(ARGS)

docs: setup ## Generate the pages of docs/reference that come from the code, and build the site
	$(VENV)/bin/agent config docs > $(VENV)/configuration.md
	mv $(VENV)/configuration.md docs/reference/configuration.md
	$(VENV)/bin/mongo-agent config docs > $(VENV)/configuration.md
	mv $(VENV)/configuration.md docs/reference/mongodb-configuration.md
	$(PY) -m tests.support.checks.metric_table > $(VENV)/metrics.md
	mv $(VENV)/metrics.md docs/reference/metrics.md
	$(PY) -m tests.support.checks.json_schemas
	@$(MAKE) --no-print-directory site

lock: $(DEPENDENCIES) ## Resolve requirements/*.lock again from pyproject.toml
	$(LOCK) pyproject.toml -o requirements/runtime.lock
	$(LOCK) -c requirements/runtime.lock pyproject.toml --extra gcs -o requirements/gcs.lock
	$(LOCK) -c requirements/runtime.lock pyproject.toml --extra s3 -o requirements/s3.lock
	$(LOCK) -c requirements/runtime.lock pyproject.toml --extra mongo -o requirements/mongo.lock
	$(LOCK) -c requirements/constraints.txt -c requirements/gcs.lock -c requirements/s3.lock -c requirements/mongo.lock pyproject.toml \
	    --extra gcs --extra s3 --extra mongo --extra spark -o requirements/spark.lock
	$(LOCK) -c requirements/spark.lock pyproject.toml --extra gcs --extra s3 --extra mongo --extra spark \
	    --extra tracing --group pyproject.toml:dev -o requirements/dev.lock
	$(LOCK) -c requirements/dev.lock --group pyproject.toml:docs -o requirements/docs.lock
	$(LOCK) -c requirements/dev.lock --group pyproject.toml:dist -o requirements/dist.lock
	$(LOCK) --group pyproject.toml:ansible -o requirements/ansible.lock

clean: ## Remove build outputs; downloaded servers in .cache/ remain
	rm -rf $(VENV) target build dist demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis
	rm -f cdc_extension/*.so

.git/hooks/commit-msg:
	@mkdir -p $(@D) && ln -sf ../../scripts/commit-msg $@

prerequisites:
	@scripts/prerequisites build

prerequisites-test:
	@scripts/prerequisites test

$(DEPENDENCIES): requirements/dev.lock | prerequisites
	@test -x $(PY) || "$$(scripts/prerequisites --python)" -m venv $(VENV)
	@echo "Installing the locked dependencies into $(VENV) …"
	@scripts/stage install $(PY) -m pip install --quiet --no-compile --require-hashes -r requirements/dev.lock
	@touch $@

$(ANSIBLE): requirements/ansible.lock $(DEPENDENCIES)
	@test -x $(VENV)/ansible/bin/python || $(PY) -m venv $(VENV)/ansible
	@$(VENV)/ansible/bin/python -m pip install --quiet --require-hashes -r requirements/ansible.lock
	@touch $@

$(SITE): requirements/docs.lock $(DEPENDENCIES)
	@$(PY) -m pip install --quiet --require-hashes -r requirements/docs.lock
	@touch $@

$(MERMAID):
	@mkdir -p $(@D) && cd $(@D) && npm pack --silent mermaid@$(MERMAID_VERSION) >/dev/null && \
	    tar -xzOf mermaid-$(MERMAID_VERSION).tgz package/dist/mermaid.min.js > $(@F).part && \
	    rm mermaid-$(MERMAID_VERSION).tgz && echo "$(MERMAID_SHA256)  $(@F).part" | sha256sum --check --quiet && \
	    mv $(@F).part $(@F)

$(DIST): requirements/dist.lock $(DEPENDENCIES)
	@$(PY) -m pip install --quiet --require-hashes -r requirements/dist.lock
	@touch $@

$(EXTENSION): $(DEPENDENCIES) $(RUST_SOURCES) pyproject.toml
	@echo "Building the extension, profile $(PROFILE) (the first time it takes minutes) …"
	@rm -f $(VENV)/.extension-*
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" MATURIN_PEP517_ARGS="--profile $(PROFILE)" scripts/stage extension \
	    $(PY) -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
