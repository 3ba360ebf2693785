"""What a run changed, for whoever judges it: two sources compared from Flow's own store, never by git."""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from flow_mcp.domain.digest import digest_bytes
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.history import approval
from flow_mcp.domain.model import Document, Run
from flow_mcp.engine.asked import State
from flow_mcp.engine.gather import Workspace, first_start, outside_targets, targeted, usable
from flow_mcp.workspace.differences import (
    READ_BYTES_MAX,
    Bounds,
    Change,
    Differences,
    Reader,
    Reads,
    changed_between,
    changes,
    differences,
)
from flow_mcp.workspace.objects import Objects
from flow_mcp.workspace.paths import Descent, open_file, raw_path, split
from flow_mcp.workspace.patterns import matches
from flow_mcp.workspace.source import LINK_PREFIX, Manifest, SourceEntry
from flow_mcp.workspace.sources import changed_paths

Since = Literal["start", "approval"]

READ_ALL_BYTES_MAX = 64 * 1024 * 1024
"""What is read for one answer at most, in bytes."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two sources of a run.

    Attributes:
        run_id: the run.
        since: what the first source is: the one that the run's feature started from, or the approved one.
        began: the run that started from the first source: the feature's first one, unless its start is lost.
        before: its digest.
        after: the digest of the assignment's source; of the source now where there is no assignment.
        changed: what differs, what matters most first.
    """

    run_id: str
    since: Since
    began: str
    before: str
    after: str
    changed: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why two sources cannot be compared, and what helps."""

    seen: str
    remedy: str


def compare(space: Workspace, state: State, run: Run, since: Since) -> Comparison | Unknown:
    """Compare the source that a run's feature started from, or the approved one, with that which its review is about.

    Where the run has no review, and is active, that is the source now (row attest.changed-paths).
    """
    try:
        before = _before(space, state.document, run, since)
        after = before if isinstance(before, Unknown) else _after(space, state, run)
    except BrokenWorld as error:
        return Unknown(error.seen, error.remedy)
    if isinstance(before, Unknown):
        return before
    if isinstance(after, Unknown):
        return after
    (began, old), document = before, state.document
    paths = changed_between(old, after)
    beyond = _beyond(document, paths)
    if since == "start":
        beyond = outside_targets(space, document, run, after, paths)
    changed = changes(old, after, _frozen(state, paths), beyond)
    return Comparison(run.id, since, began, old.digest, after.digest, changed)


def paths_since(space: Workspace, state: State, digest: str) -> tuple[str, ...]:
    """Name the paths that differ from a source that was seen earlier; none where that is not kept."""
    kept = space.shelf.manifest(space.private, digest)
    return () if kept is None or state.seen is None else changed_paths(kept, state.seen.manifest)


def show(space: Workspace, changed: Sequence[Change], bounds: Bounds) -> Differences:
    """Show changes within bounds.

    Raises:
        BrokenWorld: where the store or the workspace cannot be opened at all.
    """
    with _reading(space) as read:
        return differences(changed, Reads(read, read), bounds)


def _before(space: Workspace, document: Document, run: Run, since: Since) -> tuple[str, Manifest] | Unknown:
    """Give the first source, and the run that started from it."""
    if since == "start":
        found = first_start(space, document, run)
        seen = f"The source that {run.id} started from is not kept on this machine."
        say = "Judge the changed files themselves, or reset the run, which starts anew from here."
        return Unknown(seen, say) if found is None else (found[0].id, found[1])
    given = approval(document)
    if given is None:
        return Unknown("No approval is in force.", "Ask a person to approve the plan.")
    kept = space.shelf.manifest(space.private, given.source)
    if kept is not None:
        return run.id, kept
    rebuilt = f"fetch the commit {given.commit}, from which Flow rebuilds it, or " if given.commit else ""
    return Unknown(
        "The approved source is not kept on this machine.", f"To see it, {rebuilt}look where it was approved."
    )


def _after(space: Workspace, state: State, run: Run) -> Manifest | Unknown:
    now = None if state.seen is None else state.seen.manifest
    if run.review is None:
        if run.state != "active":
            return Unknown(f"{run.id} ended without a review, so its end was not kept.", "Name another run.")
        return now or Unknown("The source was not looked at.", "Ask again with check_source true.")
    if now is not None and now.digest == run.review.source:
        return now
    kept = space.shelf.manifest(space.private, run.review.source)
    seen = f"The source moved since the assignment of {run.id}, and what it was then is not kept."
    return kept or Unknown(seen, "Judge what was kept, or reset the run and show its checks again.")


def _frozen(state: State, paths: Iterable[str]) -> frozenset[str]:
    plan, source = state.document.plan, state.facts.source
    now = frozenset[str]() if source is None else frozenset(source.protected)
    named = () if plan is None else usable(plan.protected or (), [])
    every = frozenset(paths)
    return (now & every) | (matches(named, every) if named else frozenset())


def _beyond(document: Document, paths: Collection[str]) -> frozenset[str]:
    """Give the paths that no target of any feature names."""
    features = () if document.plan is None else document.plan.features
    return frozenset(paths) - targeted(document, {feature.id for feature in features}, paths)


@contextmanager
def _reading(space: Workspace) -> Iterator[Reader]:
    """Lend a reader by digest: from the store, else from the workspace while the bytes there are still those."""
    with Objects(space.private) as objects, Descent(space.root) as tree:

        def read(entry: SourceEntry) -> bytes | None:
            kept = objects.read(entry.stored, bytes_max=READ_BYTES_MAX)
            data = _present(tree, entry) if kept is None else kept
            return data.removeprefix(LINK_PREFIX) if data is not None and entry.kind == "link" else data

        yield read


def _present(tree: Descent, entry: SourceEntry) -> bytes | None:
    """Read a path of the workspace; None where it is not what the entry says."""
    folder_path, name = split(raw_path(entry.path))
    try:
        folder = tree.folder(folder_path)
        if folder is None:
            return None
        data = _target(name, folder) if entry.kind == "link" else _file(name, folder)
    except OSError:
        return None
    return data if len(data) <= READ_BYTES_MAX and digest_bytes(data) == entry.stored else None


def _target(name: bytes, folder: int) -> bytes:
    return LINK_PREFIX + os.readlink(name, dir_fd=folder)


def _file(name: bytes, folder: int) -> bytes:
    with os.fdopen(open_file(name, folder), "rb") as file:
        return file.read(READ_BYTES_MAX + 1)
