"""The names that lie in a project, and short looks into its files: bounded, no link followed, nothing executed."""

import json
import os
import re
import stat
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal

from flow_mcp.workspace.ignore import NO_RULES, Rules
from flow_mcp.workspace.paths import Descent, exists, open_file, printable, told

FILE_BYTES_MAX = 1024 * 1024
FOLDERS_MAX = 2_000
NAMES_PER_FOLDER_MAX = 5_000
DEPTH_LOOKED_AT_MAX = 8

# What commands read though it is no source, by the names that package managers and build tools give it.
DEPENDENCIES = (*(".venv", "venv", "node_modules", "bower_components", "target", "build", "vendor", "_build", "deps"),)
CACHES = (
    *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox"),
    *(".gradle", ".next", ".nuxt", ".turbo", ".parcel-cache", "htmlcov"),
)
# Names that source folders have too: one of these files says that a tool made the folder.
_MARKS: Mapping[str, tuple[str, ...]] = {
    "venv": ("pyvenv.cfg",),
    "target": ("CACHEDIR.TAG", ".rustc_info.json"),
    "build": ("CMakeCache.txt",),
    "vendor": (),
    "_build": (),
    "deps": (),
}
_NO_PROJECTS = frozenset({"tests", "test", "fixtures", "testdata", "__fixtures__", "examples", "spec"})
_OWN = frozenset({".git", ".flow"})

State = Literal["ignored", "ignores-itself", "source"]


@dataclass(frozen=True, slots=True)
class Generated:
    """A folder of dependencies or of a cache, and what the ignore rules make of it.

    Attributes:
        path: where it lies below the workspace.
        is_cache: whether no command needs it.
        state: named by the ignore files above it, ignored from inside alone, or source.
    """

    path: str
    is_cache: bool
    state: State


@dataclass
class Tree:
    """A project as far as it was looked at.

    Attributes:
        root: the workspace.
        files: folder path (the top's is empty) to the names of the plain files in it that are not ignored.
        generated: dependency folders and caches.
        unread: a sentence for each file that was not understood.
        is_whole: whether every folder was looked into.
    """

    root: Path
    files: dict[str, frozenset[str]] = field(default_factory=dict)
    generated: list[Generated] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    is_whole: bool = True

    def has(self, folder: str, *names: str) -> str | None:
        """Give the first of these names that is a file in a folder."""
        held = self.files.get(folder, frozenset())
        return next((name for name in names if name in held), None)

    def paths(self, folder: str) -> Iterator[str]:
        """Give the files below a folder, with their paths from it."""
        for inner in self.files:
            if self.holds(folder, inner):
                below = inner.removeprefix(folder).removeprefix("/")
                yield from (joined(below, name) for name in sorted(self.files[inner]))

    def holds(self, folder: str, path: str) -> bool:
        """Say whether a path is a folder or lies in it."""
        return not folder or path == folder or path.startswith(f"{folder}/")

    def projects(self, marks: Collection[str]) -> list[str]:
        """Give the folders below the top that hold one of these files and are no material of tests."""
        found = (folder for folder in self.files if folder and self.has(folder, *marks))
        return [folder for folder in found if _NO_PROJECTS.isdisjoint(folder.split("/"))]

    def names(self, path: str) -> tuple[str, ...]:
        """List a folder that need not be source, such as one of a virtual environment; nothing where there is none."""
        try:
            with Descent(self.root) as descent:
                folder = descent.folder(os.fsencode(path))
                return () if folder is None else tuple(sorted(name for name, _ in _entries(folder)))
        except OSError:
            return ()

    def text(self, path: str) -> str:
        """Read a file of at most 1 MiB; empty where it is absent, a link, larger or closed to this user."""
        folder, _, name = path.rpartition("/")
        if name not in self.files.get(folder, frozenset()):
            return ""
        try:
            with Descent(self.root) as descent:
                data = _read(descent, os.fsencode(folder), os.fsencode(name))
        except OSError as error:
            return self._not_read(path, f"cannot be read ({error.strerror})")
        if len(data) > FILE_BYTES_MAX:
            return self._not_read(path, f"is larger than {FILE_BYTES_MAX} bytes")
        return data.decode("utf-8", "replace")

    def table(self, path: str) -> Mapping[str, object]:
        """Read a JSON or TOML file, by its name; an empty table where it is none."""
        text = self.text(path)
        if not text:
            return {}
        try:
            found: object = tomllib.loads(text) if path.endswith(".toml") else json.loads(text)
        except (ValueError, RecursionError):
            self._not_read(path, "is not well-formed")
            return {}
        return {str(name): value for name, value in found.items()} if isinstance(found, dict) else {}

    def _not_read(self, path: str, why: str) -> str:
        self.unread.append(f"{path} {why}, so nothing was taken from it: mend it, or name the gate yourself.")
        return ""


def at(table: object, *names: str) -> object:
    """Give the value at the end of a way through tables; None where it ends before."""
    for name in names:
        table = table.get(name) if isinstance(table, Mapping) else None
    return table


def joined(folder: str, name: str) -> str:
    """Put a name behind a folder's path; the top's is empty."""
    return f"{folder}/{name}" if folder else name


def _read(descent: Descent, folder: bytes, name: bytes) -> bytes:
    within = descent.folder(folder)
    if within is None:
        return b""
    descriptor = open_file(name, within)
    with os.fdopen(descriptor, "rb") as file:
        return file.read(FILE_BYTES_MAX + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def look(root: Path) -> Tree:
    """Walk a project from its top, nearest folders first; ignored folders and nested repositories stay closed.

    Raises:
        BrokenWorld: where the top cannot be opened, or an ignore file is larger than 1 MiB.
    """
    tree = Tree(root)
    with told(root), Descent(root) as descent:
        waiting: list[tuple[str, Rules]] = [("", NO_RULES)]
        for path, rules in waiting:
            if len(tree.files) >= FOLDERS_MAX:
                tree.is_whole = False
                break
            waiting.extend(_looked_into(tree, descent, path, rules))
    return tree


def _looked_into(tree: Tree, descent: Descent, path: str, outer: Rules) -> Iterator[tuple[str, Rules]]:
    """Note the files of a folder, and give the folders in it that are source."""
    try:
        folder = descent.folder(os.fsencode(path))
        if folder is None or (path and exists(b".git", folder)):
            return
        rules = outer.entering(os.fsencode(path) + b"/" if path else b"", folder)
        entries = _entries(folder)
    except OSError:
        tree.is_whole = False
        return
    held = [(name, joined(path, name), is_folder) for name, is_folder in entries if name not in _OWN]
    kept = {own for _, own, is_folder in held if not rules.ignore(os.fsencode(own), is_folder=is_folder)}
    tree.files[path] = frozenset(name for name, own, is_folder in held if not is_folder and own in kept)
    tree.is_whole = tree.is_whole and len(entries) < NAMES_PER_FOLDER_MAX
    for name, own, is_folder in held:
        if is_folder and not _is_generated(tree, descent, name, own, is_ignored=own not in kept) and own in kept:
            if own.count("/") < DEPTH_LOOKED_AT_MAX:
                yield own, rules
            else:
                tree.is_whole = False


def _is_generated(tree: Tree, descent: Descent, name: str, path: str, *, is_ignored: bool) -> bool:
    """Say whether a folder is one that a tool makes, and note it."""
    if name not in DEPENDENCIES and name not in CACHES:
        return False
    state: State = "ignored"
    if not is_ignored:
        inside, marks = _inside(descent, path), _MARKS.get(name)
        if marks is not None and not any(mark in inside for mark in marks):
            return False
        state = "ignores-itself" if inside.get(".gitignore") else "source"
    tree.generated.append(Generated(path, name in CACHES, state))
    return True


def _inside(descent: Descent, path: str) -> dict[str, bool]:
    """Give the names in a folder; for its ignore file, whether that leaves out everything."""
    try:
        folder = descent.folder(os.fsencode(path))
        if folder is None:
            return {}
        found = {name: False for name, _ in _entries(folder)}
        if ".gitignore" in found:
            text = _read(descent, os.fsencode(path), b".gitignore").decode("utf-8", "replace")
            found[".gitignore"] = re.search(r"(?m)^(?:\*|/?\*\*)\s*$", text) is not None
    except OSError:
        return {}
    return found


def _entries(folder: int) -> list[tuple[str, bool]]:
    """Give the names in an open folder that a person can read, and whether each is a folder; links are left out."""
    with os.scandir(folder) as entries:
        found = [
            (entry.name, entry.is_dir(follow_symlinks=False))
            for entry in islice(entries, NAMES_PER_FOLDER_MAX)
            if entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False)
        ]
    return sorted((name, is_folder) for name, is_folder in found if _is_plain(name))


def _is_plain(name: str) -> bool:
    return printable(os.fsencode(name)) == name and not name.startswith("-")
