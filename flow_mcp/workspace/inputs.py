"""Folders that commands may read though the digest leaves them out: lent to a copy as links, for now shared."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from flow_mcp.workspace.paths import told

LOOKED_AT_MAX = 300_000
NOTE_BYTES_MAX = 64 * 1024

_POINTERS = (".pth", ".egg-link")


def link_inputs(root: Path, inputs: Sequence[str], target: Path) -> bool:
    """Link each input that exists into a copy; say whether one of them leads back into the workspace.

    An input that leads back (an editable install, a linked package) would let a copy run today's source, so that what
    is seen there is not of the copy.

    Raises:
        Inaccessible: where a link cannot be made.
    """
    leads_back = False
    for name in inputs:
        origin, place = root / name.strip("/"), target / name.strip("/")
        if not origin.is_dir() or os.path.lexists(place):
            continue
        with told(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(origin, target_is_directory=True)
        leads_back = leads_back or _leads_back(origin, root)
    return leads_back


def _leads_back(folder: Path, root: Path) -> bool:
    """Say whether a pointer file or a link below a folder names the workspace outside that folder."""
    top, own = str(root), str(folder)
    for looked_at, entry in enumerate(_walk(folder)):
        if looked_at >= LOOKED_AT_MAX or entry.name.startswith("__editable__"):
            return True  # too much to look through counts as leading back: nothing would show that it does not
        if entry.is_symlink():
            goal = os.path.realpath(entry.path)
        elif entry.name.endswith(_POINTERS):
            goal = _pointed_at(Path(entry.path), top)
        else:
            continue
        inside = goal == top or goal.startswith(top + os.sep)
        if inside and goal != own and not goal.startswith(own + os.sep):
            return True
    return False


def _pointed_at(path: Path, top: str) -> str:
    try:
        with path.open("rb") as file:
            text = file.read(NOTE_BYTES_MAX).decode("utf-8", "replace")
    except OSError:
        return ""
    if top in text:
        return top
    beside = (os.path.realpath(path.parent / line.strip()) for line in text.splitlines() if line.startswith("."))
    return next((goal for goal in beside if goal.startswith(top + os.sep)), "")


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
