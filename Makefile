# The single entry to everything; `make` alone lists the targets.

VENV := .venv
PY := $(VENV)/bin/python
DEPENDENCIES := $(VENV)/.dependencies
# The profile of the extension: `dev` compiles in a third of the time of `release` and is fast enough for tests.
PROFILE ?= dev
EXTENSION := $(VENV)/.extension-$(PROFILE)
SITE := $(VENV)/.site
ANSIBLE := $(VENV)/ansible/.installed
DIST := $(VENV)/.dist
RUST_TESTED := target/.tested
CRATES := $(addprefix commitlog/,arrow-decode arrow-ffi core encoding events merge python) mongo_agent/encoder
RUST_SOURCES := Cargo.toml Cargo.lock \
	$(shell find $(CRATES) -name '*.rs' -o -name Cargo.toml)
PYTHON_SOURCES := agent mongo_agent sidecar commitlog spark_jobs tests benches examples release
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml | head -1)
LOCK = $(VENV)/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
	    --no-emit-index-url --custom-compile-command "make lock"
# The builder of images: docker, podman …
DOCKER ?= docker
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
.PHONY: help setup build demo demo-live demo-spark test test-all test-stages pytest test-fast cargo-build rust-checks python-checks lint-python lint-rust types-python types-extension test-spark test-cluster test-cassandra test-kafka test-submit test-spark-releases registry test-page check lint audit fmt types cargo-test coverage deny \
	bench attacks faults faults-page fuzz soak soak-parser strangers mongo-soak mongo-faults peer mongo-conformance mongo-real mongo-real-check mongo-servers fixtures dist packages-check pythons-check arm-check images images-check image-files monitoring monitoring-check kubernetes-check ansible-check lifecycle accord chart docs site lock clean prerequisites prerequisites-test

help: ## List the targets
	@awk 'BEGIN { FS = ":.*## " } \
	    /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	    /^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Start here
setup: $(EXTENSION) ## Make .venv: locked dependencies and the extension (PROFILE=release for its full speed)

demo: setup ## Run the agent over a recorded cdc_raw of a real node; needs no servers
	@$(PY) -m examples.quickstart.demo

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

test-spark: prerequisites-test setup ## Run the tests of the Spark jobs
	@$(PY) -m pytest tests/integration/spark tests/unit/spark_jobs $(ARGS)

test-cluster: prerequisites-test setup ## Run the large golden test: a cluster with faults, agents, Kafka, Spark
	@$(PY) -m tests.integration.spark.golden $(ARGS)

test-cassandra: prerequisites-test setup ## Run the agent beside another release of Cassandra: make test-cassandra CASSANDRA=6.0-alpha2
	@CDC_TEST_CASSANDRA=$(CASSANDRA) $(PY) -m pytest $(NODE_TESTS) $(ARGS)

test-kafka: prerequisites-test setup ## Run the tests of the Kafka sink on another release: make test-kafka KAFKA=3.9.2
	@CDC_TEST_KAFKA=$(KAFKA) $(PY) -m pytest tests/integration/kafka $(ARGS)

test-submit: prerequisites-test setup ## Run the Spark jobs by spark-submit on a standalone cluster and on YARN
	@$(PY) -m pytest tests/integration/spark/submitted/on_standalone.py tests/integration/spark/submitted/on_yarn.py $(ARGS)

test-spark-releases: prerequisites-test setup ## Run core tests of the Spark jobs on the oldest and newest Spark, and by Spark Connect
	@$(PY) -m tests.integration.spark.releases $(ARGS)

registry: prerequisites-test setup ## Test Avro and Protobuf against two real schema registries from Maven Central (159 MB)
	@CDC_TEST_REGISTRY=apicurio $(PY) -m pytest $(addprefix tests/integration/,avro/on_registries.py protobuf/on_apicurio.py avro/test_live.py) $(ARGS)

test-page: setup ## Test the status page in Chromium with axe-core; needs Chromium and npm
	@$(PY) -m tests.acceptance.page $(ARGS)

cargo-build:
	+@scripts/stage cargo-build cargo test --quiet --locked --workspace --no-run

cargo-test: ## Run the Rust tests
	+@scripts/stage cargo-test cargo test --quiet --locked --workspace
	@touch $(RUST_TESTED)

# `make test` repeats the Rust tests when a file of them has changed.
$(RUST_TESTED): rust-toolchain.toml Cargo.toml Cargo.lock $(shell find $(CRATES) commitlog/fuzz -type f ! -name '*.pyc')
	+@$(MAKE) --no-print-directory cargo-test

coverage: setup ## Report coverage of Python (without servers and Spark) and Rust (needs cargo-llvm-cov)
	@$(PY) -m coverage erase
	@$(PY) -m coverage run -m pytest -q -m "not servers and not spark and not slow" $(ARGS)
	@$(PY) -m coverage combine --quiet
	@$(PY) -m coverage report
	@cargo llvm-cov --quiet --locked --workspace --summary-only

##@ Static checks
check: lint types ## Run lint, types and, if its databases answer, audit
	@VENV=$(VENV) scripts/audit || [ $$? -eq 2 ]

lint: lint-python lint-rust ## Run ruff, rustfmt and clippy; warnings are errors

types: types-python types-extension ## Run mypy (strict), and compare the extension's stub with the extension

# One after another, because Cargo locks its folder. A plus lends Cargo the job server of make.
rust-checks:
	@$(MAKE) --no-print-directory types-extension
	@$(MAKE) --no-print-directory $(RUST_TESTED)
	@$(MAKE) --no-print-directory lint-rust

python-checks: lint-python types-python

lint-python: $(DEPENDENCIES)
	@scripts/stage ruff sh -c "$(PY) -m ruff check . && $(PY) -m ruff format --check ."

lint-rust:
	+@scripts/stage clippy sh -c "cargo fmt --all --check && cargo clippy --quiet --locked --workspace --all-targets -- -D warnings"

types-python: $(DEPENDENCIES)
	@scripts/stage mypy $(PY) -m mypy

types-extension: $(EXTENSION)
	@scripts/stage stubtest $(PY) -m mypy.stubtest commitlog._commitlog mongo_agent.encoder

audit: $(DEPENDENCIES) ## List known vulnerabilities of the locked dependencies; needs the network
	@VENV=$(VENV) scripts/audit

deny: ## Check licences, sources and duplicates of the Rust crates; needs cargo-deny
	@cargo deny --locked check bans licenses sources

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

mongo-faults: prerequisites-test setup ## Send the MongoDB agent the largest documents and transactions, and measure its memory (takes minutes)
	@$(PY) -m pytest -s tests/integration/mongo_agent/slow_hostile.py $(ARGS)

mongo-soak: prerequisites-test setup ## Run the kill test of the MongoDB agent for hours
	@$(PY) -m tests.acceptance.mongo_kill $(ARGS)

soak-parser: prerequisites-test setup ## Compare the parser with Cassandra's own reader over random workloads
	@$(PY) -m tests.oracle.soak_parser $(ARGS)

strangers: prerequisites-test setup ## Run rounds of hostile names, values, clocks and faults over whole paths, from a seed
	@$(PY) -m tests.acceptance.strangers $(ARGS)

faults: prerequisites-test setup ## Run the whole fault matrix on real servers; writes docs/evidence/faults.md
	@CDC_RECORD_FAULTS=1 $(PY) -m pytest -o python_files="test_*.py slow_*.py" tests/acceptance/faults tests/acceptance/security/slow_*.py --deselect tests/acceptance/faults/test_matrix.py $(ARGS)
	@$(PY) -m tests.acceptance.faults.matrix

attacks: setup ## Attack agents by clients, servers and files; verifies /live, holds and memory (takes ten minutes)
	@$(PY) -m tests.acceptance.attacks $(ARGS)

accord: prerequisites-test setup ## Capture transactions of Accord on real nodes of Cassandra 6.0
	@$(PY) -m pytest -o python_files="slow_*.py" tests/acceptance/accord $(ARGS)

lifecycle: prerequisites-test setup ## Play the stories of docs/how-to/lifecycle.md on real nodes and brokers
	@$(PY) -m pytest -o python_files="test_*.py slow_*.py" tests/acceptance/lifecycle $(ARGS)

faults-page: setup ## Write docs/evidence/faults.md from the last results
	@$(PY) -m tests.acceptance.faults.matrix

# MONGODB_URI, MONGOD and MONGOS reach the program by its environment: make exports what it is given.
mongo-real: prerequisites-test setup ## Prove the MongoDB agent on a real server: MONGODB_URI=mongodb://… or MONGOD=mongod [MONGOS=mongos]
	@$(PY) -m tests.acceptance.mongo_real $(ARGS)

mongo-real-check: prerequisites-test setup ## Run the proof of mongo-real on the MongoDB test server, of each release and with shards
	@$(PY) -m pytest tests/acceptance/mongo_real/slow_mongo_real.py $(ARGS)

mongo-servers: prerequisites-test setup ## Compare the MongoDB test server with FerretDB and SecantusDB, and run the agent on the latter (downloads 40 MB, builds 1 to 4 minutes)
	@$(PY) -m pytest tests/oracle/mongo_servers/on_servers.py $(ARGS)

peer: prerequisites-test setup ## Compare events with a live Debezium
	@$(PY) -m tests.oracle.debezium $(ARGS)

mongo-conformance: setup ## Run the tests of MongoDB drivers against the MongoDB test server (needs Go); writes docs/evidence/mongodb-conformance.md
	@$(PY) -m tests.oracle.mongo_drivers $(ARGS)

fixtures: prerequisites-test setup ## Record segments, Cassandra's answers and Debezium's events again
	@$(PY) -m tests.support.record $(ARGS)

##@ Upkeep
build: setup ## Build the wheel into dist/
	$(PY) -m maturin build --release --locked --out dist

dist: setup $(DIST) ## Build wheels, source archive, packages for Debian and RPM, and SBOM (needs Go)
	@$(PY) -m release $(ARGS)

packages-check: dist ## Install, run, upgrade and remove the packages in a bare Debian with systemd; needs root
	@$(PY) -m tests.integration.packages

pythons-check: setup ## Install the wheel of `make dist` in each Python that is found, and run the demo by it
	@$(PY) -m tests.integration.pythons

arm-check: setup ## Run the wheel for aarch64 on an emulated processor; needs root, mmdebstrap and qemu-user-static
	@$(PY) -m tests.integration.pythons.emulated

images: image-files ## Build the images (DOCKER=podman for another builder)
	$(DOCKER) build --build-arg VERSION=$(VERSION) -f Dockerfile.cassandra -t cdc-sidecar-cassandra:$(VERSION) .
	for lock in gcs s3; do \
	    $(DOCKER) build --build-arg VERSION=$(VERSION) --build-arg LOCK=$$lock -f Dockerfile.cassandra \
	        -t cdc-sidecar-cassandra:$(VERSION)-$$lock . || exit 1; done
	$(DOCKER) build --build-arg VERSION=$(VERSION) -f Dockerfile.mongo -t cdc-sidecar-mongo:$(VERSION) .

images-check: image-files ## Build both images without a daemon and run them; needs root, buildah and mmdebstrap
	@$(PY) -m tests.integration.images

image-files: setup
	rm -rf dist/images && mkdir -p dist/images
	$(if $(WHEEL),cp $(WHEEL) dist/images/,$(PY) -m maturin build --release --locked --quiet --out dist/images)
	for lock in runtime gcs s3 mongo; do \
	    $(PY) -m pip download --quiet --require-hashes --only-binary :all: -r requirements/$$lock.lock \
	        -d dist/images/wheels || exit 1; done

kubernetes-check: setup ## Test manifests, recipes and chart on a real API server; needs Go
	@scripts/kubernetes-tools .cache/kubernetes
	@PATH="$(CURDIR)/.cache/kubernetes:$$PATH" $(PY) -m pytest tests/integration/kubernetes/on_chart.py \
	    tests/integration/kubernetes/on_cluster.py tests/unit/support/kubernetes/test_kustomize.py $(ARGS)

chart: ## Package the Helm chart into dist/; needs Go
	@scripts/kubernetes-tools .cache/kubernetes helm
	@.cache/kubernetes/helm package --destination dist k8s/chart

docs: setup ## Generate the pages of docs/reference that come from the code, and build the site
	$(VENV)/bin/agent config docs > $(VENV)/configuration.md
	mv $(VENV)/configuration.md docs/reference/configuration.md
	$(VENV)/bin/mongo-agent config docs > $(VENV)/configuration.md
	mv $(VENV)/configuration.md docs/reference/mongodb-configuration.md
	$(PY) -m tests.support.checks.metric_table > $(VENV)/metrics.md
	mv $(VENV)/metrics.md docs/reference/metrics.md
	$(PY) -m tests.support.checks.json_schemas
	@$(MAKE) --no-print-directory site

monitoring: setup ## Write k8s/monitoring from its sources (ARGS="--selector … --output DIR" for your own copies)
	@$(PY) -m tests.support.monitoring $(ARGS)

monitoring-check: setup ## Test alarms, scrape configurations and metrics with promtool; needs Go
	@$(PY) -m tests.integration.monitoring

ansible-check: setup $(ANSIBLE) ## Lint the Ansible role and run it on three local hosts with agents
	@cd examples/ansible && export PATH="$(CURDIR)/$(VENV)/ansible/bin:$$PATH" ANSIBLE_CONFIG=ansible.cfg && \
	    ansible-lint --offline --profile production && ansible-playbook --syntax-check site.yml
	@$(PY) -m pytest tests/integration/ansible/on_localhost.py $(ARGS)

site: $(SITE) ## Build the site into build/site; a broken link is an error
	@NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --quiet
	@echo "build/site/index.html"

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
	rm -f commitlog/_commitlog*.so

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

$(DIST): requirements/dist.lock $(DEPENDENCIES)
	@$(PY) -m pip install --quiet --require-hashes -r requirements/dist.lock
	@touch $@

$(EXTENSION): $(DEPENDENCIES) $(RUST_SOURCES) pyproject.toml
	@echo "Building the extension, profile $(PROFILE) (the first time it takes minutes) …"
	@rm -f $(VENV)/.extension-*
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" MATURIN_PEP517_ARGS="--profile $(PROFILE)" scripts/stage extension \
	    $(PY) -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@
