"""Disposable copies of kept sources, for a command to run in, and what the command left behind there.

A copy is laid out from the content store and from nothing else, each file's bytes checked against the digest while
they are written: whatever happens to the workspace meanwhile, the command runs on exactly the source that its
observation names. Files are written anew and never hard links, through which a command could write into the store.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from flow_mcp.workspace.ignore import ignores
from flow_mcp.workspace.keeping import adding
from flow_mcp.workspace.line_endings import plain_form
from flow_mcp.workspace.listing import check_path
from flow_mcp.workspace.objects import Objects, digest_of
from flow_mcp.workspace.paths import Descent, open_file, printable, raw_path, split, told
from flow_mcp.workspace.settling import FILE_MODES, folders_above, salvaged
from flow_mcp.workspace.source import LINK_PREFIX, Manifest, SourceEntry, seal
from flow_mcp.workspace.sources import Damaged
from flow_mcp.workspace.writer import CREATE_FLAGS, write_all

LEFT_MAX = 20
LOOKED_AT_MAX = 2_000
"""So many new names are asked of the ignore rules; what a command leaves beyond them is counted."""

_CHUNK_BYTES = 1024 * 1024
_LINK_BYTES_MAX = 64 * 1024
_OWN = frozenset((b".flow", b".git"))

# Inode, mode, size, and the times of the last write and the last change: what every write moves.
Mark = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Copy:
    """A source laid out in a folder.

    Attributes:
        folder: where.
        marks: how each file and link was left there, by raw path.
        folders: raw paths of the source's empty folders and nested repositories.
        names_workspace: whether a link of the source leads into the workspace by an absolute path.
    """

    folder: Path
    marks: Mapping[bytes, Mark]
    folders: frozenset[bytes]
    names_workspace: bool


@dataclass(frozen=True, slots=True)
class Left:
    """What a command changed in its copy, beside what the ignore rules leave out.

    Attributes:
        paths: ``changed``, ``removed`` or ``added`` and the path, at most 20; a new folder ends in a slash.
        more: how many are not named.
    """

    paths: tuple[str, ...]
    more: int


def merged(base: Manifest, other: Manifest, names: Iterable[str]) -> Manifest:
    """Give a source with some of its paths as another one has them; a path that the other lacks is left out."""
    taken = frozenset(names)
    kept = [entry for entry in base.entries if entry.path not in taken]
    return seal([*kept, *(entry for entry in other.entries if entry.path in taken)])


def lay_out(private: Path, digest: str, manifest: Manifest, target: Path, *, used: Path | None = None) -> Copy:
    """Write a manifest's files and links into an empty folder. Every file is as new as the copy.

    Args:
        private: the machine-private folder.
        digest: of the kept source that is to blame where an object is missing or damaged.
        manifest: what to write.
        target: the folder.
        used: an earlier copy, whose files are moved here where they are the same.

    Raises:
        Damaged: where an object is missing, or its bytes are not what its name says. Every such object of the manifest
            is taken away then, so that it is kept anew.
        Inaccessible: where something cannot be read or written.
        Forged: for a path that leaves the folder.
    """
    marks: dict[bytes, Mark] = {}
    folders: set[bytes] = set()
    back = False
    tops = {os.fsencode(private.parent), os.fsencode(os.path.realpath(private.parent))}
    with adding(private), told(target), Objects(private) as objects, Descent(target) as tree:
        site = _Site(objects, tree)
        moved = frozenset[bytes]() if used is None else salvaged(used, tree, manifest)
        for entry in manifest.entries:
            raw = raw_path(entry.path)
            check_path(raw)
            if entry.kind in ("dir", "nested"):
                tree.made(raw)
                folders.add(raw)
            elif entry.kind in ("file", "link"):
                mark = site.laid(entry, raw, is_there=raw in moved)
                if mark is None:
                    _discard_damaged(objects, manifest)
                    raise Damaged(digest, f"is damaged at {entry.path!r}")
                marks[raw] = mark
                back = back or (entry.kind == "link" and site.names_one_of(tops, raw))
    return Copy(target, marks, frozenset(folders), back)


@dataclass(frozen=True, slots=True)
class _Site:
    """What a copy is made of: the store, and the folder."""

    objects: Objects
    tree: Descent

    def laid(self, entry: SourceEntry, raw: bytes, *, is_there: bool) -> Mark | None:
        """Write a file or a link that is not there yet; None where its object is missing or damaged."""
        folder_path, name = split(raw)
        folder = self.tree.made(folder_path)
        if is_there:
            os.utime(name, dir_fd=folder, follow_symlinks=False)
        elif not (self._link(entry, folder, name) if entry.kind == "link" else self._file(entry, folder, name)):
            return None
        return _mark(name, folder)

    def names_one_of(self, tops: AbstractSet[bytes], raw: bytes) -> bool:
        """Say whether a link that was laid out names one of these folders, or what lies in it, by an absolute path."""
        folder_path, name = split(raw)
        target = os.readlink(name, dir_fd=self.tree.made(folder_path))
        return any(target == top or target.startswith(top + b"/") for top in tops)

    def _link(self, entry: SourceEntry, folder: int, name: bytes) -> bool:
        data = self.objects.read(entry.stored, bytes_max=_LINK_BYTES_MAX)
        if data is None or not data.startswith(LINK_PREFIX):
            return False
        os.symlink(data.removeprefix(LINK_PREFIX), name, dir_fd=folder)
        return True

    def _file(self, entry: SourceEntry, folder: int, name: bytes) -> bool:
        source = self.objects.open(entry.stored)
        if source is None:
            return False
        mode = FILE_MODES[entry.executable]
        try:
            target = os.open(name, CREATE_FLAGS, mode, dir_fd=folder)
            try:
                os.fchmod(target, mode)
                return _is_copied(source, target, entry)
            finally:
                os.close(target)
        finally:
            os.close(source)


def lend_times(copy: Copy, manifest: Manifest, origin: Path) -> Copy:
    """Give files the time of the workspace's, so that a build that goes by times does as much work as it would there.

    To be called after builds were lent. Only a file that holds the same bytes there lends its time, and only if it is
    not touched meanwhile: with another one's time, what was built from that one would be taken for up to date.

    Raises:
        Inaccessible: where something cannot be read or written.
    """
    marks = dict(copy.marks)
    with told(copy.folder), Descent(origin) as source, Descent(copy.folder) as tree:
        for entry in manifest.entries:
            raw = raw_path(entry.path)
            folder_path, name = split(raw)
            here = source.folder(folder_path) if entry.kind == "file" else None
            there = None if here is None else tree.folder(folder_path)
            found = None if here is None or there is None else _time_of(entry, name, here)
            if found is not None and there is not None:
                os.utime(name, ns=(found, found), dir_fd=there, follow_symlinks=False)
                marks[raw] = _mark(name, there) or marks[raw]
    return replace(copy, marks=marks)


def _time_of(entry: SourceEntry, name: bytes, folder: int) -> int | None:
    """Give the time of the last write of a workspace's file that holds an entry's bytes; None for any other."""
    try:
        descriptor = open_file(name, folder)
    except OSError:
        return None
    try:
        before = os.fstat(descriptor)
        same = stat.S_ISREG(before.st_mode) and digest_of(descriptor) == entry.stored
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    unmoved = (before.st_mtime_ns, before.st_ctime_ns) == (after.st_mtime_ns, after.st_ctime_ns)
    return after.st_mtime_ns if same and unmoved else None


def _is_copied(source: int, target: int, entry: SourceEntry) -> bool:
    """Copy a file, and say whether its bytes are the entry's, as they lie there and with plain line feeds."""
    total = hashlib.sha256()
    pieces = _written(source, target, total)
    same = plain_form(pieces, 0, None).digest == entry.digest if entry.raw else all(True for _ in pieces)
    return same and f"sha256:{total.hexdigest()}" == entry.stored


def _written(source: int, target: int, total: "hashlib._Hash") -> Iterator[bytes]:
    while chunk := os.read(source, _CHUNK_BYTES):
        total.update(chunk)
        write_all(target, chunk)
        yield chunk


def _discard_damaged(objects: Objects, manifest: Manifest) -> None:
    # All at once: after a power cut there can be many, and each would cost a check of its own.
    for digest in {entry.stored for entry in manifest.entries if entry.kind in ("file", "link")}:
        if not objects.is_whole(digest):
            objects.discard(digest)


def _stat(name: bytes, folder: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _mark(name: bytes, folder: int | None) -> Mark | None:
    found = None if folder is None else _stat(name, folder)
    if found is None:
        return None
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def left_behind(copy: Copy, inputs: Iterable[str]) -> Left:
    """Name what a command changed, removed and added in its copy, beside inputs and what the ignore rules leave out.

    Raises:
        Inaccessible: where the copy cannot be read.
    """
    lent = {os.fsencode(name.strip("/")) for name in inputs}
    known = {prefix for raw in (*copy.marks, *lent, *copy.folders) for prefix in folders_above(raw)} | copy.folders
    found: list[str] = []
    with told(copy.folder), Descent(copy.folder) as tree:
        for raw, mark in copy.marks.items():
            folder_path, name = split(raw)
            now = _mark(name, tree.folder(folder_path))
            if now != mark:
                found.append(f"{'removed' if now is None else 'changed'} {printable(raw)}")
        new = _new_names(tree, known, copy.marks.keys() | known | lent)
        fresh = sorted(islice(new, LOOKED_AT_MAX))
        more = sum(1 for _ in new)
        kept = [(raw, is_folder) for raw, is_folder in fresh if not ignores(tree, raw, is_folder=is_folder)]
    found += [f"added {printable(raw)}{'/' if is_folder else ''}" for raw, is_folder in kept]
    return Left(tuple(found[:LEFT_MAX]), max(0, len(found) - LEFT_MAX) + more)


def _new_names(tree: Descent, known: AbstractSet[bytes], spared: AbstractSet[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Give each other name in a folder that is known, and whether it is a folder."""
    for base in sorted({b"", *known}):
        folder = tree.folder(base)
        if folder is None:
            continue
        with os.scandir(folder) as entries:
            for entry in entries:
                name = os.fsencode(entry.name)
                raw = base + b"/" + name if base else name
                if raw not in spared and not (base == b"" and name in _OWN):
                    yield raw, entry.is_dir(follow_symlinks=False)
