"""Tell a person that an answer of theirs is waited for, through a command of their own configuration.

Only the user's own file names the command: never the repository, whose code would run then. It is an argument list,
no shell reads it, and the sentence is its last argument. Neither the program nor what it finds on its PATH lies in the
workspace, where whoever edits the source could put another one.
"""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from flow_mcp.domain.digest import digest_json
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.engine.logbook import FOLDER
from flow_mcp.store.files import prepare_private, read_bytes, write_atomic

LIMIT_S = 30.0
"""How long the command may take while the process that started it lives."""

TOLD = "told"
TOLD_MAX = 100
_TOLD_BYTES_MAX = 16 * 1024


class Notifier:
    """Runs the user's command, once for each thing that is waited for."""

    def __init__(self, command: Sequence[str], root: Path, private: Path) -> None:
        """Take the command; an empty one tells nobody.

        Args:
            command: a program and its first arguments.
            root: the workspace.
            private: its machine-private folder, which keeps what was told, for every process of the workspace.
        """
        self._command = tuple(command)
        self._root = root
        self._folder = private / FOLDER
        self._told: set[str] = set()

    def tell(self, plan_id: str, revision: int, sentence: str) -> bool:
        """Say that a person is waited for; tell whether the command was started."""
        key = digest_json([plan_id, revision, sentence])
        path = self._path() if self._command and key not in self._told else ""
        program = self._program(path)
        if program is None or not self._is_new(key):
            return False
        names = {"PATH": path, "FLOW_PLAN": plan_id, "FLOW_REVISION": str(revision)}
        with suppress(OSError):
            process = subprocess.Popen(  # noqa: S603 - argument list of the user's own configuration, no shell
                [program, *self._command[1:], sentence],
                cwd=os.sep,
                env={**os.environ, **names},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            threading.Thread(target=_waited, args=(process,), name="flow-notify", daemon=True).start()
            return True
        return False

    def _path(self) -> str:
        """Give the folders of PATH that are whole and outside of the workspace."""
        folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
        return os.pathsep.join(one for one in folders if Path(one).is_absolute() and not _is_inside(self._root, one))

    def _program(self, path: str) -> str | None:
        found = shutil.which(self._command[0], path=path) if path else None
        return None if found is None or _is_inside(self._root, found) else found

    def _is_new(self, key: str) -> bool:
        """Say whether nobody told it yet, and note it; where nothing can be kept, this process alone knows."""
        self._told.add(key)
        known: list[str] = []
        with suppress(OSError, BrokenWorld):
            prepare_private(self._folder)
            known = (read_bytes(self._folder, TOLD, _TOLD_BYTES_MAX) or b"").decode("ascii", "replace").splitlines()
        if key in known:
            return False
        with suppress(OSError, BrokenWorld):
            write_atomic(self._folder, TOLD, "\n".join([*known, key][-TOLD_MAX:]).encode("ascii", "replace"))
        return True


def _is_inside(root: Path, path: str) -> bool:
    """Say whether a path, or what it leads to, lies in the workspace."""
    ways = (Path(path).absolute(), Path(os.path.realpath(path)))
    # By identity, not by text: case and mounts give one folder several names.
    return any(_is_same(folder, root) for way in ways for folder in (way, *way.parents))


def _is_same(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return one.samefile(other)
    return False


def _waited(process: "subprocess.Popen[bytes]") -> None:
    """Wait for the command, and end it with what it started where it hangs."""
    try:
        process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
