"""Which folder is the workspace, and which worktree of it this is."""

import os
import re
import secrets
from contextlib import suppress
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.folders import private_folder, read_private
from flow_mcp.workspace.paths import told

_WORKTREE = "worktree"
_ID = re.compile(r"([0-9a-f]{32})\n?")
_ID_BYTES_MAX = 64
_START = "Start Flow in the folder of the project."


class Unusable(BrokenWorld):
    """The folder cannot be a workspace."""


def find_root(start: Path) -> Path:
    """Give the nearest folder at or above ``start`` that holds ``.git``, else ``start``; links resolved.

    Raises:
        Unusable: where that is the root of the file system, the home folder, no folder, or not readable.
    """
    here = Path(os.path.realpath(start))
    if not here.is_dir():
        seen = f"{str(here)!r} is not a folder."
        raise Unusable(seen, _START)
    root = next((folder for folder in (here, *here.parents) if os.path.lexists(folder / ".git")), here)
    if root == Path(root.anchor):
        seen = "The workspace would be the whole file system."
        raise Unusable(seen, _START)
    if root in _homes():
        seen = f"The workspace would be the home folder {str(root)!r}."
        raise Unusable(seen, f"{_START} Give that a '.git' of its own.")
    try:
        os.scandir(root).close()
    except OSError as error:
        seen = f"The workspace {str(root)!r} cannot be listed: {error.strerror}."
        raise Unusable(seen, "Give this user the right to read it.") from error
    return root


def folder_in(root: Path, start: Path) -> str:
    """Give the way from the workspace to the folder in which somebody stands; empty at the top."""
    way = Path(os.path.realpath(start)).relative_to(root).as_posix()
    return "" if way == "." else way


def _homes() -> set[Path]:
    # Both the variable and the account's own entry: either alone may be empty or moved.
    named = [os.environ.get("HOME", ""), os.environ.get("USERPROFILE", "")]
    with suppress(ImportError, KeyError):
        import pwd  # noqa: PLC0415 - Windows has no such module

        named.append(pwd.getpwuid(os.getuid()).pw_dir)
    return {Path(os.path.realpath(home)) for home in named if home}


def worktree_id(private: Path, known: str | None = None) -> str:
    """Give the random id of this worktree, kept in ``<private>/worktree`` (row plan.one-open).

    Args:
        private: the machine-private folder.
        known: the id that a live process knows, to be kept again where its file was removed.

    Raises:
        PlantedLink: where a link stands in place of the file or its folder.
        Unusable: where the file holds anything but 32 hexadecimal digits.
        Inaccessible: where it cannot be read or made.
    """
    path = private_folder(private) / _WORKTREE
    if not os.path.lexists(path):
        with told(path):
            _create(path, known or secrets.token_hex(16))
    data = read_private(path, bytes_max=_ID_BYTES_MAX)
    found = _ID.fullmatch("" if data is None else data.decode("ascii", "replace"))
    if found is None:
        seen = f"{str(path)!r} does not hold the id of a worktree."
        raise Unusable(seen, "Remove the file; Flow makes a new one.")
    return found[1]


def _create(path: Path, text: str) -> None:
    # Written beside, then linked: a second process finds either nothing or the whole id.
    spare = path.with_name(f"{_WORKTREE}.{secrets.token_hex(8)}")
    descriptor = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, text.encode() + b"\n")
        os.fsync(descriptor)
        with suppress(FileExistsError):
            os.link(spare, path)
    finally:
        os.close(descriptor)
        spare.unlink()
