# Python 3.10 or newer with venv, and Make, are all that these targets need: each sets up .venv
# first. Name another interpreter with `make PYTHON=python3.12 …`.
VENV := .venv
RUN := $(VENV)/bin/python
SPHINX := $(RUN) -m sphinx --fail-on-warning --keep-going --jobs auto --doctree-dir _build/doctrees

# Without a PYTHON of the user's the environment keeps the one that it was made with.
PYTHON ?= $(or $(shell sed 's/.*|//' $(VENV)/locked 2>/dev/null),python3)
ORIGIN := $(CURDIR)|$(PYTHON)
# An environment that was moved, damaged, or made with another Python is made anew.
ifneq ($(shell test -x $(RUN) && cat $(VENV)/locked 2>/dev/null),$(ORIGIN))
STALE := stale
endif

# The environment must hold what the lock says, whatever the caller's shell adds.
unexport PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help html test test-browser check claim falsify conformance fuzz bench survey matrix serve lint linkcheck lock clean stale

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1|\2/p' Makefile | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'

html: $(VENV)/ready ## build the site in _build/html and check every claim
	$(SPHINX) --builder html . _build/html

test: $(VENV)/ready ## run every test that needs no browser
	$(RUN) -m pytest --numprocesses auto

test-browser: html ## try the site in an installed Chromium, as a reader does
	$(RUN) -m pytest -m browser tests/browser

check: ## everything that CI runs, from an empty build
	bash .ci/run

claim: $(VENV)/ready ## run one claim and print its evidence: make claim ID=slug [MUTANT=name]
	@test -n "$(ID)" || { echo "make claim: ID must name a claim, but got none; for example: make claim ID=accumulated-gradient" >&2; exit 2; }
	$(RUN) -m executable_claims run '$(ID)' $(if $(MUTANT),--mutant '$(MUTANT)')

falsify: $(VENV)/ready ## prove that every claim can fail and record who kills whom: make falsify [ALL=1]
	nice -n 5 $(RUN) -m executable_claims falsify $(if $(ALL),--all)

conformance: $(VENV)/ready ## run the conformance corpus in every mode, print the matrix, and record it for the site
	$(RUN) -m static_hooks conformance --json docs/recorded/conformance.json
	$(RUN) -m tools.survey.decisions

fuzz: $(VENV)/ready ## compare random programs with eager mode: make fuzz [PROGRAMS=10000] [MODE=ast] [SEED=0] [JOBS=1]
	$(RUN) -m tests.fuzz --programs $(or $(PROGRAMS),10000) --mode $(or $(MODE),ast) --seed $(or $(SEED),0) --jobs $(or $(JOBS),1) $(if $(RECORD),--record '$(RECORD)')

bench: $(VENV)/ready ## measure what hooks cost, as ratios: make bench [TORCH=python-with-torch] [RECORD=file]
	$(RUN) -m tests.benchmarks $(if $(TORCH),--torch '$(TORCH)') $(if $(RECORD),--record '$(RECORD)')

survey: $(VENV)/ready ## ask other frameworks the same questions, in environments of their own, and try all designs: make survey [PEERS=JAX]
	$(RUN) -m tools.survey $(PEERS)
	$(RUN) -m tools.survey.scoreboard

matrix: $(VENV)/ready ## ask other versions of Paddle what they do with hooks: make matrix [VERSIONS=3.0.0]
	$(RUN) -m tools.matrix $(VERSIONS)

serve: $(VENV)/ready ## show the site and build it again at every change
	$(RUN) -m sphinx_autobuild --ignore '$(CURDIR)/_build*' --ignore '$(CURDIR)/.*' --doctree-dir _build/doctrees . _build/html

lint: $(VENV)/ready ## check style and types
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy
	$(RUN) -m executable_claims check

linkcheck: $(VENV)/ready ## check the site's links (needs the network)
	$(SPHINX) --builder linkcheck . _build/linkcheck

lock: ## write requirements.lock anew from pyproject.toml, keeping versions that still fit
	$(PYTHON) -m venv _build/lock
	_build/lock/bin/python -m pip install --quiet uv==0.13.9
	_build/lock/bin/uv pip compile pyproject.toml --extra docs --group dev --group browser --universal --python-version 3.10 \
		--generate-hashes --no-emit-index-url --no-annotate --custom-compile-command 'make lock' \
		--quiet --output-file requirements.lock

clean: ## remove what was built and the environment
	rm -rf _build $(VENV)

$(VENV)/locked: requirements.lock tools/bootstrap.sh $(STALE)
	@sh tools/bootstrap.sh environment '$(VENV)' '$(PYTHON)'
	@echo '$(ORIGIN)' > $@

$(VENV)/ready: $(VENV)/locked pyproject.toml
	@sh tools/bootstrap.sh project '$(VENV)'
	@touch $@
