"""One proposal for a gate, and the words that every kind of project needs to make one."""

import re
import shlex
from dataclasses import dataclass

REPORT = ".flow/reports/gate.xml"

_OWN_REPORT = re.compile(r"(?P<way>(?:\.\./)*)(?P<report>\.flow/reports/[\w-]+(?:[./][\w-]+)*\.xml)")


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A gate as the project's own files speak for it.

    Attributes:
        kind: the runner: pytest, unittest, django, vitest, jest, mocha, node, npm, go, cargo, make or ctest.
        folder: the folder of the workspace that it is for; empty for the top.
        run: the command, to be run at the top of the workspace.
        report: where it writes its JUnit report, from the top.
        no_report_because: why it writes none; a person has to approve that.
        seen: what it was recognised by.
        notes: what to know before it is used, a sentence each.
    """

    kind: str
    folder: str
    run: str
    report: str | None
    no_report_because: str | None
    seen: str
    notes: tuple[str, ...]


def reporting(kind: str, folder: str, run: str, seen: str, *notes: str) -> Suggestion:
    """Propose a command that writes the report; ``{report}`` in it is the way there."""
    return Suggestion(
        kind, folder, _within(folder, run.replace("{report}", up(folder) + REPORT)), REPORT, None, seen, notes
    )


def reportless(kind: str, folder: str, run: str, because: str, seen: str, *notes: str) -> Suggestion:
    """Propose a command that writes no report, and say why."""
    return Suggestion(kind, folder, _within(folder, run), None, because, seen, notes)


def with_own_report(kind: str, folder: str, run: str, report: str, seen: str) -> Suggestion:
    """Propose a command that writes a report of its own choice below ``.flow/reports/``."""
    return Suggestion(kind, folder, _within(folder, run), report, None, seen, ())


def own_report(folder: str, text: str) -> str | None:
    """Give the report below ``.flow/reports/`` that a script of a folder names."""
    found = (match["report"] for match in _OWN_REPORT.finditer(text) if match["way"] == up(folder))
    return next(found, None)


def _within(folder: str, run: str) -> str:
    return f"cd {shlex.quote(folder)} && {run}" if folder else run


def up(folder: str) -> str:
    """Give the way from a folder to the top of the workspace, with a closing slash, or nothing at the top."""
    return "../" * len(folder.split("/")) if folder else ""
