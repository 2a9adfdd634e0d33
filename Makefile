# Routebook: `make run` starts it, `make test` tests it, `make check` is the gate. Each target sets up what it needs.
PYTHON  ?= python3
WORKERS ?= 2
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
PYTEST  := $(BIN)/python -m pytest

.PHONY: help setup tools run test test-all soak differential mutations lake fuzz chaos controller-faults attacks reliability reliability-fuzz reliability-attacks reliability-chaos reliability-kills interop versions console docs demo bench bench-quick check lint types contracts format clean
help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:[^#]*##/\t/' | expand -t 16

setup: $(STAMP)  ## create .venv, or update it after a change of dependencies

$(STAMP): pyproject.toml constraints.txt
	@tools/setup.sh $(PYTHON) $(VENV)
	@touch $(STAMP)

run: setup       ## start a NameServer with its console, and the lake that follows its journal
	$(BIN)/routebook up

tools:           ## install the tools that tests need besides Python: Chromium, promtool, etcd, PostgreSQL, axe
	@tests/tools.sh

test: setup tools  ## the tests for daily work, in minutes; lists what it skips for want of a tool
	$(PYTEST) -n $(WORKERS) -m "not slow"

test-all: setup tools  ## all tests except those of `make interop` and `make lake`
	$(PYTEST) -n $(WORKERS)

check: lint types contracts test-all  ## the gate: lint, types, import contracts, all tests

lint: setup      ## ruff: format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup     ## mypy --strict
	$(BIN)/mypy

contracts: setup ## import-linter: imports point down
	$(BIN)/lint-imports

format: setup    ## format the code and apply safe fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

interop: setup   ## real brokers, SDKs, mqadmin, proxy, controller; updates the table in docs/compatibility.md
	mkdir -p build
	$(PYTEST) -n $(WORKERS) tests/interop/programs --programs --programs-report build/programs.json
	$(BIN)/python -m tests.interop.programs.table build/programs.json

versions: setup  ## brokers of releases from 3.2.6 on, each at Routebook and at a Java NameServer; compares the answers
	$(PYTEST) tests/interop/programs/test_releases.py --programs

soak: setup      ## two minutes of a fleet with faults and restarts
	$(PYTEST) tests/e2e/test_soak.py --soak-seconds 120

console: tools   ## build the console; fails if the result differs from the committed files
	cd console && npm test --silent && npm run build --silent
	git diff --exit-code --stat -- src/routebook/console/assets

lake: setup      ## all tests of the lake, with ground truth, kills and a Spark cluster
	$(PYTEST) tests/lake --lake-all

differential: setup  ## 20,000 random operations beside the Java NameServer, and its Controller
	$(PYTEST) tests/interop/test_differential.py tests/interop/test_differential_controller.py --differential-ops 20000

mutations: setup ## 10,000 mutated frames of each of six kinds beside the Java NameServer
	$(PYTEST) tests/interop/test_mutations.py -s --mutated-frames 10000

fuzz: setup      ## ten minutes of fuzzing, and a million random frames
	$(PYTEST) tests/fuzz tests/attacks --fuzz-seconds 600 --attack-scale 20

chaos: setup     ## ten minutes of fault injection
	$(PYTEST) tests/chaos --chaos-seconds 600

controller-faults: setup  ## 200 rounds of faults for three controllers on etcd; takes half an hour
	mkdir -p build && rm -f build/controller.jsonl
	$(PYTEST) tests/chaos/controller -s --controller-rounds 200 --reliability-report build/controller.jsonl

attacks: setup   ## the cost of every request, and all attacks at once; fails above a ceiling of CPU or memory
	$(PYTEST) tests/attacks

reliability: reliability-fuzz reliability-attacks reliability-chaos reliability-kills  ## update all of docs/reliability.md; takes hours

reliability-fuzz: PART = tests/fuzz --fuzz-inputs 10000000
reliability-attacks: PART = tests/attacks --attack-scale 20 --attack-seconds 600
reliability-chaos: PART = tests/chaos/test_chaos.py --chaos-seconds 3600
reliability-kills: PART = tests/e2e/test_kill.py --kv-kills 1000
reliability-fuzz: setup     ## its table of fuzzing: 10 million inputs
reliability-attacks: setup  ## its tables of attacks and costs: a million frames, all attacks for ten minutes
reliability-chaos: setup    ## its table of chaos: an hour of faults
reliability-kills: setup    ## its table of kills: 1,000 kill -9
reliability-fuzz reliability-attacks reliability-chaos reliability-kills:
	mkdir -p build && rm -f build/$@.jsonl
	$(PYTEST) $(PART) --reliability-report build/$@.jsonl
	$(BIN)/python -m tests.support.reliability_table build/$@.jsonl

docs: setup      ## the documentation as a site with search, in build/site; fails on a broken link
	$(BIN)/python -m tools.docs_site
	@echo "open build/site/index.html"

demo: setup      ## everything on a simulated fleet: a past, two NameServers, faults, reports; stop it with ctrl-c
	$(BIN)/routebook demo

bench-quick: setup  ## throughput beside Java, Rust and an echo server; takes minutes
	$(BIN)/python -m benchmarks.run --quick

bench: setup     ## all benchmarks: throughput, memory, journal, history, warm start, lake; takes hours
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.many_topics
	$(BIN)/python -m benchmarks.look_up_latency
	$(BIN)/python -m benchmarks.journal_cost
	$(BIN)/python -m benchmarks.journal_day
	$(BIN)/python -m benchmarks.history
	$(BIN)/python -m benchmarks.warm_start
	$(BIN)/python -m benchmarks.lake

clean:           ## remove everything that was built
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
