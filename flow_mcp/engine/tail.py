"""The end of a check's kept output, for whoever waits for it in another process."""

import os
from pathlib import Path

TAIL_BYTES = 4_000


def kept_tail(folder: Path, plan_id: str, check_id: str) -> str:
    """Give the end of a recorded or pending check's output as text; empty where nothing is kept."""
    # The names of its control runs are longer.
    found = sorted(folder.glob(f"{plan_id}.{check_id}.????????.log"), key=os.path.getmtime)
    return _end_of(found[-1]) if found else ""


def _end_of(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - TAIL_BYTES))
        text = file.read().decode("utf-8", "replace")
    return "".join(char for char in text if char.isprintable() or char in "\n\t")
