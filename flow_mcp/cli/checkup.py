"""What the doctor looks at. Each look is by itself: one that fails hides no other."""

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from flow_mcp import __version__
from flow_mcp.cli.init import program
from flow_mcp.cli.reading import Records, records
from flow_mcp.cli.verify import verdict
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.runner.process import find_bash
from flow_mcp.store.files import prepare_private
from flow_mcp.store.lock import WorkspaceLock

PYTHON_MIN: Final = (3, 11)
LOCK_S: Final = 2.0
STALE_S: Final = 600.0
GIT_S: Final = 10.0

_TEMP = re.compile(r"\.[^/]+\.[0-9a-f]{16}\.tmp")

Level = Literal["ok", "note", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor: how it is, what was looked at, what was seen, and what to do."""

    level: Level
    what: str
    seen: str
    remedy: str = ""


def machine() -> Iterator[Finding]:
    """Look at the programs that Flow needs."""
    yield Finding("ok", "flow-mcp", f"{__version__}, {' '.join(program())}")
    yield _python(sys.version_info[:2])
    yield Finding("ok", "node", "not needed")


def _python(version: tuple[int, ...]) -> Finding:
    seen = f"{platform.python_version()}, {sys.executable}"
    if version >= PYTHON_MIN:
        return Finding("ok", "python", seen)
    return Finding("problem", "python", seen, f"Install Flow into Python {PYTHON_MIN[0]}.{PYTHON_MIN[1]} or newer.")


def workspace_findings(workspace: Path | None) -> Iterator[Finding]:
    """Look at the workspace, or say why there is none."""
    try:
        held = records(workspace)
    except BrokenWorld as error:
        yield Finding("problem", "workspace", error.seen, error.remedy)
        return
    yield Finding("ok", "workspace", str(held.root))
    yield _git(held.root)
    yield _bash(held.root)
    yield from _plans(held)
    yield _lock(held)
    yield from _settings(held)
    yield Finding("note", "containment", "none: this version runs commands without containment", _CONTAIN)
    yield Finding("note", "host channel", "none: no host attests this version", _HOST)
    yield from _stale(held)


_CONTAIN = "Approve only plans whose commands you would run yourself, or set sandbox: require to run none."
_HOST = "Flow's own runner observes commands; let a person or a reviewer connection judge."


def _git(root: Path) -> Finding:
    has_repository = os.path.lexists(root / ".git")
    path = shutil.which("git")
    if path is None:
        if has_repository:
            return Finding("problem", "git", "not on PATH, and the workspace is a repository", "Install git.")
        return Finding("note", "git", "not on PATH", "Without it the approved source cannot be rebuilt from a commit.")
    version = _version(path)
    if version is None:
        return Finding("problem", "git", f"{path} does not answer", "Repair or reinstall git.")
    if not has_repository:
        return Finding("note", "git", f"{version}; the workspace is no repository", "Run git init, and commit.")
    return Finding("ok", "git", f"{version}, {path}")


def _version(path: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - argument list, no shell
            [path, "--version"], capture_output=True, timeout=GIT_S, stdin=subprocess.DEVNULL, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace").strip().splitlines()[0] if done.stdout.strip() else None


def _bash(root: Path) -> Finding:
    try:
        return Finding("ok", "bash", find_bash(os.environ.get("PATH", os.defpath), root))
    except BrokenWorld as error:
        return Finding("problem", "bash", error.seen, error.remedy)


def _plans(held: Records) -> Iterator[Finding]:
    folder = held.settings.plans
    try:
        names = held.plans.names()
    except BrokenWorld as error:
        yield Finding("problem", "plans folder", error.seen, error.remedy)
        return
    if not held.plans.folder.is_dir():
        yield Finding("note", "plans folder", f"{folder}/ is not there yet", "The first plan makes it.")
        return
    found = [verdict(held.plans, name) for name in names]
    readable = sum(one.seen is None for one in found)
    yield Finding("ok", "plans folder", f"{folder}/, {readable} of {len(found)} documents hold")
    for one in found:
        if one.seen is not None:
            yield Finding("problem", f"document {one.plan_id}", one.seen, one.remedy or "")


def _lock(held: Records) -> Finding:
    private = held.root / ".flow"
    try:
        prepare_private(private)
        with WorkspaceLock(private / "lock").hold(LOCK_S):
            return Finding("ok", "lock", ".flow/lock can be taken")
    except BrokenWorld as error:
        return Finding("problem", "lock", error.seen, error.remedy)


def _settings(held: Records) -> Iterator[Finding]:
    settings = held.settings
    values = {**settings.policy.model_dump(), "plans": settings.plans}
    for name, value in values.items():
        yield Finding("ok", "policy" if name != "plans" else "setting", f"{name}: {value} ({settings.sources[name]})")
    for name in settings.environment:
        seen = f"{name} is passed to commands ({settings.sources[f'environment.{name}']})"
        yield Finding("ok", "environment", seen)
    for sentence in settings.ignored:
        yield Finding("note", "flow.yaml", sentence, "Take the line out, or set it in your own configuration.")


def _stale(held: Records) -> Iterator[Finding]:
    """Count what killed writers left behind."""
    for folder in (held.plans.folder, held.root / ".flow"):
        old = _left(folder)
        if old:
            seen = f"{old} temporary files of killed writers in {folder.name}/"
            yield Finding("note", "stale files", seen, "They do no harm; remove them, or let the next save do it.")


def _left(folder: Path) -> int:
    before_s = time.time() - STALE_S
    try:
        names = [entry for entry in os.scandir(folder) if _TEMP.fullmatch(entry.name)]
        return sum(entry.stat(follow_symlinks=False).st_mtime < before_s for entry in names)
    except OSError:
        return 0
