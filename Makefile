# Everything sets itself up: Python 3.11+, git and make are enough.
.PHONY: setup demo test test-long evals bench lint clean

FLOW := .venv/bin/flow-mcp
RUN  := .venv/bin/python -m

setup:
	@tools/setup.sh

# The main job on real input: a goal from plan to a completed closure, with lies refused on the way.
demo: setup
	@$(FLOW) demo

lint: setup
	@$(RUN) ruff check --quiet .
	@$(RUN) ruff format --check --quiet .
	@$(RUN) mypy --no-error-summary flow_mcp tests benchmarks evals

test: lint
	@tools/test.sh

# Slow trials: thousands of steps, hundreds of kills. Their figures are printed.
test-long: setup
	@$(RUN) pytest -m long -p no:cacheprovider -s tests

# Liars and honest agents at the real server: who was stopped by which rule, and who got where a person wants.
evals: setup
	@$(RUN) evals

# Ratios to a floor or a peer in the same run; the large trees take some minutes.
bench: setup
	@for each in benchmarks/*.py; do .venv/bin/python "$$each" || exit 1; done

clean:
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage .coverage.*
