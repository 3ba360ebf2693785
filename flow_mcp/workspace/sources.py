"""Kept sources: the manifest of each by the source's digest, and its bytes in the content store.

A kept source is ``.flow/sources/<hex>.json`` and the objects that it names. The manifest is written last, so that a
source is kept whole or not at all; its objects are checked whenever a copy is made, not when it is found.
Pipes, sockets and devices of the source are not kept.
"""

import errno
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.folders import PlantedLink, private_folder, read_private, remove_tree
from flow_mcp.workspace.git import GITLINK, LINK, Blobs, Repository, is_executable, open_repository
from flow_mcp.workspace.keeping import adding
from flow_mcp.workspace.listing import FILES_MAX
from flow_mcp.workspace.objects import Objects
from flow_mcp.workspace.paths import PATH_BYTES_MAX, Descent, open_file, printable, raw_path, split, told
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.source import (
    LINK_PREFIX,
    VERSION,
    Kind,
    Manifest,
    SourceEntry,
    Unstable,
    kept_paths,
    normalised_entries,
    seal,
)
from flow_mcp.workspace.tree import Committed, tree_of
from flow_mcp.workspace.writer import replace_file

FOLDER = "sources"
MANIFEST_BYTES_MAX = 512 * 1024 * 1024

_ENDING = ".json"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_RENEWED_AFTER_S = 600.0
# What opening a file and reading a link say of a path that became something else.
_MOVED = frozenset((errno.ENOENT, errno.ELOOP, errno.ENXIO, errno.EINVAL))


class Damaged(BrokenWorld):
    """A kept source is missing, or is not what it was."""

    def __init__(self, digest: str, what: str) -> None:
        seen = f"The private copy of the source {digest[:80]!r} {what}."
        super().__init__(seen, "Ask for the same again: Flow rebuilds it where it can, and says what to do where not.")
        self.digest = digest


_Digest = Annotated[str, Field(pattern=r"^(?:sha256:[0-9a-f]{64})?$")]


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    version: Literal["ws-fp/4"]
    digest: str
    entries: tuple[tuple[str, Kind, bool, _Digest, _Digest], ...]


def store_copy(root: Path, manifest: Manifest, private: Path) -> None:
    """Keep the manifest's files; a source that is kept already stands, and counts as kept just now.

    Of two sources that differ in normalised line endings alone the later one's bytes are what copies get from then on.

    Raises:
        Unstable: where a file is no longer what the manifest says.
        Inaccessible: where something cannot be read or written.
        PlantedLink: where a link stands in place of a private folder.
    """
    with adding(private):
        if _is_kept(manifest, private):
            _renew(private_folder(private, FOLDER) / _name(manifest.digest))
            return
        with Objects(private) as objects, told(root), Descent(root) as origin:
            for entry in manifest.entries:
                if entry.kind in ("file", "link") and not objects.has(entry.stored):
                    _keep(entry, origin, objects)
            _place(manifest, private)


def _is_kept(manifest: Manifest, private: Path) -> bool:
    """Tell whether a source is kept with the very bytes of this manifest."""
    try:
        kept = load_manifest(private, manifest.digest)
    except Damaged:
        return False
    return [entry.raw for entry in kept.entries] == [entry.raw for entry in manifest.entries]


def has_copy(private: Path, digest: str) -> bool:
    """Tell whether a source with this digest is kept and its manifest is whole.

    Raises:
        Inaccessible: where it cannot be read.
    """
    try:
        load_manifest(private, digest)
    except Damaged:
        return False
    return True


def load_manifest(private: Path, digest: str) -> Manifest:
    """Read the manifest of a kept source.

    Raises:
        Damaged: where there is none, or it does not have this digest.
        Inaccessible: where it cannot be read.
    """
    path = manifest_path(private, digest)
    if path is None:
        raise Damaged(digest, "is not here")
    try:
        data = read_private(path, bytes_max=MANIFEST_BYTES_MAX)
        if data is None:
            raise Damaged(digest, "is not here")
        stored = _Stored.model_validate_json(data)
        manifest = seal(_entry(*each) for each in stored.entries)
    except (ValueError, PlantedLink) as error:
        raise Damaged(digest, "has a manifest that cannot be read") from error
    if manifest.digest != digest:
        raise Damaged(digest, "has another source's manifest")
    return manifest


def manifest_path(private: Path, digest: str) -> Path | None:
    """Name the file of a kept source's manifest; None for what is no digest, or below a planted link."""
    found, folder = _DIGEST.fullmatch(digest), private / FOLDER
    if found is None or private.is_symlink() or folder.is_symlink():
        return None
    return folder / _name(digest)


def _name(digest: str) -> str:
    return f"{digest.removeprefix('sha256:')}{_ENDING}"


def _entry(path: str, kind: Kind, executable: bool, digest: str, raw: str) -> SourceEntry:  # noqa: FBT001 - as stored
    if (not digest and kind in ("file", "link")) or (raw and kind != "file"):
        message = f"{path!r} is stored without its digest, or with one too many"
        raise ValueError(message)
    return SourceEntry(path, kind, executable, digest, raw)


def _renew(path: Path) -> None:
    """Date a manifest anew, so that a pruner who does not know yet what names it takes it for young."""
    with told(path):
        if path.lstat().st_mtime < time.time() - _RENEWED_AFTER_S:
            os.utime(path, follow_symlinks=False)


def discard_copy(private: Path, digest: str) -> None:
    """Take away the manifest of a source that is damaged, so that it is kept anew.

    Raises:
        Inaccessible: where it cannot be removed.
    """
    path = manifest_path(private, digest)
    if path is not None and path.parent.is_dir():
        remove_tree(path)


def discard_broken(private: Path, digests: Iterable[str]) -> None:
    """Take away the manifest of each kept source that does not hold or that names an object which is not whole.

    Raises:
        Inaccessible: where something cannot be read or removed.
    """
    for digest in digests:
        try:
            manifest = load_manifest(private, digest)
        except Damaged:
            discard_copy(private, digest)
            continue
        with Objects(private) as objects:
            named = {entry.stored for entry in manifest.entries if entry.kind in ("file", "link")}
            whole = all(objects.is_whole(one) for one in named)
        if not whole:
            discard_copy(private, digest)


def rebuild_from_commit(  # noqa: PLR0913, PLR0917 - the facts of an approval, each of its own kind
    root: Path, commit: str, digest: str, private: Path, records: Records, artifacts: Sequence[str]
) -> bool:
    """Keep a source anew from git's objects; only if it has the digest.

    Raises:
        GitTrouble: where git does not end or floods.
        Inaccessible: where something cannot be written.
    """
    repository = open_repository(root)
    if has_copy(private, digest) or repository is None or _COMMIT.fullmatch(commit) is None:
        return has_copy(private, digest)
    tree = tree_of(repository, commit)
    kept = frozenset[str]() if tree is None else kept_paths(tree, records, artifacts)
    if tree is None or len(kept) > FILES_MAX:
        return False
    with adding(private), Objects(private) as objects:
        entries = _extracted([item for path, item in tree.items() if path in kept], objects)
        manifest = None if entries is None else seal(normalised_entries(entries, _reader(objects)))
        if manifest is None or manifest.digest != digest:
            return False
        _place(manifest, private)
    return True


def changed_paths(old: Manifest, new: Manifest) -> tuple[str, ...]:
    """Give the paths whose kind, bytes or executable bit differ, those that came and those that went, in order."""
    before, after = old.present(), new.present()
    return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))


def _keep(entry: SourceEntry, origin: Descent, objects: Objects) -> None:
    folder_path, name = split(raw_path(entry.path))
    folder = origin.folder(folder_path)
    if folder is None:
        raise Unstable(entry.path)
    try:
        kept = _kept_link(name, folder, objects) if entry.kind == "link" else _kept_file(name, folder, objects)
    except OSError as error:
        if error.errno not in _MOVED:
            raise
        raise Unstable(entry.path) from error
    if kept != entry.stored:
        raise Unstable(entry.path)


def _kept_link(name: bytes, folder: int, objects: Objects) -> str:
    return objects.keep_bytes(LINK_PREFIX + os.readlink(name, dir_fd=folder))


def _kept_file(name: bytes, folder: int, objects: Objects) -> str | None:
    descriptor = open_file(name, folder)
    try:
        return objects.keep(descriptor) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    finally:
        os.close(descriptor)


def _place(manifest: Manifest, private: Path) -> None:
    """Write the manifest, after everything that it names."""
    entries = tuple((entry.path, entry.kind, entry.executable, entry.digest, entry.raw) for entry in manifest.entries)
    stored = _Stored(version=VERSION, digest=manifest.digest, entries=entries)
    replace_file(private_folder(private, FOLDER), _name(manifest.digest), stored.model_dump_json().encode())


def _extracted(items: Sequence[Committed], objects: Objects) -> list[SourceEntry] | None:
    """Keep a commit's files and links, and describe them; None where an object is missing or of a strange kind."""
    by_home: dict[Repository, list[Committed]] = {}
    entries: list[SourceEntry] = []
    for item in items:
        if item.mode == GITLINK:
            kind: Kind = "nested" if item.boundary else "dir"
            entries.append(SourceEntry(printable(item.raw), kind, executable=False, digest=""))
        else:
            by_home.setdefault(item.home, []).append(item)
    for home, group in by_home.items():
        kept = _from_home(home, group, objects)
        if kept is None:
            return None
        entries.extend(kept)
    return entries


def _from_home(home: Repository, items: Sequence[Committed], objects: Objects) -> list[SourceEntry] | None:
    entries: list[SourceEntry] = []
    with home.blobs([item.object_id for item in items]) as blobs:
        for item in items:
            digest = _link_from(blobs, objects) if item.mode == LINK else objects.keep_fed(_whole(blobs))
            if digest is None:
                return None
            kind: Kind = "link" if item.mode == LINK else "file"
            executable = kind == "file" and is_executable(item.mode)
            entries.append(SourceEntry(printable(item.raw), kind, executable=executable, digest=digest))
    return entries


def _reader(objects: Objects) -> Callable[[SourceEntry], Iterable[bytes]]:
    return lambda entry: objects.pieces(entry.digest)


def _whole(blobs: Blobs) -> Callable[[Callable[[bytes], None]], bool]:
    return lambda take: blobs.copy_next(take, bytes_max=sys.maxsize)


def _link_from(blobs: Blobs, objects: Objects) -> str | None:
    pieces: list[bytes] = []
    whole = blobs.copy_next(pieces.append, bytes_max=PATH_BYTES_MAX)
    target = b"".join(pieces)
    if not whole or not target or b"\0" in target:
        return None
    return objects.keep_bytes(LINK_PREFIX + target)
