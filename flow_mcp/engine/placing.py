"""Where the command of a check runs: in a disposable copy of a kept source, or in place where no copy can be made."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.engine.job import Job
from flow_mcp.runner.reaping import is_subreaper
from flow_mcp.workspace.copies import Copy, lay_out, left_behind, lend_times
from flow_mcp.workspace.disposal import disposable, spare
from flow_mcp.workspace.environments import environments_lead_back
from flow_mcp.workspace.inputs import Lent, lend_inputs
from flow_mcp.workspace.lent_history import lend_history
from flow_mcp.workspace.pointing import within
from flow_mcp.workspace.source import Manifest
from flow_mcp.workspace.sources import Damaged, discard_copy, load_manifest

SPARED_FILES_MIN = 100
"""A smaller copy is thrown away: the next one costs little."""

_NOTHING = Lent((), (), builds=False, foreign=False, leads_back=False)


@dataclass(frozen=True, slots=True)
class Site:
    """Where a command runs.

    Attributes:
        folder: where.
        copy: the copy; None in place.
        lent: which inputs the copy was lent, and how.
        why_in_place: why there is no copy; None where there is one.
    """

    folder: Path
    copy: Copy | None
    lent: Lent
    why_in_place: str | None

    def left(self) -> tuple[str, ...]:
        """Name what the command changed in its copy."""
        if self.copy is None:
            return ()
        try:
            found = left_behind(self.copy, self.lent.names)
        except BrokenWorld as error:
            return (f"unknown: {error.seen}",)
        return (*found.paths, *((f"and {found.more} more",) if found.more else ()))


@contextmanager
def copied(job: Job, digest: str, manifest: Manifest, *, is_current: bool) -> Iterator[Site]:
    """Lend a copy of a manifest's files.

    Args:
        job: the check.
        digest: of the kept source that is to blame where something is missing.
        manifest: what the copy holds.
        is_current: whether it is the source of the check; else it is older, and nothing built from it can be.

    Raises:
        Damaged: where something of it is missing.
        BrokenWorld: where the copy cannot be made.
    """
    root, private = job.space.root, job.space.private
    with disposable(private) as room:
        copy = lay_out(private, digest, manifest, room.folder, used=room.used)
        lent = lend_inputs(root, job.plan.inputs, room.folder, is_current=is_current)
        if is_current and lent.builds and not lent.foreign:
            copy = lend_times(copy, manifest, root)
        lend_history(root, None if is_current else _commit(job), room.folder, lent.shared)
        leads_back = (
            lent.leads_back or copy.names_workspace or environments_lead_back(job.command.run, job.environment, root)
        )
        yield Site(room.folder, copy, replace(lent, leads_back=leads_back), None)
        if len(copy.marks) >= SPARED_FILES_MIN and is_subreaper():
            with suppress(BrokenWorld):
                spare(private, room.folder)


def _commit(job: Job) -> str | None:
    return job.document.approvals[-1].commit


@contextmanager
def current(job: Job) -> Iterator[Site]:
    """Lend a copy of the check's own source, or where none can be made the workspace itself, and say why."""
    digest = job.pending.source
    with ExitStack() as stack:
        try:
            manifest = load_manifest(job.space.private, digest)
            site = stack.enter_context(copied(job, digest, manifest, is_current=True))
        except Damaged as error:
            # Set aside, so that the next request keeps it anew.
            with suppress(BrokenWorld):
                discard_copy(job.space.private, error.digest)
            site = Site(job.space.root, None, _NOTHING, error.seen)
        except BrokenWorld as error:
            site = Site(job.space.root, None, _NOTHING, f"{error.seen} {error.remedy}")
        yield site


def translated(environment: Mapping[str, str], root: Path, folder: Path) -> dict[str, str]:
    """Lead the variables that name the workspace to the copy: a program of the source must be the copy's.

    Git that finds no history in the copy must not go up from there to the workspace's own, and change that.
    """
    if folder == root:
        return dict(environment)
    led = {
        name: os.pathsep.join(_led(part, root, folder) for part in value.split(os.pathsep))
        for name, value in environment.items()
    }
    return led | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}


def _led(part: str, root: Path, folder: Path) -> str:
    """Lead a path to the copy, however it spells the workspace."""
    real = os.path.realpath(root)
    for spelling, top in ((part, str(root)), (part, real), (_real(part), real)):
        if within(spelling, top):
            return str(folder) + spelling[len(top) :]
    return part


def _real(part: str) -> str:
    # Only the folder: a program that is a link is called by its own name.
    if not os.path.isabs(part) or "\0" in part:  # noqa: PTH117 - a variable need not be a path
        return part
    above, name = os.path.split(part)
    return os.path.realpath(part) if os.path.isdir(part) else os.path.join(os.path.realpath(above), name)  # noqa: PTH112, PTH118 - the same
