# Longer tests, releases and builds, each for a particular change: `make proofs` lists them. The Makefile includes it.

.PHONY: test-spark test-submit test-spark-releases test-cluster test-cassandra test-kafka registry \
	coverage test-page lifecycle accord mongo-faults soak-parser mongo-soak attacks faults-page mongo-real \
	mongo-real-check mongo-servers mongo-conformance peer fixtures build release-check packages-check pythons-check \
	arm-check images images-check image-files deny kubernetes-check chart ansible-check monitoring \
	monitoring-check site

##@ Tests of a part
test-spark: prerequisites-test setup ## Run the tests of the Spark jobs
	@$(PY) -m pytest tests/integration/spark tests/unit/spark_jobs $(ARGS)

test-submit: prerequisites-test setup ## Run the Spark jobs by spark-submit on a standalone cluster and on YARN
	@$(PY) -m pytest tests/integration/spark/submitted/on_standalone.py tests/integration/spark/submitted/on_yarn.py $(ARGS)

test-spark-releases: prerequisites-test setup ## Run core tests of the Spark jobs on the oldest and newest Spark, and by Spark Connect
	@$(PY) -m tests.integration.spark.releases $(ARGS)

test-cluster: prerequisites-test setup ## Run the large golden test: a cluster with faults, agents, Kafka, Spark
	@$(PY) -m tests.integration.spark.golden $(ARGS)

test-cassandra: prerequisites-test setup ## Run the agent beside another release of Cassandra: make test-cassandra CASSANDRA=6.0-alpha2
	@CDC_TEST_CASSANDRA=$(CASSANDRA) $(PY) -m pytest $(NODE_TESTS) $(ARGS)

test-kafka: prerequisites-test setup ## Run the tests of the Kafka sink on another release: make test-kafka KAFKA=3.9.2
	@CDC_TEST_KAFKA=$(KAFKA) $(PY) -m pytest tests/integration/kafka $(ARGS)

registry: prerequisites-test setup ## Test Avro and Protobuf against two real schema registries from Maven Central (159 MB)
	@CDC_TEST_REGISTRY=apicurio $(PY) -m pytest $(addprefix tests/integration/,avro/on_registries.py protobuf/on_apicurio.py avro/test_live.py) $(ARGS)

test-page: setup ## Test the status page in Chromium with axe-core; needs Chromium and npm
	@$(PY) -m tests.acceptance.page $(ARGS)

lifecycle: prerequisites-test setup ## Play the stories of docs/how-to/lifecycle.md on real nodes and brokers
	@$(PY) -m pytest -o python_files="test_*.py slow_*.py" tests/acceptance/lifecycle $(ARGS)

accord: prerequisites-test setup ## Capture transactions of Accord on real nodes of Cassandra 6.0
	@$(PY) -m pytest -o python_files="slow_*.py" tests/acceptance/accord $(ARGS)

mongo-faults: prerequisites-test setup ## Send the MongoDB agent the largest documents and transactions, and measure its memory (takes minutes)
	@$(PY) -m pytest -s tests/integration/mongo_agent/slow_hostile.py $(ARGS)

coverage: setup ## Report coverage of Python (without servers and Spark) and Rust (needs cargo-llvm-cov)
	@$(PY) -m coverage erase
	@$(PY) -m coverage run -m pytest -q -m "not servers and not spark and not slow" $(ARGS)
	@$(PY) -m coverage combine --quiet
	@$(PY) -m coverage report
	@cargo llvm-cov --quiet --locked --workspace --summary-only

##@ Proofs
soak-parser: prerequisites-test setup ## Compare the parser with Cassandra's own reader over random workloads
	@$(PY) -m tests.oracle.soak_parser $(ARGS)

mongo-soak: prerequisites-test setup ## Run the kill test of the MongoDB agent for hours
	@$(PY) -m tests.acceptance.mongo_kill $(ARGS)

attacks: setup ## Attack agents by clients, servers and files; verifies /live, holds and memory (takes ten minutes)
	@$(PY) -m tests.acceptance.attacks $(ARGS)

faults-page: setup ## Write docs/evidence/faults.md from the last results
	@$(PY) -m tests.acceptance.faults.matrix

# MONGODB_URI, MONGOD and MONGOS reach the program by its environment: make exports what it is given.
mongo-real: prerequisites-test setup ## Prove the MongoDB agent on a real server: MONGODB_URI=mongodb://… or MONGOD=mongod [MONGOS=mongos]
	@$(PY) -m tests.acceptance.mongo_real $(ARGS)

mongo-real-check: prerequisites-test setup ## Run the proof of mongo-real on the MongoDB test server, of each release and with shards
	@$(PY) -m pytest tests/acceptance/mongo_real/slow_mongo_real.py $(ARGS)

mongo-servers: prerequisites-test setup ## Compare the MongoDB test server with FerretDB and SecantusDB, and run the agent on the latter (downloads 40 MB, builds 1 to 4 minutes)
	@$(PY) -m pytest tests/oracle/mongo_servers/on_servers.py $(ARGS)

mongo-conformance: setup ## Run the tests of MongoDB drivers against the MongoDB test server (needs Go); writes docs/evidence/mongodb-conformance.md
	@$(PY) -m tests.oracle.mongo_drivers $(ARGS)

peer: prerequisites-test setup ## Compare events with a live Debezium
	@$(PY) -m tests.oracle.debezium $(ARGS)

fixtures: prerequisites-test setup ## Record segments, Cassandra's answers and Debezium's events again
	@$(PY) -m tests.support.record $(ARGS)

##@ Releases
build: setup ## Build the wheel into dist/
	$(PY) -m maturin build --release --locked --out dist

release-check: setup ## Do the steps of RELEASING.md that publish nothing, with two builds compared; prints what is left (needs Go)
	@PY=$(PY) scripts/release-check $(ARGS)

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

# The wheels are those for the Python of the image, which may be another than that of this machine.
image-files: setup
	rm -rf dist/images && mkdir -p dist/images
	$(if $(WHEEL),cp $(WHEEL) dist/images/,$(PY) -m maturin build --release --locked --quiet --out dist/images)
	for lock in runtime gcs s3 mongo; do \
	    $(VENV)/bin/uv pip compile --quiet --no-deps --no-header --no-annotate --no-emit-index-url --generate-hashes \
	        --python-version $(IMAGE_PYTHON) --python-platform $(MACHINE)-manylinux_2_28 \
	        requirements/$$lock.lock -o dist/images/$$lock.txt && \
	    $(PY) -m pip download --quiet --no-deps --require-hashes --only-binary :all: \
	        --python-version $(IMAGE_PYTHON) --platform manylinux_2_28_$(MACHINE) --platform manylinux_2_17_$(MACHINE) \
	        --platform manylinux2014_$(MACHINE) -r dist/images/$$lock.txt -d dist/images/wheels && \
	    rm dist/images/$$lock.txt || exit 1; done

deny: ## Check licences, sources and duplicates of the Rust crates; needs cargo-deny
	@cargo deny --locked check bans licenses sources

##@ Kubernetes, monitoring, pages
kubernetes-check: setup ## Test manifests, recipes and chart on a real API server; needs Go
	@scripts/kubernetes-tools .cache/kubernetes
	@PATH="$(CURDIR)/.cache/kubernetes:$$PATH" $(PY) -m pytest tests/integration/kubernetes/on_chart.py \
	    tests/integration/kubernetes/on_cluster.py tests/unit/support/kubernetes/test_kustomize.py $(ARGS)

chart: ## Package the Helm chart into dist/; needs Go
	@scripts/kubernetes-tools .cache/kubernetes helm
	@.cache/kubernetes/helm package --destination dist k8s/chart

ansible-check: setup $(ANSIBLE) ## Lint the Ansible role and run it on three local hosts with agents
	@cd examples/ansible && export PATH="$(CURDIR)/$(VENV)/ansible/bin:$$PATH" ANSIBLE_CONFIG=ansible.cfg && \
	    ansible-lint --offline --profile production && ansible-playbook --syntax-check site.yml
	@$(PY) -m pytest tests/integration/ansible/on_localhost.py $(ARGS)

monitoring: setup ## Write k8s/monitoring from its sources (ARGS="--selector … --output DIR" for your own copies)
	@$(PY) -m tests.support.monitoring $(ARGS)

monitoring-check: setup ## Test alarms, scrape configurations and metrics with promtool; needs Go
	@$(PY) -m tests.integration.monitoring

site: $(SITE) $(MERMAID) ## Build the site into build/site; a broken link is an error (needs npm)
	@NO_MKDOCS_2_WARNING=1 PYTHONPATH=. MERMAID=$(MERMAID) $(PY) -m mkdocs build --quiet
	@echo "build/site/index.html"
