"""What the doctor looks at. Each look is by itself: one that fails hides no other."""

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flow_mcp import __version__
from flow_mcp.cli.finding import Finding
from flow_mcp.cli.init import program
from flow_mcp.cli.options import start
from flow_mcp.cli.project import project_findings
from flow_mcp.cli.reading import Records, records
from flow_mcp.cli.verify import verdict
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.runner.process import find_bash
from flow_mcp.settings import unknown_variables
from flow_mcp.store.files import prepare_private
from flow_mcp.store.lock import WorkspaceLock
from flow_mcp.workspace.git import find_git

PYTHON_MIN: Final = (3, 11)
LOCK_S: Final = 2.0
STALE_S: Final = 600.0
GIT_S: Final = 10.0
MIB: Final = 1024 * 1024
DISK_PROBLEM_MIB: Final = 64
DISK_ADVICE_MIB: Final = 1024
DESCRIPTORS_MIN: Final = 256

_TEMP = re.compile(r"\.[^/]+\.[0-9a-f]{16}\.tmp")


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
    yield _disk(held.root)
    yield from _descriptors()
    yield from _plans(held)
    yield from _private(held)
    yield from project_findings(held, start(workspace))
    yield from _settings(held)
    yield Finding("advice", "containment", "none: this version runs commands without containment", _CONTAIN)
    yield Finding("advice", "host channel", "none: no host attests this version", _HOST)
    yield from _stale(held)


_CONTAIN = "Approve only plans whose commands you would run yourself, or set sandbox: require to run none."
_HOST = "Flow's own runner observes commands; let a person or a reviewer connection judge."


def _git(root: Path) -> Finding:
    has_repository = os.path.lexists(root / ".git")
    path = find_git(root)
    if path is None:
        seen = "none on PATH outside the workspace"
        if has_repository:
            return Finding("problem", "git", f"{seen}, and the workspace is a repository", "Install git.")
        return Finding("advice", "git", seen, "Without it the approved source cannot be rebuilt from a commit.")
    version = _version(path)
    if version is None:
        return Finding("problem", "git", f"{path} does not answer", "Repair or reinstall git.")
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
        yield Finding("advice", "plans folder", f"{folder}/ is not there yet", "The first plan makes it.")
        return
    found = [verdict(held.plans, name) for name in names]
    readable = sum(one.seen is None for one in found)
    yield Finding("ok", "plans folder", f"{folder}/, {readable} of {len(found)} documents hold")
    for one in found:
        if one.seen is not None:
            yield Finding("problem", f"document {one.plan_id}", one.seen, one.remedy or "")


def _private(held: Records) -> Iterator[Finding]:
    """Ask whether Flow can keep its own state here, and take its lock."""
    private = held.root / ".flow"
    try:
        prepare_private(private)
    except BrokenWorld as error:
        yield Finding("problem", "private folder", error.seen, f"{error.remedy} {_READING}")
        return
    yield Finding("ok", "private folder", ".flow/ can be written, by this user alone")
    try:
        with WorkspaceLock(private / "lock").hold(LOCK_S):
            yield Finding("ok", "lock", ".flow/lock can be taken")
    except BrokenWorld as error:
        yield Finding("problem", "lock", error.seen, error.remedy)


_READING = "Until then only show, log, plan, verify and init work here."


def _disk(root: Path) -> Finding:
    try:
        free = shutil.disk_usage(root).free
    except OSError as error:
        return Finding("advice", "disk", f"free space is not known: {error.strerror}", "Look at it yourself.")
    seen = f"{free // MIB:,} MiB free"
    if free < DISK_PROBLEM_MIB * MIB:
        return Finding("problem", "disk", seen, "Free some space: copies, reports and documents need it.")
    if free < DISK_ADVICE_MIB * MIB:
        return Finding("advice", "disk", seen, "Free some space: each check runs in a copy of the source.")
    return Finding("ok", "disk", seen)


def _descriptors() -> Iterator[Finding]:
    """Ask how many files this user may hold open, where the system says so."""
    try:
        import resource  # noqa: PLC0415 - Windows has no such module
    except ImportError:
        return
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= limit < DESCRIPTORS_MIN:
        remedy = f"Start Flow with at least {DESCRIPTORS_MIN}, for example after `ulimit -n 1024`."
        yield Finding("advice", "open files", f"{limit} at once", remedy)
    else:
        yield Finding("ok", "open files", "as many as the system allows" if limit < 0 else f"{limit:,} at once")


def _settings(held: Records) -> Iterator[Finding]:
    settings = held.settings
    values = {**settings.policy.model_dump(), "plans": settings.plans}
    for name, value in values.items():
        yield Finding("ok", "policy" if name != "plans" else "setting", f"{name}: {value} ({settings.sources[name]})")
    for name in settings.environment:
        seen = f"{name} is passed to commands ({settings.sources[f'environment.{name}']})"
        yield Finding("ok", "environment", seen)
    for sentence in unknown_variables(os.environ):
        yield Finding("advice", "variable", sentence, "Mend its name in the host's entry or your shell, or unset it.")
    for sentence in settings.ignored:
        yield Finding("advice", "flow.yaml", sentence, "Take the line out, or set it in your own configuration.")


def _stale(held: Records) -> Iterator[Finding]:
    """Count what killed writers left behind."""
    for folder in (held.plans.folder, held.root / ".flow"):
        old = _left(folder)
        if old:
            seen = f"{old} temporary files of killed writers in {folder.name}/"
            yield Finding("advice", "stale files", seen, "They do no harm; remove them, or let the next save do it.")


def _left(folder: Path) -> int:
    before_s = time.time() - STALE_S
    try:
        names = [entry for entry in os.scandir(folder) if _TEMP.fullmatch(entry.name)]
        return sum(entry.stat(follow_symlinks=False).st_mtime < before_s for entry in names)
    except OSError:
        return 0
