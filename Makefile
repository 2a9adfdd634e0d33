# Routebook: `make run` starts it, `make test` tests it, `make check` is the gate. All set-up comes with them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest

.PHONY: help setup tools run test soak differential lake fuzz chaos reliability interop console demo bench bench-quick check lint types contracts format clean
help:            ## what there is
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:[^#]*##/\t/' | expand -t 16

setup: $(STAMP)  ## build .venv (nothing to do: nothing done)

$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,lake]'
	@touch $(STAMP)

run: setup       ## start a NameServer, its console, and the lake that follows it
	$(BIN)/routebook up

tools:           ## fetch what tests need besides Python: Chromium, axe
	@tests/tools.sh

test: setup tools  ## all tests
	$(PYTEST)

soak: setup      ## two minutes of a fleet with faults and restarts
	$(PYTEST) tests/e2e/test_soak.py --soak-seconds 120

lint: setup      ## ruff: style and mistakes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: setup     ## mypy --strict
	$(BIN)/mypy

contracts: setup ## imports point down
	$(BIN)/lint-imports

check: lint types contracts test  ## the gate that CI runs

demo: setup      ## two NameServers and a fleet with faults; ctrl-c ends it
	$(BIN)/python -m tools.demo

console: tools   ## build the console again; fails if what is checked in differs
	cd console && npm test --silent && npm run build --silent
	git diff --exit-code --stat -- src/routebook/console/assets

differential: setup  ## the long form of the comparison with Java
	$(PYTEST) tests/interop/test_differential.py --differential-ops 20000

fuzz: setup      ## any bytes for ten minutes, and a million random frames
	$(PYTEST) tests/fuzz tests/attacks --fuzz-seconds 600 --attack-scale 20

chaos: setup     ## ten minutes of faults, and promises that must hold
	$(PYTEST) tests/chaos --chaos-seconds 600

reliability: setup  ## renews the figures in docs/reliability.md
	mkdir -p build && rm -f build/reliability.jsonl
	$(PYTEST) tests/fuzz tests/attacks tests/chaos --fuzz-seconds 120 --attack-scale 20 --chaos-seconds 180 \
		--reliability-report build/reliability.jsonl
	$(BIN)/python -m tests.support.reliability_table build/reliability.jsonl

lake: setup      ## all tests of the lake, with ground truth, kills and a Spark cluster
	$(PYTEST) tests/lake --lake-all

interop: setup   ## real brokers, SDKs, mqadmin, proxy, controller; renews the table in docs/compatibility.md
	mkdir -p build
	$(PYTEST) tests/interop/programs --programs --programs-report build/programs.json
	$(BIN)/python -m tests.interop.programs.table build/programs.json

bench-quick: setup  ## the speed table beside Java, Rust and the limit, in some minutes
	$(BIN)/python -m benchmarks.run --quick

bench: setup     ## all that is measured: speed beside others, memory, journal, history, warm start, lake; hours
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.many_topics
	$(BIN)/python -m benchmarks.journal_cost
	$(BIN)/python -m benchmarks.journal_day
	$(BIN)/python -m benchmarks.history
	$(BIN)/python -m benchmarks.warm_start
	$(BIN)/python -m benchmarks.lake

format: setup    ## put the code in form
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:           ## remove what was built
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
