#!/bin/sh
# Makes .venv with the locked dependencies and this checkout. Does nothing when that is done already:
# the stamp names the locks that were installed.
set -eu
cd "$(dirname "$0")/.."

newest_python() {
    for name in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11 python; do
        [ -n "$name" ] || continue
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
    echo "Flow MCP needs Python 3.11 or newer. Install it, or name it: make PYTHON=/path/to/python3.11" >&2
    return 1
}

make_venv() {
    if "$python" -m venv --clear .venv >/dev/null 2>&1; then return; fi
    # Debian ships Python without ensurepip until python3-venv is there.
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        echo "setup: this Python cannot make a virtual environment yet; installing python3-venv" >&2
        { apt-get update && apt-get install -y --no-install-recommends python3-venv; } >/dev/null 2>&1 || true
        if "$python" -m venv --clear .venv; then return; fi
    fi
    echo "setup: '$python -m venv .venv' failed. On Debian or Ubuntu: sudo apt-get install python3-venv" >&2
    return 1
}

want=$(cat pyproject.toml requirements.lock | cksum)
if [ "$(cat .venv/.setup 2>/dev/null)" = "$want" ] && .venv/bin/python -c 'import flow_mcp' 2>/dev/null; then
    exit 0
fi
python=$(newest_python)
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    echo "setup: making .venv with $python" >&2
    make_venv
fi
pip=".venv/bin/python -m pip --disable-pip-version-check -qq"
echo "setup: installing the locked dependencies (a minute or so)" >&2
$pip install --require-hashes --requirement requirements.lock
$pip install --no-deps --no-build-isolation --editable .
.venv/bin/python -m compileall -q flow_mcp .venv/lib >/dev/null 2>&1 || true
printf '%s\n' "$want" > .venv/.setup
