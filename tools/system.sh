#!/bin/sh
# Installs the compilers that some tests build real projects with, where this user may. Where it may not, those tests
# say what is missing and are skipped.
set -eu

missing=""
command -v cc >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
command -v cmake >/dev/null 2>&1 && command -v ctest >/dev/null 2>&1 || missing="$missing cmake"
if [ -z "$missing" ] || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then exit 0; fi
echo "setup: installing$missing" >&2
# shellcheck disable=SC2086 - a list of names
{ apt-get update && apt-get install -y --no-install-recommends $missing; } >/dev/null 2>&1 ||
    echo "setup: that failed; the tests that need them are skipped" >&2
