"""Pruning: kept sources that no open plan rests on, and objects that no kept source names."""

import os
import re
import time
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flow_mcp.workspace import objects, sources
from flow_mcp.workspace.folders import private_folder, remove_tree
from flow_mcp.workspace.keeping import pruning
from flow_mcp.workspace.paths import told
from flow_mcp.workspace.sources import Damaged, load_manifest, manifest_path

YOUNG_S = 3600.0
"""A source that was kept less long ago may be about to be named by a document."""
NEWEST_KEPT = 4
"""So many sources are kept beside those that are needed, since the next check often asks for one of them again."""

_OLD_FOLDERS = ("copies", "tmp")
_SHARD = re.compile(f"[0-9a-f]{{{objects.SHARD_DIGITS}}}")


@dataclass(frozen=True, slots=True)
class Collected:
    """What was removed: sources, objects, and how many bytes they had."""

    sources: int
    objects: int
    size_bytes: int


def collect(private: Path, needed: AbstractSet[str], *, young_s: float) -> Collected | None:
    """Remove what nobody needs; None, and nothing removed, while somebody adds to the store.

    Args:
        private: the machine-private folder.
        needed: digests of the sources that stay.
        young_s: how old the manifest of another source must be.

    Raises:
        PlantedLink: where a link stands in place of a private folder.
        Inaccessible: where something cannot be removed.
    """
    with pruning(private) as alone:
        if not alone:
            return None
        for name in _OLD_FOLDERS:  # as an earlier version laid them out
            remove_tree(private / name)
        gone = _prune_sources(private, needed, young_s)
        marked = _marked(private)
        swept, size = _sweep(private_folder(private, objects.FOLDER), marked)
    return Collected(gone, swept, size)


def _kept(private: Path) -> list[tuple[float, Path]]:
    """Give when each source was kept, and its manifest, the newest first; remove what is no manifest."""
    found: list[tuple[float, Path]] = []
    for path in private_folder(private, sources.FOLDER).iterdir():
        if path == manifest_path(private, _digest(path)):
            with suppress(FileNotFoundError):  # discarded just now
                found.append((path.lstat().st_mtime, path))
        else:
            remove_tree(path)
    return sorted(found, reverse=True)


def _prune_sources(private: Path, needed: AbstractSet[str], young_s: float) -> int:
    before_s, gone, spared = time.time() - young_s, 0, 0
    with told(private):
        for kept_s, path in _kept(private):
            if _digest(path) in needed:
                continue
            if kept_s > before_s or spared < NEWEST_KEPT:
                spared += 1
                continue
            remove_tree(path)
            gone += 1
    return gone


def _marked(private: Path) -> set[str]:
    """Name the objects of every source that stays; a manifest that does not hold names none."""
    found: set[str] = set()
    with told(private):
        for _, path in _kept(private):
            try:
                manifest = load_manifest(private, _digest(path))
            except Damaged:
                remove_tree(path)
            else:
                found.update(entry.stored for entry in manifest.entries if entry.digest)
    return found


def _digest(manifest: Path) -> str:
    return f"sha256:{manifest.stem}"


def _sweep(folder: Path, marked: AbstractSet[str]) -> tuple[int, int]:
    swept = size = 0
    with told(folder):
        for entry in _objects(folder):
            if f"sha256:{Path(entry.path).parent.name}{entry.name}" not in marked:
                size += entry.stat(follow_symlinks=False).st_size
                remove_tree(Path(entry.path))
                swept += 1
    return swept, size


def _objects(folder: Path) -> Iterator["os.DirEntry[str]"]:
    """Give every object, and what was left of one that was never finished."""
    with os.scandir(folder) as shards:
        for shard in sorted(shards, key=lambda one: one.name):
            if not (shard.is_dir(follow_symlinks=False) and _SHARD.fullmatch(shard.name)):
                yield shard
                continue
            with os.scandir(shard.path) as entries:
                yield from list(entries)
