"""Everything that a project's own files propose for a plan: gates, the likeliest first, and folders to lend."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from flow_mcp.domain.shell import selectors, swallowing_faults
from flow_mcp.workspace.ecosystems.compiled import (
    MAKEFILES,
    suggest_cargo,
    suggest_ctest,
    suggest_go,
    suggest_make,
)
from flow_mcp.workspace.ecosystems.javascript import suggest_javascript
from flow_mcp.workspace.ecosystems.python import PROJECT_FILES, suggest_python
from flow_mcp.workspace.ecosystems.suggestion import Suggestion
from flow_mcp.workspace.ecosystems.tree import Tree, look
from flow_mcp.workspace.git import open_repository

PROJECTS_MAX = 64
SUGGESTIONS_MAX = 16

_KINDS = (*("pytest", "vitest", "jest", "mocha", "node", "unittest", "django", "go", "cargo", "ctest", "make", "npm"),)
_MARKS = (*PROJECT_FILES, "package.json", "go.mod", "Cargo.toml", "CMakeLists.txt", *MAKEFILES)


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found.

    Attributes:
        suggestions: gates that Flow's own rules accept, the likeliest first.
        inputs: ignored dependency folders that exist, to lend to commands.
        self_ignored: dependency folders that only their own ignore file leaves out: they cannot be lent.
        unignored: dependency folders and caches that count as source.
        has_ignore_file: whether the top has a ``.gitignore``.
        notes: a sentence for each thing that was not understood or not looked at.
    """

    suggestions: tuple[Suggestion, ...]
    inputs: tuple[str, ...]
    self_ignored: tuple[str, ...]
    unignored: tuple[str, ...]
    has_ignore_file: bool
    notes: tuple[str, ...]


NOTHING = Survey((), (), (), (), has_ignore_file=True, notes=())
"""What is known of a project that cannot be looked at."""


def survey(root: Path, start: str) -> Survey:
    """Look at a project.

    Args:
        root: the workspace.
        start: the folder in it that the person stands in, whose gates come first; empty for the top.

    Raises:
        BrokenWorld: where the top cannot be opened, an ignore file is larger than 1 MiB, or git does not answer.
    """
    tree = look(root)
    found = [one for one in _suggestions(tree) if not selectors(one.run) and not swallowing_faults(one.run)]
    notes = list(dict.fromkeys(tree.unread))
    if not tree.is_whole:
        notes.append("The project is larger than is looked at here: name what was not found yourself.")
    inputs = [one.path for one in tree.generated if one.state == "ignored" and not one.is_cache]
    inputs = [path for path in inputs if not _is_cmake_cache(tree, path, notes)]
    tracked = _tracked(root, inputs)
    notes.extend(f"{path} is ignored, but files in it are tracked: it cannot be an input as it is." for path in tracked)
    return Survey(
        suggestions=tuple(sorted(found, key=lambda one: _rank(one, start)))[:SUGGESTIONS_MAX],
        inputs=tuple(path for path in inputs if path not in tracked),
        self_ignored=tuple(one.path for one in tree.generated if one.state == "ignores-itself" and not one.is_cache),
        unignored=tuple(one.path for one in tree.generated if one.state == "source"),
        has_ignore_file=tree.has("", ".gitignore") is not None,
        notes=tuple(notes),
    )


def _suggestions(tree: Tree) -> Iterator[Suggestion]:
    makers = (suggest_python, suggest_javascript, suggest_go, suggest_cargo, suggest_ctest, suggest_make)
    for folder in ["", *tree.projects(_MARKS)][:PROJECTS_MAX]:
        yield from chain.from_iterable(maker(tree, folder) for maker in makers)


def _rank(one: Suggestion, start: str) -> tuple[bool, int, bool, int, str]:
    is_here = not start or one.folder == start or one.folder.startswith(f"{start}/")
    depth = one.folder.count("/") + 1 if one.folder else 0
    return not is_here, depth, one.report is None, _KINDS.index(one.kind), one.folder


def _is_cmake_cache(tree: Tree, path: str, notes: list[str]) -> bool:
    """Say whether a folder is a build of CMake, which holds for one path and is made anew elsewhere."""
    if "CMakeCache.txt" not in tree.names(path):
        return False
    notes.append(f"{path} is a build of CMake for this very path: commands make their own instead of reading it.")
    return True


def _tracked(root: Path, paths: list[str]) -> tuple[str, ...]:
    """Give those of the folders in which git tracks files."""
    repository = open_repository(root) if paths else None
    if repository is None:
        return ()
    known = repository.answer("ls-files", "-z", "--", *paths) or b""
    files = known.decode("utf-8", "surrogateescape").split("\0")
    return tuple(path for path in paths if any(name.startswith(f"{path}/") for name in files))
