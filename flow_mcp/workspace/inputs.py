"""Folders that commands may read though the digest leaves them out: lent to a copy, copied where small, else shared.

A copied input is thrown away with the copy. A shared one is a link: what a command writes there stays, and the
observation says so. Environments of packages are shared, since commands seldom write there; so is a folder that leads
back into the workspace, whose absolute paths would go there all the same. Nothing is lent through a link that the
source itself holds.
"""

import os
import shutil
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from flow_mcp.workspace.folders import remove_tree
from flow_mcp.workspace.paths import Descent, exists, split, told
from flow_mcp.workspace.pointing import pointing, within

LOOKED_AT_MAX = 300_000
COPIED_FILES_MAX = 5_000
COPIED_BYTES_MAX = 256 * 1024 * 1024
MATCHES_MAX = 200
FOLDERS_MAX = 5_000

_FINDER = "__editable__"
_PACKAGES = "node_modules"
_ENVIRONMENTS = frozenset((_PACKAGES, "pyvenv.cfg"))
_PRIVATE = frozenset((".git", ".flow"))
_ANY_DEPTH = "**"


@dataclass(frozen=True, slots=True)
class Lent:
    """What a copy was lent.

    Attributes:
        names: the inputs that exist, relative to the workspace.
        shared: those of them that are links into the workspace.
        builds: whether one of them is no environment of packages, so that a command may go by the times of its files.
        foreign: whether such a one is shared, so that what is in it may have been built from other source.
        leads_back: whether one of them names the workspace outside of itself (an editable install, a linked package,
            a configured build), so that a copy elsewhere would run today's source through it.
    """

    names: tuple[str, ...]
    shared: tuple[str, ...]
    builds: bool
    foreign: bool
    leads_back: bool


def lend_inputs(root: Path, inputs: Sequence[str], target: Path, *, is_current: bool) -> Lent:
    """Lend each input that exists to a copy that no command runs in yet.

    To a copy of another source than today's only environments of packages are shared. What else cannot be copied is
    left out: what is built there from that source would be taken for today's.

    Raises:
        Inaccessible: where a link or a copy cannot be made.
        TooDeep: for an input below more than 128 folders.
    """
    names: list[str] = []
    shared: list[str] = []
    builds = foreign = leads_back = False
    with told(target), Descent(target) as tree:
        for name in dict.fromkeys(found for glob in inputs for found in named_by(root, glob)):
            if not _is_free(tree, os.fsencode(name)):
                continue
            origin, (folder_path, last) = root / name, split(os.fsencode(name))
            own, packages = _leads_back(origin, root), _is_environment(origin)
            folder = tree.made(folder_path)
            if own or not _is_copyable(origin, root) or not _is_copied(origin, target / name):
                if not (is_current or packages):
                    continue
                os.symlink(os.fsencode(origin), last, dir_fd=folder)
                shared.append(name)
                foreign = foreign or not packages
            names.append(name)
            builds, leads_back = builds or not packages, leads_back or own
    return Lent(tuple(names), tuple(shared), builds, foreign, leads_back)


def _is_free(tree: Descent, raw: bytes) -> bool:
    """Tell whether a path of the copy is free, and nothing but folders leads there."""
    parts = raw.split(b"/")
    for depth, part in enumerate(parts):
        folder = tree.folder(b"/".join(parts[:depth]))
        if folder is None:
            return False
        if not exists(part, folder):
            return True
    return False


def _is_environment(folder: Path) -> bool:
    return folder.name == _PACKAGES or any((folder / name).exists() for name in _ENVIRONMENTS)


def _is_copied(origin: Path, place: Path) -> bool:
    """Copy a folder or a file; False, and nothing there, where something cannot be read, goes, or lies too deep."""
    try:
        if origin.is_file():
            shutil.copy2(origin, place)
            return True
        shutil.copytree(origin, place, symlinks=True, ignore=_special)
    except (OSError, RecursionError):
        remove_tree(place)
        return False
    return True


def named_by(root: Path, glob: str) -> list[str]:
    """Give the folders and files that an input names, 200 at most; ``*`` is any part of a name, ``**`` any folders.

    Only the last part may be a link. Nothing of git's or of Flow's own is named.
    """
    found, parts = [""], [part for part in glob.split("/") if part not in ("", ".")]
    if ".." in parts:
        return []
    for part in parts:
        below = (name for base in found if _is_entered(root, base) for name in _step(root, base, part))
        found = list(dict.fromkeys(islice(below, FOLDERS_MAX)))
    return [name for name in found if name and _PRIVATE.isdisjoint(name.lower().split("/"))][:MATCHES_MAX]


def _is_entered(root: Path, base: str) -> bool:
    return base == "" or not (root / base).is_symlink()


def _step(root: Path, base: str, part: str) -> Iterator[str]:
    """Give the folders that one part of an input leads to from a folder."""
    if part == _ANY_DEPTH:
        yield from _below(root, base)
    elif "*" in part or "?" in part:
        yield from (_joined(base, name) for name in _folders(root / base) if fnmatchcase(name, part))
    elif os.path.isdir(root / base / part) or os.path.isfile(root / base / part):  # noqa: PTH112, PTH113 - Path's raise where a folder is closed
        yield _joined(base, part)


def _below(root: Path, base: str) -> Iterator[str]:
    """Give the folders below one, those near it first."""
    waiting, given = deque([base]), 0
    while waiting and given < FOLDERS_MAX:
        here = waiting.popleft()
        given += 1
        yield here
        inside = _folders(root / here)
        waiting.extend(_joined(here, name) for name in inside if name != _PACKAGES and name not in _PRIVATE)


def _folders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _joined(base: str, name: str) -> str:
    return f"{base}/{name}" if base else name


def _is_copyable(folder: Path, root: Path) -> bool:
    """Say whether a folder is copied: no environment of packages, no larger than that costs, and apart by itself."""
    if folder.is_symlink() or folder.name == _PACKAGES:
        return False
    if folder.is_file():
        return folder.stat().st_size <= COPIED_BYTES_MAX
    size = 0
    for files, entry in enumerate(_walk(folder)):
        if files >= COPIED_FILES_MAX or entry.name in _ENVIRONMENTS:
            return False
        try:
            size += entry.stat(follow_symlinks=False).st_size
            # Through an absolute link of the copy a command would write into the workspace.
            absolute = entry.is_symlink() and Path(entry.path).readlink().is_absolute()
        except OSError:
            return False
        if size > COPIED_BYTES_MAX or (absolute and within(os.path.realpath(entry.path), os.path.realpath(root))):
            return False
    return True


def _special(folder: str, names: list[str]) -> list[str]:
    """Name pipes, sockets and devices, which no copy holds."""
    paths = ((name, Path(folder, name)) for name in names)
    return [name for name, path in paths if not (path.is_symlink() or path.is_file() or path.is_dir())]


def _leads_back(folder: Path, root: Path) -> bool:
    """Say whether an input is, or holds, a link or a pointer file that names the workspace outside of itself."""
    look = pointing(root, folder)
    if folder.is_symlink() and within(look.own, os.path.realpath(root)):
        return True
    for looked_at, entry in enumerate(_walk(folder)):
        if looked_at >= LOOKED_AT_MAX or entry.name.startswith(_FINDER):
            return True  # too much to look through counts as leading back: nothing would show that it does not
        if (entry.is_symlink() and look.of_link(entry.path)) or look.of_file(entry.name, entry.path):
            return True
    return False


def _walk(folder: Path) -> Iterator["os.DirEntry[str]"]:
    waiting = [str(folder)]
    while waiting:
        try:
            entries = sorted(os.scandir(waiting.pop()), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
