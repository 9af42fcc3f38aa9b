# Two targets for a fresh machine: `make demo` and `make test`. Each sets up all it needs.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Programs that the tests start again and again keep their byte code.
unexport PYTHONDONTWRITEBYTECODE

# One more worker than cores: some tests wait for a process or a server.
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)

.PHONY: setup demo test test-rest test-random test-all test-container lint audit size bench bench-stats bench-smoke docs schema lock clean

setup: $(VENV)/.ready

# uv installs what the lock pins, checks every hash, and takes seconds where pip takes minutes.
$(VENV)/.ready: requirements/dev.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/setup.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r requirements/dev.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	touch $@

demo: setup
	$(BIN)/python scripts/demo.py

# The first half of `test-all`, which alone must cover the package: COVERAGE=1 requires that.
test: setup
	$(BIN)/python -m pytest -n $(WORKERS) -m "not long and not container" $(if $(COVERAGE),--cov --cov-report=) $(ARGS)

# The long tests, which `make test` leaves out.
test-rest: setup $(VENV)/.ray-ready
	$(BIN)/python -m pytest -n $(WORKERS) -m "long and not container" $(ARGS)

# Looks for new counterexamples to the properties. What it finds is no fault of the change at hand.
test-random: setup
	$(BIN)/python -m pytest -n $(WORKERS) -m "hypothesis and not container" --hypothesis-profile=random $(ARGS)

test-all:
	$(MAKE) test COVERAGE=1
	$(MAKE) test-rest

# Builds the image and runs the action; needs the tools that tests/end_to_end names.
test-container: setup
	$(BIN)/python -m pytest -m container tests/end_to_end $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy docker
	$(BIN)/lint-imports
	$(BIN)/python scripts/lint_workflows.py

# Looks for known vulnerabilities in what the locks pin. ARGS=--recorded asks no service.
audit: setup
	$(BIN)/python scripts/audit.py $(ARGS)

# How large the package, the tests and the documentation are.
size: setup
	$(BIN)/python scripts/size.py

# Every benchmark runs, also after one that does not reach its goal; `make bench` fails then.
BENCHMARKS := startup latency engine ahead image affected validate report site local_model \
  local_prompts blame_embedded whole_runs ray_nodes
bench: setup $(VENV)/.ray-ready
	@missed=; for name in $(BENCHMARKS); do \
	  echo "== benchmarks/$$name.py"; $(BIN)/python -m benchmarks.$$name || missed="$$missed $$name"; \
	done; test -z "$$missed" || { echo "Goals not reached:$$missed"; exit 1; }

# Simulates the decisions and writes the tables of benchmarks/error-rates.md.
SIMULATIONS := decisions fixture_weights objectives broken_fixtures detectable_drops limits drift \
  replicas clusters several_contracts mutation blame judge_correction
bench-stats: setup $(VENV)/.bench-ready
	@for name in $(SIMULATIONS); do \
	  $(BIN)/python -m benchmarks.$$name --write benchmarks/error-rates.md || exit 1; \
	done

$(VENV)/.bench-ready: requirements/bench.lock | $(VENV)/.ready
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r requirements/bench.lock
	touch $@

# 200 MB that only the tests of a cluster and its benchmark need. Without it they are left out.
$(VENV)/.ray-ready: requirements/ray.lock | $(VENV)/.ready
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --no-deps -r requirements/ray.lock
	touch $@

# Shows that the benchmarks run; their figures mean something only on an idle machine.
bench-smoke: setup
	$(BIN)/python benchmarks/startup.py --files 50 --repeat 1 --limit 60
	$(BIN)/python benchmarks/latency.py --calls 8 --concurrency 4 --delay-ms 20
	$(BIN)/python -m benchmarks.engine --calls 8 --concurrency 4 --delay-ms 20
	$(BIN)/python -m benchmarks.whole_runs --calls 8 --concurrency 4 --repeat 1 --smoke
	$(BIN)/python -m benchmarks.ahead --runs 1 --calls 100
	$(BIN)/python -m benchmarks.local_model --fixtures 1
	$(BIN)/python -m benchmarks.local_prompts --reviews 1
	$(BIN)/python benchmarks/affected.py --files 100 --contracts 5 --repeat 1 --limit 60 --limit-all 60
	$(BIN)/python benchmarks/validate.py --files 20 --contracts 2 --repeat 1 --limit 60
	$(BIN)/python -m benchmarks.decisions --runs 20 --limit 1
	$(BIN)/python -m benchmarks.objectives --runs 5
	$(BIN)/python -m benchmarks.broken_fixtures --runs 1
	$(BIN)/python -m benchmarks.detectable_drops --runs 20
	$(BIN)/python -m benchmarks.limits --runs 2
	$(BIN)/python -m benchmarks.drift --runs 2
	$(BIN)/python -m benchmarks.replicas --runs 2 --limit 1
	$(BIN)/python -m benchmarks.clusters --runs 2 --limit 1
	$(BIN)/python -m benchmarks.several_contracts --runs 2 --limit 1
	$(BIN)/python -m benchmarks.mutation --runs 1 --limit 1
	$(BIN)/python -m benchmarks.blame --runs 100
	$(BIN)/python -m benchmarks.judge_correction --runs 5
	$(BIN)/python -m benchmarks.anchors --runs 5
	$(BIN)/python benchmarks/report.py --fixtures 30 --samples 1 --repeat 1 --smoke
	$(BIN)/python benchmarks/site.py --contracts 3 --nights 20 --fixtures 3 --repeat 1 --smoke
	$(BIN)/python benchmarks/ray_nodes.py --calls 6 --repeat 1 --ratio 0

# What is written from the code: the schemas, docs/commands.md, docs/llms.txt and the parts of docs/checks.md.
docs: schema
	$(BIN)/python -m scripts.publish_checks
	$(BIN)/python -m scripts.publish_commands
	$(BIN)/python -m scripts.publish_llms

schema: setup
	$(BIN)/python scripts/publish_schema.py

# The tests run on what the image ships: the development lock takes its versions from the other.
lock:
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate \
	  pyproject.toml --extra keyless --extra notify --extra postgres -o requirements/runtime.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate \
	  -c requirements/runtime.lock pyproject.toml --extra keyless --extra local --extra notify --extra postgres --extra parquet --extra text --extra code --extra mcp --group dev --group model -o requirements/dev.lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate \
	  -c requirements/dev.lock --group pyproject.toml:bench -o requirements/bench.lock
	echo 'ray[client]>=2.40' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate \
	  -c requirements/dev.lock - -o requirements/ray.lock
	echo 'uv' | $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url --no-annotate \
	  - -o requirements/setup.lock
	printf 'hatchling\nuv\n' | $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate \
	  -c requirements/setup.lock - -o requirements/build.lock

clean:
	rm -rf $(VENV) .gatekeeper build dist .coverage .mypy_cache .ruff_cache .pytest_cache
