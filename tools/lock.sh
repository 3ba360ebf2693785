#!/bin/sh
# Writes requirements.lock anew from pyproject.toml: every version and hash, for every platform.
# Needs uv on the PATH; only maintainers run it.
set -eu
cd "$(dirname "$0")/.."
uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
    --no-emit-index-url --no-emit-find-links pyproject.toml --group dev --output-file requirements.lock "$@"
