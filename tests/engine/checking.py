"""What the tests of checks have in common: a run under way, a check that is held, and other processes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flow_mcp.domain import commands as c
from flow_mcp.domain.model import Document, Observation
from flow_mcp.engine.keeper import Ticket, read_ticket
from tests.engine.place import CHECK, Hold, Place, is_alive, lone, until

ROOT = Path(__file__).resolve().parents[2]


def running(place: Place, run: str = CHECK.run, **more: Any) -> None:  # noqa: ANN401 - whatever a command takes
    """Start a run of a plan whose one check is this command."""
    place.approved(lone(run, **more))
    place.done(c.RunStart())


def holding(place: Place, hold: Hold, *after: str) -> tuple[str, str]:
    """Start a run and a check that runs until it is let go."""
    hold.install(place, *after)
    running(place, hold.run)
    ids = place.begin("focused", hold.run)
    hold.begun()
    return ids


def ticket(place: Place, ids: tuple[str, str]) -> Ticket:
    """Give the ticket of a check under way."""
    found = read_ticket(place.root / ".flow" / "checks", *ids)
    assert found is not None
    return found


def kill_keeper(place: Place, ids: tuple[str, str], number: int) -> None:
    """Send a signal to the process that runs a check, and wait until that has ended."""
    keeper = ticket(place, ids).pid
    os.kill(keeper, number)
    until(lambda: not is_alive(keeper))
    place.settled()


@contextmanager
def elsewhere(place: Place, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Do something in another process."""
    command = [sys.executable, "-m", "tests.engine.elsewhere", str(place.root), *words]
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: "subprocess.Popen[str]") -> str:
    """Wait for the next line that another process says."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def said(place: Place, *words: str) -> str:
    """Give the last word of another process."""
    with elsewhere(place, *words) as process:
        return process.communicate(timeout=60)[0].splitlines()[-1]


def operations(document: Document) -> list[str]:
    """Name the operations of a document."""
    return [operation.kind for operation in document.operations]


def listed(place: Place, seen: Observation) -> tuple[str, ...]:
    """Give the passing cases of an observation."""
    assert seen.report is not None
    return place.state().facts.lines[str(seen.report.passing)]
