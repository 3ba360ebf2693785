"""The manifests of private copies, each parsed once while its file is untouched."""

import threading
import time
from collections import OrderedDict
from pathlib import Path

from flow_mcp.store.marks import Mark
from flow_mcp.workspace.source import Manifest
from flow_mcp.workspace.sources import Damaged, load_manifest, manifest_path

KEPT_MAX = 6
"""The manifests of the approval, of the run's start, the feature's, the judged source and the one now; one to spare."""

# A manifest's file and the folders above it; what it says is asked again when this changes.
_Seen = tuple[Mark, tuple[tuple[int, int, int], ...]]


class Shelf:
    """Knows which copies are at hand."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._kept: OrderedDict[str, tuple[_Seen, Manifest]] = OrderedDict()
        self._mutex = threading.Lock()

    def manifest(self, private: Path, digest: str) -> Manifest | None:
        """Give the manifest of a copy; None where there is no copy with a whole manifest.

        Raises:
            Inaccessible: where it cannot be read.
        """
        now_ns = time.time_ns()
        seen = _seen(private, digest)
        with self._mutex:
            kept = self._kept.get(digest)
        if kept is not None and kept[0] == seen:
            return kept[1]
        try:
            manifest = load_manifest(private, digest)
        except Damaged:
            return None
        if seen is not None and seen[0].is_settled(now_ns):
            self._keep(digest, (seen, manifest))
        return manifest

    def _keep(self, digest: str, fresh: tuple[_Seen, Manifest]) -> None:
        with self._mutex:
            self._kept[digest] = fresh
            self._kept.move_to_end(digest)
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)


def _seen(private: Path, digest: str) -> _Seen | None:
    path = manifest_path(private, digest)
    if path is None:
        return None
    try:
        folders = [folder.lstat() for folder in (private, path.parent)]
        mark = Mark.of(path.lstat())
    except OSError:
        return None
    return mark, tuple((info.st_dev, info.st_ino, info.st_mode) for info in folders)
