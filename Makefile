# make run     set up everything and serve on http://127.0.0.1:8000, with demo data (DEMO=0: without);
#              DATA=sparecores also fetches 3,000 real servers (minutes, once; FROM=PATH: from an archive or a clone)
# make test    set up everything and run all tests; make quick-test runs those that need Python alone (3 minutes)
# make check   lint, format, types, import contracts, deployment and migration checks
# make help    the rest

HOST ?= 127.0.0.1
PORT ?= 8000
WORKERS ?= 2
DEMO ?= 1
DATA ?=
FROM ?=
CLUSTER ?= $(CURDIR)/build/cluster
POSTGRESQL_PORT ?= 5433
DASK_PORT ?= 8786
REFERENCE := $(wildcard benchmarks/reference/*.tar.gz)
PYTEST_ARGS ?=

# The first interpreter on PATH that is Python 3.11 or newer and has the venv module.
PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)

VENV := .venv
BIN := $(VENV)/bin
BIOME := node_modules/.bin/biome
MANAGE := $(BIN)/python manage.py
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --constraint constraints.txt

.PHONY: run cluster test quick-test coverage figures check audit format client core leaderboard action schema benchmark lab screenshots peers page-weights lock clean help
.DELETE_ON_ERROR:

help:
	@sed -n '1,5s/^# //p' Makefile
	@echo "make cluster       several processes as on several hosts, for trying: PostgreSQL, web, task workers, Dask"
	@echo "make coverage      run make test's tests and write build/coverage/, which lines of the code they execute"
	@echo "make figures       count how simple the code is, and write the table of docs/code-map.md"
	@echo "make audit         look up what is pinned among the known vulnerabilities (asks pypi.org)"
	@echo "make format        apply the formatter and safe lint fixes"
	@echo "make client        build the client's wheel in build/client/"
	@echo "make core          build the wheel of mpet-core, the methods without a server, in build/core/"
	@echo "make dist          build wheels and sdists of mpet-server, mpet, mpet-core and mpet-bench in build/dist/"
	@echo "make version VERSION=1.0.0  set the version of all of them"
	@echo "make action DIR=../mpet-action  write the GitHub Action as a repository of its own, the client pinned"
	@echo "make leaderboard   write research/leaderboard.md from the stored scores of mpet-bench"
	@echo "make schema        write docs/openapi.yaml from the code"
	@echo "make benchmark     run the speed benchmarks (lab/performance)"
	@echo "make lab           the long tests (cross builds, sanitizers, all on PostgreSQL, campaigns), each benchmark once"
	@echo "make screenshots   write docs/images from the running pages"
	@echo "make peers         have Extra-P and Frictionless read what is exported (minutes: an environment of their own)"
	@echo "make page-weights  write docs/page-weights.md: what each page of the demo weighs and takes (minutes)"
	@echo "make lock          write constraints.txt from what is installed"
	@echo "make clean         remove the environment and everything built (never var/, the data)"

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "MPET needs Python 3.11 or newer with its venv module (Debian: apt install python3-venv)." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-run: requirements.txt constraints.txt | $(BIN)/python
	$(PIP) --requirement requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements.txt requirements-dev.txt requirements-postgresql.txt requirements-dask.txt requirements-cloudspecs.txt constraints.txt | $(BIN)/python
	$(PIP) --requirement requirements-dev.txt
	@touch $@ $(VENV)/.installed-run

run: $(VENV)/.installed-run
	$(MANAGE) migrate --verbosity 0
	$(MANAGE) collectstatic --noinput --verbosity 0
	$(if $(filter 1,$(DEMO)),$(MANAGE) load_demo)
	$(if $(REFERENCE),$(MANAGE) import_results $(REFERENCE))
	@for source in $(DATA); do $(MANAGE) fetch_data $$source $(if $(FROM),--from $(FROM)) || \
	echo "MPET serves without what is missing of $$source. The next make run DATA=$$source goes on." >&2; done
	@echo "MPET serves on http://$(HOST):$(PORT)/ (stop with Ctrl-C)"
	$(BIN)/gunicorn mpet_site.wsgi --bind $(HOST):$(PORT) --workers $(WORKERS)

cluster: export CLUSTER := $(CLUSTER)
cluster: export POSTGRESQL_PORT := $(POSTGRESQL_PORT)
cluster: export DASK_PORT := $(DASK_PORT)
cluster: export HOST := $(HOST)
cluster: export PORT := $(PORT)
cluster: $(VENV)/.installed-dev
	@for port in $(PORT) $(POSTGRESQL_PORT) $(DASK_PORT); do \
	$(BIN)/python -c "import socket, sys; socket.create_server(('127.0.0.1', int(sys.argv[1])))" $$port 2>/dev/null || \
	{ echo "make cluster: port $$port is taken; PORT, POSTGRESQL_PORT and DASK_PORT choose others" >&2; exit 1; }; done
	@deploy/cluster/postgresql.sh prepare
	@deploy/cluster/postgresql.sh start
	@set -a; . $(CLUSTER)/environment; set +a; trap 'deploy/cluster/postgresql.sh stop' EXIT; \
	$(MANAGE) migrate --verbosity 0 && $(MANAGE) collectstatic --noinput --verbosity 0 \
	$(if $(filter 1,$(DEMO)),&& $(MANAGE) load_demo)
	@echo "MPET serves on http://$(HOST):$(PORT)/, Dask on tcp://127.0.0.1:$(DASK_PORT) (stop with Ctrl-C)"
	@echo "For other commands: set -a; . $(CLUSTER)/environment"
	@exec $(BIN)/honcho start --env $(CLUSTER)/environment --concurrency web=2,worker=2

# pytest exits with 5 if it finds no test. This is a failure, unless PYTEST_ARGS selects tests.
NONE_CHOSEN = { [ $$? = 5 ] && $(if $(PYTEST_ARGS),true,false); }

# Bytecode is always written, because a test run starts a hundred processes that import the same modules.
test lab quick-test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.installed-dev
	$(BIN)/pytest -n auto -m "not alone and not lab" $(PYTEST_ARGS) || $(NONE_CHOSEN)
	@echo "Those that measure time run alone."
	$(BIN)/pytest -o testpaths=tests -m "alone and not lab" $(PYTEST_ARGS) || $(NONE_CHOSEN)

# The folders with the most tests per second of processor time. docs/testing.md describes how they were chosen.
QUICK := tests/mpet_site/web tests/accounts tests/predictor/predictions tests/predictor/test_comparisons.py \
	tests/predictor/computations tests/predictor/extrapolation tests/predictor/snapshot tests/predictor/api
quick-test: $(VENV)/.installed-dev
	$(BIN)/pytest -n auto -m "not (alone or browser or kit or lab or postgresql or shared_data)" $(QUICK) $(PYTEST_ARGS)

# Each test process writes a separate coverage file (see pyproject.toml). They are combined at the end.
coverage: $(VENV)/.installed-dev
	@mkdir -p build
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n auto -m "not alone and not lab" $(PYTEST_ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet --directory build/coverage
	$(BIN)/coverage report --format total | sed 's/.*/Covered: & % of the lines. build\/coverage\/index.html has each of them./'

figures: export DJANGO_SETTINGS_MODULE = mpet_site.settings_test
figures: $(VENV)/.installed-dev
	$(BIN)/python -m lab.figures

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/djlint --check --lint --quiet .
	@if [ -x $(BIOME) ]; then $(BIOME) check --error-on-warnings; \
	else echo "The JavaScript is not checked: npm install brings what checks it."; fi
	$(BIN)/mypy .
	$(BIN)/lint-imports
	MPET_HTTPS=1 $(MANAGE) check --deploy --fail-level WARNING
	$(MANAGE) makemigrations --check --dry-run

audit: | $(BIN)/python
	$(PYTHON) -m venv build/audit
	build/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	build/audit/bin/pip-audit --strict --disable-pip --no-deps --requirement constraints.txt

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/djlint --reformat --quiet .
	@if [ -x $(BIOME) ]; then $(BIOME) check --write; fi

client: $(VENV)/.installed-dev
	$(BIN)/python -m build --wheel --no-isolation --outdir build/client benchmarks/client

core: $(VENV)/.installed-dev
	$(BIN)/python -m build --wheel --no-isolation --outdir build/core packaging/mpet-core

dist: $(VENV)/.installed-dev
	rm -rf build/dist
	for project in . benchmarks/client packaging/mpet-core research/bench; do \
	$(BIN)/python -m build --no-isolation --outdir build/dist $$project || exit 1; done

action:
	$(PYTHON) packaging/split_action.py $(DIR)
	@test -e $(DIR)/.git || git init --quiet --initial-branch main $(DIR)

version:
	$(PYTHON) packaging/set_version.py $(VERSION)

leaderboard: export PYTHONPATH := research/bench
leaderboard: $(VENV)/.installed-dev
	$(BIN)/python -m mpet_bench leaderboard research/bench/results --out research/leaderboard.md

schema: $(VENV)/.installed-dev
	$(MANAGE) spectacular --validate --fail-on-warn --file docs/openapi.yaml

lab: $(VENV)/.installed-dev
	$(BIN)/pytest lab -n auto $(PYTEST_ARGS) || $(NONE_CHOSEN)
	$(BIN)/pytest -o testpaths=tests -n auto -m "lab and not alone" $(PYTEST_ARGS) || $(NONE_CHOSEN)
	$(BIN)/pytest -o testpaths=tests -m "alone and lab" $(PYTEST_ARGS) || $(NONE_CHOSEN)

benchmark: $(VENV)/.installed-dev
	$(BIN)/pytest lab/performance --benchmark-enable --benchmark-only $(PYTEST_ARGS)

PEERS ?= $(VENV)/peers

$(PEERS)/.installed: requirements-peers.txt | $(BIN)/python
	$(BIN)/python -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements-peers.txt
	@touch $@

peers: $(VENV)/.installed-dev $(PEERS)/.installed
	MPET_PEERS=$(abspath $(PEERS))/bin/python $(BIN)/pytest research/peers/reading.py

screenshots: $(VENV)/.installed-dev
	$(BIN)/pytest tests/browser/screenshot.py

page-weights: $(VENV)/.installed-dev
	$(BIN)/python -m tests.browser.page_weights

lock: $(VENV)/.installed-dev
	$(BIN)/python -m pip freeze --exclude-editable > constraints.txt

clean:
	rm -rf $(VENV) node_modules staticfiles build .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
