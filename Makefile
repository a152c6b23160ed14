# Every target does its own set-up. `make` alone lists them.

# The first Python that is new enough; `make PYTHON=/path/to/python setup` names another.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
ARGS ?=

# The tests start Python some thousand times. Where no compiled modules may be kept, each start compiles them all again,
# which doubles the CPU time of the whole suite. `make clean` removes what is kept.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup test test-thorough test-quick test-pythons test-clients test-train test-kube kube-up fuzz simulate-faults chaos demo check fix clean
.PHONY: bench bench-decide bench-embedded bench-hotswap bench-kube bench-scale bench-spot

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## Make .venv with the `understudy` command and the tools; quick when nothing changed

# A .venv whose Python has gone (an upgrade, a move) is made anew; else only what pyproject.toml changed is installed.
$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { \
		echo "understudy needs Python 3.11 or newer: install it, or name one with 'make PYTHON=/path/to/python setup'" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$(PYTHON) is not Python 3.11 or newer: name one that is with 'make PYTHON=/path/to/python setup'" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments: install its venv package (Debian, Ubuntu: apt install python3-venv)" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# Two workers a core (tests/conftest.py), since the tests wait for processes half of the time. A worker that has run out
# of tests takes over some of another's.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal

test: setup ## Run all tests that need only Python, except the thorough ones; ARGS='-k swap' narrows it
	$(PYTEST) -m "not thorough" $(ARGS)

test-thorough: setup ## Run the thorough tests: kills at every write, long waits, and every law with all of its examples
	HYPOTHESIS_PROFILE=thorough $(PYTEST) -m "thorough or law" $(ARGS)

# What needs no processes of its own, with fewer examples of each law.
QUICK := $(addprefix tests/,model decide objects kinds control client deploy seeds train/test_job_client.py test_pythons.py) \
	$(addprefix tests/embedded/,schema api store server controllers bundled_manifests clusters/test_certificates.py)
SLOW := $(addprefix tests/,decide/test_oracle.py decide/test_determinism.py client/test_pool.py) \
	$(addprefix tests/embedded/,store/test_crash.py server/test_process.py controllers/runtime/test_work_queue.py)

test-quick: setup ## Run the tests that need no processes of their own: a minute
	HYPOTHESIS_PROFILE=quick $(PYTEST) -m "not thorough" $(QUICK) $(SLOW:%=--ignore=%) $(ARGS)

test-pythons: setup ## Run the quick tests on the oldest and the newest supported Python at hand, each in its own environment
	$(BIN)/python -m tests.pythons

test-clients: setup ## Let kubectl and eight client libraries loose on a cluster; installs each in its own environment
	$(BIN)/python -m pytest tests/clients $(ARGS)

test-train: setup ## Disturb real distributed training, in JAX and where it is installed in PyTorch; installs JAX in its own environment
	$(BIN)/python -m pytest tests/train/frameworks $(ARGS)

test-kube: setup ## Test on a real control plane with the real operators; builds them once where Go is installed
	$(BIN)/python -m tests.kube.cluster programs
	$(BIN)/python -m pytest tests/kube $(ARGS)

kube-up: setup ## Run that cluster in the foreground, for kubectl and understudy; ARGS='--nodes 32 --slices 8'
	$(BIN)/python -m tests.kube.cluster up $(ARGS)

EXAMPLES ?= 4000
fuzz: setup ## Send the API server two minutes of malformed and hostile requests; EXAMPLES=1000 for half a minute
	UNDERSTUDY_FUZZ_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest tests/fuzz $(ARGS)

SEEDS ?= 1000
FIRST ?= 0
simulate-faults: setup ## Run the control side on a simulated cluster with faults in every order; SEEDS=100000 for an hour or two
	$(BIN)/python -m understudy.simulate.faults --first $(FIRST) --seeds $(SEEDS) $(ARGS)

SECONDS ?= 600
SEED ?=
chaos: setup ## Kill, stop and starve a real cluster under load for SECONDS=600, and judge it; SEED=N draws a run again
	$(BIN)/python -m tests.chaos --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(ARGS)

demo: setup ## Watch a hot swap on an embedded cluster, with real processes
	$(BIN)/understudy demo $(ARGS)

check: setup ## Everything a machine can say about the code: lint, layout, types, layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fix: setup ## Let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: bench-decide bench-embedded bench-hotswap bench-scale ## Time the planner, the embedded cluster, hot swaps and a large cluster; ARGS=--quick for small sizes

bench-decide: setup ## Time the planner beside the peers' published figures
	$(BIN)/python -m bench.decide $(ARGS)

bench-embedded: setup ## Time the embedded cluster, beside a kube-apiserver where one is at hand
	$(BIN)/python -m bench.embedded $(ARGS)

bench-hotswap: setup ## Let nodes die under running gangs, and time how soon all members run again
	$(BIN)/python -m bench.hotswap $(ARGS)

bench-kube: setup ## Understudy and kube-scheduler side by side on a real control plane; takes a quarter of an hour
	$(BIN)/python -m bench.kube $(ARGS)

bench-scale: setup ## Start on 15,000 nodes and 100,000 pods from recorded lists; ARGS=--peers decodes them with other clients too
	$(BIN)/python -m bench.scale $(ARGS)

bench-spot: setup ## Spot machines come and go as in a real trace: what jobs lose with notices and without; a quarter of an hour
	$(BIN)/python -m bench.spot $(ARGS)

clean: ## Remove everything the other targets made
	rm -rf $(VENV) .venv-* build dist *.egg-info .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
