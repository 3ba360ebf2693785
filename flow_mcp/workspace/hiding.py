"""What a plan's artifacts, inputs and targets would leave out of the source (row plan.artifacts-narrow)."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from flow_mcp.domain.decision import HiddenPath
from flow_mcp.workspace.ignore import ignores
from flow_mcp.workspace.listing import Listed
from flow_mcp.workspace.overlap import fixed_part, is_literal, overlap, within
from flow_mcp.workspace.paths import Descent, told
from flow_mcp.workspace.patterns import matches

HIDDEN_PER_GLOB_MAX = 10

_STEERING = (
    *(".gitignore", ".gitattributes", "conftest.py", "pytest.ini", "tox.ini", "setup.cfg", "sitecustomize.py"),
    *(
        "jest.config.js",
        "jest.config.ts",
        "vitest.config.js",
        "vitest.config.ts",
        ".mocharc.json",
        "phpunit.xml",
        ".rspec",
    ),
)
_PRIVATE = (".git", ".flow")


@dataclass(frozen=True, slots=True)
class Globs:
    """What a plan says of the source; ``targets`` are those of all its features."""

    protected: tuple[str, ...]
    targets: tuple[str, ...]
    inputs: tuple[str, ...]
    artifacts: tuple[str, ...]


def hidden_in(
    listing: Mapping[str, Listed], protected: Collection[str], globs: Globs, *, every_file_counts: bool
) -> tuple[HiddenPath, ...]:
    """Name what the globs would hide of a listing, some of it protected: all that follows from the names alone.

    For each glob ten paths a reason at most. An artifact takes files out of the digest, so it may not share any
    possible path with a target. An input only lends ignored folders to a command, and those often lie inside a
    target's folder: there a target must not lie inside the input. ``every_file_counts`` is for a workspace without
    git, where no file is known to be tracked: there what an artifact names is refused at approval and may come later.

    Raises:
        ValueError: for a glob that is refused.
    """
    tracked = [path for path, listed in listing.items() if listed.tracked or every_file_counts]
    known = "without git every file that is not ignored is source" if every_file_counts else "it is tracked"
    found: list[HiddenPath] = []
    for own in (globs.artifacts, globs.inputs):
        found.extend(_taken(own, tracked, known, present=not every_file_counts))
        found.extend(_taken(own, protected, "it is a protected file", present=True))
    for target in globs.targets:
        is_file = target in listing
        meeting = [glob for glob in globs.artifacts if overlap(glob, target, target_is_file=is_file)]
        found.extend(HiddenPath(glob, target, "it overlaps this target", present=False) for glob in meeting)
        outer = [glob for glob in globs.inputs if within(target, glob)]
        found.extend(HiddenPath(glob, target, "this target lies in it", present=False) for glob in outer)
    found.extend(_steering(globs, protected))
    return tuple(found)


def hidden_by_rules(root: Path, listing: Mapping[str, Listed], globs: Globs, plans: str) -> tuple[HiddenPath, ...]:
    """Name inputs and targets on which the ignore rules, as they are now, say the wrong thing.

    Args:
        root: the workspace.
        listing: what is source in it.
        globs: what the plan says of it.
        plans: the plans folder, which is private as Flow's and git's own folders are.

    Raises:
        Inaccessible: where an ignore file's folder cannot be read.
    """
    private = (*_PRIVATE, plans)
    return (*_unignored(root, globs.inputs, listing, private), *_ignored(root, globs.targets, listing))


def _taken(globs: Sequence[str], paths: Iterable[str], why: str, *, present: bool) -> Iterator[HiddenPath]:
    taken = matches(globs, paths) if globs else frozenset[str]()
    for glob in globs if taken else ():
        for path in islice(sorted(matches((glob,), taken)), HIDDEN_PER_GLOB_MAX):
            yield HiddenPath(glob, path, why, present)


def _steering(globs: Globs, protected: Iterable[str]) -> Iterator[HiddenPath]:
    """Name artifacts that would hide a file which steers the tests or Flow, should one come where source is."""
    folders = {path.rpartition("/")[0] for path in protected} | {""}
    names = [f"{folder}/{name}".removeprefix("/") for folder in sorted(folders) for name in _STEERING]
    why = "a file of this name would steer the tests or Flow"
    yield from _taken(globs.artifacts, [*names, "flow.yaml"], why, present=False)


def _unignored(
    root: Path, inputs: Sequence[str], listing: Mapping[str, Listed], private: Sequence[str]
) -> Iterator[HiddenPath]:
    """Name inputs that are no ignored folders: a command on another source would see today's through them."""
    with told(root), Descent(root) as descent:
        for glob in inputs:
            path = "/".join(part for part in fixed_part(glob).split("/") if part not in {"", "."})
            if not path or any(_meet(path, folder) for folder in private):
                yield HiddenPath(glob, path, "it is private", present=False)
            elif path in listing:
                yield HiddenPath(glob, path, "it is source: the ignore rules do not name it", present=False)
            elif not ignores(descent, path.encode(), is_folder=True):
                yield HiddenPath(glob, path, "the ignore rules do not name it", present=False)


def _meet(one: str, other: str) -> bool:
    """Tell whether one path is the other or lies in it."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _ignored(root: Path, targets: Iterable[str], listing: Mapping[str, Listed]) -> Iterator[HiddenPath]:
    with told(root), Descent(root) as descent:
        for target in targets:
            path = fixed_part(target)
            if not path or target.startswith("!") or path in listing:
                continue
            raw = path.encode()
            is_folder = not is_literal(target) or target.endswith("/") or descent.folder(raw) is not None
            if ignores(descent, raw, is_folder=is_folder):
                yield HiddenPath(target, path, "the ignore rules leave it out of the source", present=False)
