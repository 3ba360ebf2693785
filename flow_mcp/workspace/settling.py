"""What a used copy has in common with the source that is laid out next: read in full, and moved to the new copy.

Folders are made anew and files are moved, so that whoever still holds a folder of the used copy open holds nothing.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flow_mcp.workspace.entries import link_digest
from flow_mcp.workspace.folders import PRIVATE_MODE
from flow_mcp.workspace.objects import digest_of
from flow_mcp.workspace.paths import Descent, Inaccessible, open_file, raw_path, split
from flow_mcp.workspace.source import Manifest, SourceEntry

FILE_MODES: Mapping[bool, int] = {False: 0o644, True: 0o755}
_LABELS = ("security.selinux",)
"""Attributes that a system gives to every file."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Files and links by raw path, and every folder."""

    entries: Mapping[bytes, SourceEntry]
    folders: frozenset[bytes]


def salvaged(used: Path, tree: Descent, manifest: Manifest) -> frozenset[bytes]:
    """Move from a used copy to a new one what the manifest has too, and give the raw paths of those files and links.

    A file is moved only if its bytes, read now, its kind, its mode and its owner are what a new one would have, and it
    has neither attributes nor a second name through which it could change. What cannot be moved is passed over.
    """
    wanted = _wanted(manifest)
    moved: set[bytes] = set()
    waiting = [b""]
    with suppress(OSError, Inaccessible), Descent(used) as origin:
        while waiting:
            base = waiting.pop()
            folder = origin.folder(base)
            if folder is None:
                continue
            for name, raw, found in _names(base, folder):
                with suppress(OSError):
                    if raw in wanted.folders and stat.S_ISDIR(found.st_mode):
                        os.chmod(name, PRIVATE_MODE, dir_fd=folder)
                        waiting.append(raw)
                    elif raw in wanted.entries and _is_same(wanted.entries[raw], found, name, folder):
                        os.rename(name, name, src_dir_fd=folder, dst_dir_fd=tree.made(base))
                        moved.add(raw)
    return frozenset(moved)


def _wanted(manifest: Manifest) -> _Wanted:
    entries = {raw_path(one.path): one for one in manifest.entries if one.kind in ("file", "link")}
    return _Wanted(entries, frozenset(folder for raw in entries for folder in folders_above(raw)))


def folders_above(raw: bytes) -> Iterator[bytes]:
    """Give each folder above a path, the nearest first."""
    folder = split(raw)[0]
    while folder:
        yield folder
        folder = split(folder)[0]


def _names(base: bytes, folder: int) -> list[tuple[bytes, bytes, os.stat_result]]:
    with os.scandir(folder) as entries:
        found = [(os.fsencode(entry.name), entry.stat(follow_symlinks=False)) for entry in entries]
    return [(name, base + b"/" + name if base else name, status) for name, status in found]


def _is_same(entry: SourceEntry, found: os.stat_result, name: bytes, folder: int) -> bool:
    if found.st_nlink != 1 or found.st_uid != os.geteuid():
        return False
    if entry.kind == "link":
        return stat.S_ISLNK(found.st_mode) and link_digest(os.readlink(name, dir_fd=folder)) == entry.stored
    regular = stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) == FILE_MODES[entry.executable]
    # One with other line endings than its digest's is rare, and laid out anew.
    if not regular or entry.raw:
        return False
    descriptor = open_file(name, folder)
    try:
        return _is_bare(descriptor) and digest_of(descriptor) == entry.stored
    finally:
        os.close(descriptor)


def _is_bare(descriptor: int) -> bool:
    """Say whether a file has no attributes beside the system's own, where the platform can tell."""
    return not hasattr(os, "listxattr") or set(os.listxattr(descriptor)) <= set(_LABELS)
