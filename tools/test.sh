#!/bin/sh
# Every test, in parallel, with branch coverage held: 100 % of domain, store and engine, 95 % of the whole.
set -eu
cd "$(dirname "$0")/.."
tools/node.sh >/dev/null # the TypeScript clients of the tests need it
tools/system.sh
.venv/bin/python -m coverage erase
.venv/bin/python -m pytest -n auto --cov --cov-report= -q "$@"
.venv/bin/python -m coverage report --fail-under=95
.venv/bin/python -m coverage report --fail-under=100 \
    --include='flow_mcp/domain/*,flow_mcp/store/*,flow_mcp/engine/*'
