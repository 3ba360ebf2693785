"""Sources that an open plan rests on though its document may not be there: it can lie on another branch.

A pin is an empty file ``.flow/pins/<hex>``. It holds for 30 days, or until the plan is seen closed.
"""

import os
import time
from collections.abc import Iterable
from pathlib import Path

from flow_mcp.workspace.folders import private_folder, remove_tree
from flow_mcp.workspace.paths import told
from flow_mcp.workspace.sources import manifest_path
from flow_mcp.workspace.writer import replace_file

FOLDER = "pins"
HELD_S = 30 * 24 * 3600.0


def pin(private: Path, digest: str) -> None:
    """Hold a source from now on.

    Raises:
        PlantedLink: where a link stands in place of a private folder.
        Inaccessible: where it cannot be written.
    """
    replace_file(private_folder(private, FOLDER), digest.rpartition(":")[2], b"")


def unpin(private: Path, digests: Iterable[str]) -> None:
    """Hold some sources no longer.

    Raises:
        Inaccessible: where one cannot be removed.
    """
    for digest in digests:
        if manifest_path(private, digest) is not None:
            remove_tree(private_folder(private, FOLDER) / digest.rpartition(":")[2])


def pinned(private: Path) -> frozenset[str]:
    """Name the sources that are held.

    Raises:
        PlantedLink: where a link stands in place of a private folder.
        Inaccessible: where they cannot be read.
    """
    folder, since_s = private_folder(private, FOLDER), time.time() - HELD_S
    with told(folder), os.scandir(folder) as entries:
        return frozenset(f"sha256:{one.name}" for one in entries if one.stat(follow_symlinks=False).st_mtime > since_s)
