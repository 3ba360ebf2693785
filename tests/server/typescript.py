"""The TypeScript clients, installed once for each lock file, outside the tree that is tested."""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

Drive = Callable[[Mapping[str, Any]], dict[str, Any]]

_TREE: Final = Path(__file__).resolve().parents[2]
_CLIENTS: Final = _TREE / "tests" / "clients"
_FILES: Final = ("package.json", "package-lock.json", ".npmrc")
_INSTALL_S: Final = 600
_RUN_S: Final = 120


def installed() -> Drive:
    """Return the driver of the clients, after installing them where that is still to do."""
    lock = b"".join((_CLIENTS / name).read_bytes() for name in _FILES)
    cache = _cache()
    modules = cache / hashlib.sha256(lock).hexdigest()[:16]
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # one worker installs, the others wait
        tools = subprocess.run([_TREE / "tools" / "node.sh"], check=True, capture_output=True, text=True).stdout.strip()
        if not (modules / "done").exists():
            _install(modules, cache / "npm", tools)
    return lambda job: _drive(job, modules, tools)


def _cache() -> Path:
    """Return a folder that outlives the run and is ours: beside the tests' Python, else the user's cache."""
    if os.access(sys.prefix, os.W_OK):
        return Path(sys.prefix) / "tests-npm"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flow-mcp-tests-npm"


def _install(modules: Path, cache: Path, tools: str) -> None:
    modules.mkdir(exist_ok=True)
    for name in _FILES:
        shutil.copy(_CLIENTS / name, modules)
    command = [f"{tools}/npm", "ci", "--loglevel=error", "--cache", str(cache)]
    subprocess.run(command, check=True, cwd=modules, env=_environment(tools), timeout=_INSTALL_S)
    (modules / "done").touch()


def _environment(tools: str) -> dict[str, str]:
    return {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def _drive(job: Mapping[str, Any], modules: Path, tools: str) -> dict[str, Any]:
    command = [f"{tools}/node", str(_CLIENTS / "drive.mjs"), str(modules)]
    done = subprocess.run(
        command,
        input=json.dumps(job).encode(),
        stdout=subprocess.PIPE,
        env=_environment(tools),
        timeout=_RUN_S,
        check=True,
    )
    seen: dict[str, Any] = json.loads(done.stdout)
    return seen
