"""The end of a check's output, kept for whoever asks for it in another process."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.folders import read_private
from flow_mcp.workspace.paths import READ_FLAGS
from flow_mcp.workspace.writer import replace_file

TAIL_BYTES = 20_000
_ENDING = ".tail"


def keep_tail(output: Path, text: str) -> None:
    """Keep the end of a check's output as it is to be shown, beside the file that keeps the output.

    Raises:
        Inaccessible: where it cannot be written.
    """
    replace_file(output.parent, output.with_suffix(_ENDING).name, text.encode("utf-8", "replace")[-TAIL_BYTES:])


def kept_tail(folder: Path, plan_id: str, check_id: str) -> str:
    """Give the end of a recorded or pending check's output as text; empty where nothing is kept that can be read."""
    if folder.is_symlink():
        return ""
    with suppress(OSError, BrokenWorld):  # the command may put anything in its place while it runs
        # The names of its control runs are longer.
        found = sorted(folder.glob(f"{plan_id}.{check_id}.????????.log"), key=lambda path: path.lstat().st_mtime_ns)
        if found:
            kept = read_private(found[-1].with_suffix(_ENDING), bytes_max=TAIL_BYTES)
            return _end_of(found[-1]) if kept is None else kept.decode("utf-8", "replace")
    return ""


def _end_of(path: Path) -> str:
    with os.fdopen(os.open(path, READ_FLAGS), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return ""
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL_BYTES))
        text = file.read().decode("utf-8", "replace")
    return "".join(char for char in text if char.isprintable() or char in "\n\t")
