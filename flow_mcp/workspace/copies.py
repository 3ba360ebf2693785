"""Private copies of the source by digest, and the disposable trees made from them.

A copy is ``.flow/copies/<hex>/``: ``manifest.json`` and ``tree/`` with the files and links of the digest. It appears
whole or not at all. Its bytes are checked against its manifest whenever a tree is made from it, not when it is found.
Pipes, sockets and devices of the source have no copy.
"""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.folders import (
    PlantedLink,
    fresh_folder,
    private_folder,
    read_private,
    remove_at,
    remove_tree,
)
from flow_mcp.workspace.git import GITLINK, LINK, Blobs, Repository, is_executable, open_repository
from flow_mcp.workspace.listing import FILES_MAX, check_path
from flow_mcp.workspace.paths import PATH_BYTES_MAX, Descent, open_folder, printable, raw_path, split, told
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.source import (
    VERSION,
    Kind,
    Manifest,
    SourceEntry,
    Total,
    Unstable,
    kept_paths,
    link_entry,
    seal,
)
from flow_mcp.workspace.tree import Committed, tree_of
from flow_mcp.workspace.writer import copy_entry, copyable, new_file, new_link, write_all

MANIFEST_BYTES_MAX = 512 * 1024 * 1024

_COPIES = "copies"
_TEMPORARY = "tmp"
_MANIFEST = "manifest.json"
_TREE = "tree"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


class Damaged(BrokenWorld):
    """A private copy is missing, or is not what it was."""

    def __init__(self, digest: str, what: str) -> None:
        seen = f"The private copy of the source {digest[:80]!r} {what}."
        super().__init__(seen, "Ask for the same again: Flow rebuilds it where it can, and says what to do where not.")
        self.digest = digest


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    version: Literal["ws-fp/4"]
    digest: str
    entries: tuple[tuple[str, Kind, bool, str], ...]


def store_copy(root: Path, manifest: Manifest, private: Path) -> None:
    """Keep a private copy of exactly the manifest's files; one that is there already stands.

    Raises:
        Unstable: where a file is no longer what the manifest says.
        Inaccessible: where something cannot be read or written.
        PlantedLink: where a link stands in place of a private folder.
    """
    if has_copy(private, manifest.digest):
        return
    with disposable(private) as folder:
        tree = private_folder(folder, _TREE)
        _reproduce(manifest, root, tree, Unstable)
        _place(folder, manifest, private)


def has_copy(private: Path, digest: str) -> bool:
    """Tell whether a copy with this digest is at hand and its manifest is whole.

    Raises:
        Inaccessible: where it cannot be read.
    """
    try:
        load_manifest(private, digest)
    except Damaged:
        return False
    return True


def load_manifest(private: Path, digest: str) -> Manifest:
    """Read the manifest of a copy.

    Raises:
        Damaged: where there is none, or it does not have this digest.
        Inaccessible: where it cannot be read.
    """
    folder = _copy_folder(private, digest)
    try:
        data = read_private(folder / _MANIFEST, bytes_max=MANIFEST_BYTES_MAX) or b""
        stored = _Stored.model_validate_json(data)
        manifest = seal(SourceEntry(*entry) for entry in stored.entries)
    except (ValueError, PlantedLink) as error:
        raise Damaged(digest, "has a manifest that cannot be read") from error
    if manifest.digest != digest:
        raise Damaged(digest, "has another source's manifest")
    return manifest


def discard_copy(private: Path, digest: str) -> None:
    """Take away a copy that is damaged, so that it is made anew.

    Raises:
        Inaccessible: where it cannot be removed.
    """
    folder = _copy_folder(private, digest)
    if folder is not None:
        remove_tree(folder)


def checkout_copy(private: Path, digest: str, target: Path) -> None:
    """Make a tree of a copy's files and links in an empty or new folder; links stay links.

    Raises:
        Damaged: where the copy is missing, or a file in it is not what its manifest says.
        Inaccessible: where something cannot be read or written.
    """
    manifest, folder = load_manifest(private, digest), _copy_folder(private, digest)
    with told(target):
        target.mkdir(exist_ok=True)
    _reproduce(manifest, folder / _TREE, target, lambda path: Damaged(digest, f"is damaged at {path!r}"))


def overlay_paths(root: Path, paths: Iterable[str], target: Path) -> None:
    """Put the workspace's files and links of these names over a tree, and remove those that the workspace lacks.

    Raises:
        Inaccessible: where something cannot be read or written.
        Forged: for a path that leaves the tree.
    """
    with told(target), Descent(root) as source, Descent(target) as tree:
        for raw in sorted({raw_path(path) for path in paths}):
            check_path(raw)
            folder_path, name = split(raw)
            origin = source.folder(folder_path)
            if origin is not None and copyable(name, origin):
                copy_entry(printable(raw), name, origin, tree.made(folder_path))
            elif (place := tree.folder(folder_path)) is not None:
                remove_at(name, place)


def rebuild_from_commit(  # noqa: PLR0913, PLR0917 - the facts of an approval, each of its own kind
    root: Path, commit: str, digest: str, private: Path, records: Records, artifacts: Sequence[str]
) -> bool:
    """Make the copy anew from git's objects; it is kept only if it has the digest.

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
    with disposable(private) as folder:
        entries = _extracted([item for path, item in tree.items() if path in kept], private_folder(folder, _TREE))
        manifest = None if entries is None else seal(entries)
        if manifest is None or manifest.digest != digest:
            return False
        _place(folder, manifest, private)
    return True


@contextmanager
def disposable(private: Path) -> Iterator[Path]:
    """Lend an empty folder below ``.flow/tmp`` and remove it afterwards, whatever a command left in it.

    Raises:
        PlantedLink: where a link stands in place of a private folder.
        Inaccessible: where it cannot be made.
    """
    with fresh_folder(private_folder(private, _TEMPORARY)) as folder:
        yield folder


def changed_paths(old: Manifest, new: Manifest) -> tuple[str, ...]:
    """Give the paths whose kind, bytes or executable bit differ, those that came and those that went, in order."""
    before, after = old.present(), new.present()
    return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))


def _copy_folder(private: Path, digest: str) -> Path:
    found = _DIGEST.fullmatch(digest)
    folder = private / _COPIES / ("" if found is None else found[1])
    parts = (private, folder.parent, folder, folder / _TREE)
    if found is None or not all(path.is_dir() and not path.is_symlink() for path in parts):
        raise Damaged(digest, "is not here")
    return folder


def _reproduce(manifest: Manifest, source: Path, target: Path, broken: Callable[[str], BrokenWorld]) -> None:
    with told(source), Descent(source) as origin, Descent(target) as tree:
        for entry in manifest.entries:
            raw = raw_path(entry.path)
            check_path(raw)
            folder_path, name = split(raw)
            if entry.kind in ("dir", "nested"):
                tree.made(raw)
            elif entry.kind in ("file", "link"):
                folder = origin.folder(folder_path)
                if folder is None or not copyable(name, folder):
                    raise broken(entry.path)
                if copy_entry(entry.path, name, folder, tree.made(folder_path)) != entry:
                    raise broken(entry.path)


def _place(folder: Path, manifest: Manifest, private: Path) -> None:
    """Write the manifest beside a finished tree, and give both their name in one step."""
    entries = tuple((entry.path, entry.kind, entry.executable, entry.digest) for entry in manifest.entries)
    stored = _Stored(version=VERSION, digest=manifest.digest, entries=entries)
    final = private_folder(private, _COPIES) / manifest.digest.removeprefix("sha256:")
    with told(final):
        with (folder / _MANIFEST).open("xb") as file:
            file.write(stored.model_dump_json().encode())
            file.flush()
            os.fsync(file.fileno())
        try:
            folder.rename(final)
        except OSError:
            # What is there already: a whole copy that another process placed, or one that is damaged.
            if not has_copy(private, manifest.digest):
                remove_tree(final)
                folder.rename(final)
    _sync(final.parent)


def _sync(folder: Path) -> None:
    descriptor = open_folder(folder)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _extracted(items: Sequence[Committed], target: Path) -> list[SourceEntry] | None:
    """Write a commit's files and links, and describe them; None where an object is missing or of a strange kind."""
    by_home: dict[Repository, list[Committed]] = {}
    entries: list[SourceEntry] = []
    for item in items:
        if item.mode == GITLINK:
            kind: Kind = "nested" if item.boundary else "dir"
            entries.append(SourceEntry(printable(item.raw), kind, executable=False, digest=""))
        else:
            by_home.setdefault(item.home, []).append(item)
    with told(target), Descent(target) as tree:
        for home, group in by_home.items():
            written = _from_home(home, group, tree)
            if written is None:
                return None
            entries.extend(written)
        for entry in entries:
            if entry.kind in ("dir", "nested"):
                tree.made(raw_path(entry.path))
    return entries


def _from_home(home: Repository, items: Sequence[Committed], tree: Descent) -> list[SourceEntry] | None:
    entries: list[SourceEntry] = []
    with home.blobs([item.object_id for item in items]) as blobs:
        for item in items:
            entry = _link_from(item, blobs, tree) if item.mode == LINK else _file_from(item, blobs, tree)
            if entry is None:
                return None
            entries.append(entry)
    return entries


def _file_from(item: Committed, blobs: Blobs, tree: Descent) -> SourceEntry | None:
    folder_path, name = split(item.raw)
    total = Total(0, None)

    def consume(data: bytes) -> None:
        total.update(data)
        write_all(descriptor, data)

    executable = is_executable(item.mode)
    with new_file(name, tree.made(folder_path), executable=executable) as descriptor:
        whole = blobs.copy_next(consume, bytes_max=sys.maxsize)
    return SourceEntry(printable(item.raw), "file", executable=executable, digest=total.digest()) if whole else None


def _link_from(item: Committed, blobs: Blobs, tree: Descent) -> SourceEntry | None:
    folder_path, name = split(item.raw)
    pieces: list[bytes] = []
    whole = blobs.copy_next(pieces.append, bytes_max=PATH_BYTES_MAX)
    target = b"".join(pieces)
    if not whole or not target or b"\0" in target:
        return None
    new_link(target, name, tree.made(folder_path))
    return link_entry(printable(item.raw), target)
