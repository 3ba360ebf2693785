"""How one process asks another for the end of a check: by a file beside the check's output."""

import os
import threading
from pathlib import Path
from types import FrameType

from flow_mcp.store.files import open_kept, prepare_private
from flow_mcp.workspace.folders import remove_tree

_SUFFIX = ".cancel"


class Cancels:
    """The requests to end a check, in one workspace."""

    def __init__(self, private: Path) -> None:
        """Name the private folder."""
        self._folder = private / "checks"

    def request(self, plan_id: str, check_id: str) -> None:
        """Ask for the end of the pending check of a plan.

        Raises:
            BrokenWorld: where that cannot be written.
        """
        prepare_private(self._folder)
        os.close(open_kept(self._folder, f"{plan_id}.{check_id}{_SUFFIX}"))

    def signal(self, plan_id: str, check_id: str) -> "Cancel":
        """Give the event that is set by such a request."""
        return Cancel(self._folder / f"{plan_id}.{check_id}{_SUFFIX}")

    def clear(self) -> None:
        """Forget every request. Whoever calls holds the slot, so that no check runs that one could be meant for.

        Raises:
            Inaccessible: where one cannot be removed.
        """
        for path in self._folder.glob(f"*{_SUFFIX}"):
            remove_tree(path)


class Cancel(threading.Event):
    """Set in this process, or by a file that any process of the workspace may make."""

    def __init__(self, path: Path) -> None:
        """Look at a path."""
        super().__init__()
        self._path = path
        self._is_signalled = False
        self._slot: int | None = None

    def hold(self, slot: int) -> None:
        """Be set too once the file behind this descriptor is removed."""
        self._slot = slot

    def on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """Be set by a signal; two at once would wait for each other in ``set``."""
        self._is_signalled = True

    def is_set(self) -> bool:
        """Say whether the check is to end."""
        return self._is_signalled or super().is_set() or os.path.lexists(self._path) or self._is_nameless()

    def _is_nameless(self) -> bool:
        """Say whether the slot that is held was removed: another check may begin then, and nobody finds this one."""
        return self._slot is not None and os.fstat(self._slot).st_nlink == 0
