"""What the trials of survivors share: who is left of one, and the end of them."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def alive_in(folder: Path) -> set[int]:
    """Look for the processes of a trial, independently of the runner: by the folder in which they run."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and (entry / "cwd").readlink() == folder:
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def end_all_in(folder: Path) -> None:
    """Kill until nothing runs in a folder."""
    while found := alive_in(folder):
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait for something to be so."""
    until_s = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < until_s
        time.sleep(0.005)
