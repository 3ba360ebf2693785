"""The folders that copies are laid out in: lent, cleared, and one kept as a spare for the next check.

A large copy is not thrown away after a check that ended: the next one takes over the files that it has in common with
it (``settling``). Making many files just after many were removed is slow on some file systems.
"""

import hashlib
import re
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from flow_mcp.workspace.folders import PRIVATE_MODE, remove_tree
from flow_mcp.workspace.paths import Inaccessible, told
from flow_mcp.workspace.root import worktree_id
from flow_mcp.workspace.workplaces import is_copy, workplace, workplaces

OLD_S = 2 * 24 * 3600.0
"""No check takes so long: at most three executions of four hours."""

_SPARE = "spare"
_PREFIX_DIGITS = 12
_NAME_BYTES = 6
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


@dataclass(frozen=True, slots=True)
class Room:
    """Where a copy is laid out.

    Attributes:
        folder: an empty folder with the workspace's name, alone in a folder of its own: what a command writes beside
            its copy goes with it.
        used: an earlier copy to take files from, or None.
    """

    folder: Path
    used: Path | None


@contextmanager
def disposable(private: Path) -> Iterator[Room]:
    """Lend a folder for a copy, and remove it afterwards, whatever a command left in it.

    Raises:
        Strangers: where something that is not Flow's lies where copies would.
        PlantedLink: where a link stands in place of a private folder.
        Inaccessible: where it cannot be made.
    """
    root = private.parent
    place, prefix = workplace(root), _prefix(private)
    _sweep(place, root)
    outer = place / f"{prefix}{secrets.token_hex(_NAME_BYTES)}"
    used = _taken(place / f"{prefix}{_SPARE}", place / f"{prefix}{secrets.token_hex(_NAME_BYTES)}", root)
    folder = outer / _name(root)
    with told(outer):
        outer.mkdir(mode=PRIVATE_MODE)
        folder.mkdir(mode=PRIVATE_MODE)
    try:
        yield Room(folder, used)
    finally:
        # What cannot be removed, because something still writes into it, stays for the next clearing.
        for each in (outer, *((used.parent,) if used is not None else ())):
            _remove(each)


def _name(root: Path) -> str:
    """Call a copy as its workspace is called: some tools go by the folder's name."""
    return root.name if _PLAIN.fullmatch(root.name) else "copy"


def _taken(spare: Path, place: Path, root: Path) -> Path | None:
    """Give a spare a new name, where there is one and nothing else stands in its place."""
    with suppress(OSError):
        if stat.S_ISDIR(spare.lstat().st_mode):
            spare.rename(place)
            return place / _name(root)
        spare.unlink()
    return None


def _sweep(place: Path, root: Path) -> None:
    """Remove the files above the copies: tools look for their configuration there. No folder is ever removed."""
    shared = () if place.is_relative_to(root) else _listed(place.parent)
    for path in (*shared, *_listed(place)):
        with suppress(OSError):
            if not stat.S_ISDIR(path.lstat().st_mode):
                _remove(path)


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _remove(path: Path) -> None:
    # Another process may be removing it too, and what cannot be removed must hold up nobody.
    with suppress(Inaccessible):
        remove_tree(path)


def spare(private: Path, folder: Path) -> None:
    """Keep a lent folder as the spare, whose check has ended and left nothing running.

    Raises:
        Inaccessible: where it cannot be renamed.
    """
    outer = folder.parent
    place = outer.with_name(f"{_prefix(private)}{_SPARE}")
    remove_tree(place)
    with told(outer):
        outer.rename(place)


def clear_disposed(private: Path, *, spared: bool) -> tuple[Path, ...]:
    """Remove the copies that a killed runner left. Whoever calls knows that no check runs in this workspace.

    Another workspace's go too once no check can be in them any more: it may be gone itself.

    Args:
        private: the machine-private folder.
        spared: whether the spare stays.

    Returns:
        This workspace's that could not be removed.

    Raises:
        PlantedLink: where a link stands in place of a private folder.
    """
    old_s = time.time() - OLD_S
    kept = f"{_prefix(private)}{_SPARE}"
    for folder in disposed(private):
        if not (spared and folder.name == kept):
            _remove(folder)
    for place in workplaces(private.parent):
        for folder in _listed(place):
            with suppress(FileNotFoundError):
                if is_copy(folder.name) and folder.lstat().st_mtime < old_s:
                    _remove(folder)
    return tuple(folder for folder in disposed(private) if folder.name != kept)


def disposed(private: Path) -> list[Path]:
    """Name the copies of a workspace that are there, the spare among them."""
    places = workplaces(private.parent)
    return [folder for place in places for folder in sorted(place.glob(f"{_prefix(private)}*"))]


def own_mark(private: Path) -> str:
    """Name a workspace on this machine; one that was copied with all of its private folder is another."""
    name = worktree_id(private)
    with told(private):
        found = private.stat()
    whole = f"{name} {found.st_dev} {found.st_ino}"
    return hashlib.sha256(whole.encode()).hexdigest()[:_PREFIX_DIGITS]


def _prefix(private: Path) -> str:
    """Begin a copy's name so that each workspace knows its own; a short one, since a socket's path may not be long."""
    return f"{own_mark(private)}."
