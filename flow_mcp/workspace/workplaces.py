"""Where disposable copies lie: nowhere below the workspace, and it nowhere below them.

Test runners, linters and module loaders look for their configuration in the folders above: below the workspace they
would find today's, whatever source the copy is of. So copies lie in the user's cache folder, or where there is none in
the folder for temporary files; only where neither can be used do they lie in ``.flow``.
"""

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from platformdirs import user_cache_path

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.folders import private_folder

NAME = "flow-mcp"
FOLDER = "work"
_OTHERS_MAY = 0o022
_COPY = re.compile(r"[0-9a-f]{12}\.(?:[0-9a-f]{12}|spare)")


class Strangers(BrokenWorld):
    """A folder that is not Flow's lies where the copies do."""

    def __init__(self, path: Path) -> None:
        seen = f"{path} lies where Flow keeps its copies, and Flow did not make it."
        super().__init__(seen, "Move it somewhere else, or set XDG_CACHE_HOME to another folder.")


def workplace(root: Path) -> Path:
    """Give the folder for the copies of a workspace, made where it is missing; other workspaces' lie in it too.

    Raises:
        Strangers: where something that is not Flow's lies in each folder that could be used.
        PlantedLink: where no other folder can be used and a link stands in place of the private one.
        Inaccessible: where none can be made.
    """
    strangers: list[Path] = []
    for place in workplaces(root):
        if _is_apart(place.parent, root):
            found = _strangers(place)
            if not found:
                return place
            strangers.extend(found)
    if strangers:
        raise Strangers(strangers[0])
    return private_folder(root / ".flow", FOLDER)


def is_copy(name: str) -> bool:
    """Say whether a name in a workplace is one that Flow gives: to a copy, or to the spare of a workspace."""
    return _COPY.fullmatch(name) is not None


def _strangers(place: Path) -> list[Path]:
    """Name the folders in a workplace and beside it that Flow did not make: somebody's, or what tools would look for.

    They are never removed: somebody may keep a workspace there.
    """
    beside = [path for path in sorted(place.parent.iterdir()) if path.name != FOLDER]
    inside = [path for path in sorted(place.iterdir()) if not is_copy(path.name)]
    return [path for path in (*beside, *inside) if not path.is_symlink() and path.is_dir()]


def workplaces(root: Path) -> Iterator[Path]:
    """Give each folder that can hold copies and is this user's alone, the best first."""
    for base in (_cache(), Path(tempfile.gettempdir()) / f"{NAME}-{_user()}"):
        with suppress(BrokenWorld, OSError):
            if base is not None:
                base.parent.mkdir(parents=True, exist_ok=True)
                place = private_folder(base, FOLDER)
                if _is_own(base) and _is_own(place):
                    yield place
    if (root / ".flow" / FOLDER).is_dir():
        yield root / ".flow" / FOLDER


def _cache() -> Path | None:
    # An account without a home has no cache of its own.
    with suppress(RuntimeError):
        return user_cache_path(NAME)
    return None


def _user() -> int:
    return os.getuid() if hasattr(os, "getuid") else 0


def _is_own(folder: Path) -> bool:
    """Say whether nobody else may change what lies in a folder, and this user may."""
    found = folder.lstat()
    own = found.st_uid == _user() and not found.st_mode & _OTHERS_MAY and os.access(folder, os.R_OK | os.W_OK | os.X_OK)
    return own and _runs_programs(folder)


def _runs_programs(folder: Path) -> bool:
    """Say whether programs may be run from a folder's file system, where the platform can tell."""
    return not hasattr(os, "statvfs") or not os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0)


def _is_apart(place: Path, root: Path) -> bool:
    """Say whether neither of two folders lies in the other."""
    one, other = Path(os.path.realpath(place)), Path(os.path.realpath(root))
    return not one.is_relative_to(other) and not other.is_relative_to(one)
