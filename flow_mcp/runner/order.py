"""What to execute, as data: the bytes, the folder, the limits, and the environment that may reach the command."""

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flow_mcp.runner.redaction import TOKENS_ALONE, Redactor

# Follows a command into all its descendants, so that one which left the tree can still be found. It passes through
# from an outer check, whose sweep must find what this one starts.
MARKER = "FLOW_CHECK"

ALLOWED_BY_DEFAULT: tuple[str, ...] = (
    # The shell's ordinary surroundings.
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*"),
    # Where toolchains live, and where they keep what they downloaded.
    *("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "PYENV_VERSION", "UV_CACHE_DIR", "PIP_CACHE_DIR"),
    *("NVM_DIR", "VOLTA_HOME", "FNM_DIR", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "npm_config_cache"),
    *("GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE"),
    *("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"),
    *("JAVA_HOME", "GRADLE_USER_HOME", "MAVEN_HOME", "M2_HOME", "ANDROID_HOME"),
    *("DOTNET_ROOT", "NUGET_PACKAGES", "RBENV_ROOT", "GEM_HOME", "COMPOSER_HOME", "ASDF_DATA_DIR"),
    *("XDG_CACHE_HOME", "XDG_DATA_HOME", MARKER),
)
"""Names that reach a command unless the user's configuration says otherwise; a final ``*`` stands for any ending.

No name here may hold a secret or steer what a test runner selects: PYTEST_ADDOPTS, GOFLAGS, NODE_OPTIONS, BASH_ENV,
PYTHONPATH, LD_PRELOAD and proxies with passwords stay out. CI is not set, for tools change their behaviour with it:
a plan that wants it writes ``CI=1`` before the command, where the person who approves can see it.
"""


_TOKEN = re.compile(r"[A-Za-z0-9_-]+")


def new_token() -> str:
    """Make a word that no other process bears."""
    return secrets.token_hex(16)


def is_token(word: str) -> bool:
    """Say whether a text can be one word of a marker."""
    return _TOKEN.fullmatch(word) is not None


@dataclass(frozen=True)
class Order:
    """One command to execute.

    Attributes:
        run: the bytes for ``bash -o pipefail -c``, or a program and its arguments, which no shell reads.
        folder: where it runs.
        timeout_s: wall-clock seconds after which its whole tree is ended.
        environment: all of its environment; Flow adds only the marker.
        output_path: a file that does not exist yet, for standard output and error together.
        output_bytes_max: how much of the output the file keeps.
        tail_bytes_max: how much of its end is kept for showing.
        network: what the plan allows. Nothing in this version enforces it: a command reaches what its user reaches.
        token: a word that its descendants bear in their marker. Whatever else bears it is ended with them, so it is
            as new as ``new_token`` gives it; who wants to end them after a runner was lost (``lost.end_lost``) writes
            it down before the start.
        outside: folders in which no bash is taken from PATH, as in ``folder`` itself: the workspace, where the
            command runs in a copy of it.
        ends_with_runner: whether the kernel kills the command's own process when the thread that started it ends
            (Linux only), and signals that the runner ignores reach it. It is for the main thread of a process that
            has no other: with others, the fork that this needs is unsafe.
        redactor: what is hidden in its output: tokens by their shape, and the values that the user granted.
    """

    run: str | tuple[str, ...]
    folder: Path
    timeout_s: float
    environment: Mapping[str, str]
    output_path: Path
    output_bytes_max: int
    tail_bytes_max: int
    network: Literal["deny", "host"]
    token: str
    outside: tuple[Path, ...]
    ends_with_runner: bool
    redactor: Redactor = TOKENS_ALONE

    def __post_init__(self) -> None:
        """Hold what no caller may get wrong."""
        assert self.run != (), "an argument list begins with a program"  # noqa: S101 - a broken program stops
        assert is_token(self.token), "a token is one word"  # noqa: S101 - a broken program stops


def environment(base: Mapping[str, str], allowed: Sequence[str]) -> dict[str, str]:
    """Give the part of an environment that may reach a command, and a terminal type that is none.

    Args:
        base: the server's environment.
        allowed: names, or beginnings of names with a final ``*``.
    """
    names = {pattern for pattern in allowed if not pattern.endswith("*")}
    beginnings = tuple(pattern.removesuffix("*") for pattern in allowed if pattern.endswith("*"))
    kept = {name: value for name, value in base.items() if name in names or name.startswith(beginnings)}
    return kept | {"TERM": "dumb"}
