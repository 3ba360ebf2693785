"""Read what a command's JUnit report proves: fresh, plain, bounded, and never more than its cases say."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flow_mcp.domain.case_names import CaseOutcome, outcome_of
from flow_mcp.evidence.report_file import REPORT_BYTES_MAX, Reason, UnreadableReport, opened_report, refuse
from flow_mcp.evidence.report_stream import parse

CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True)
class ReportReading:
    """What a report says of its cases, and whether that can be trusted.

    Attributes:
        readable: whether the report counts as evidence.
        reason: why not; empty when it does. For ``counters-disagree``, ``suite-error`` and ``nameless`` the
            totals and cases are what the report claims; for every other reason there are none.
        detail: where in the file, or what the system said; may be empty. Never content of the file.
        passed: distinct cases that passed, by suite element, class and name.
        failed: distinct cases that failed.
        skipped: distinct cases that were skipped, not run, or failed as expected.
        cases: outcome by case id (see ``case_names``); where several cases share an id, the worst of them.
    """

    readable: bool
    reason: Reason | Literal[""]
    detail: str
    passed: int
    failed: int
    skipped: int
    cases: Mapping[str, CaseOutcome]

    def passes(self) -> bool:
        """Say whether at least one case passed, none failed, and the report can be trusted."""
        return self.readable and self.passed > 0 and self.failed == 0


def read_report(root: Path, relative: str, started_ns: int) -> ReportReading:
    """Read the report that a command has just written; row ``attest.cases``.

    Args:
        root: the folder in which the command ran. Its path is cut out of case names.
        relative: the report's path below it, which begins with ``.flow/reports/``.
        started_ns: the file system's time just before the command started, in nanoseconds
            (``Outcome.started_ns``): the system clock may run a few milliseconds ahead of the file system's.

    Raises:
        ValueError: where ``relative`` is no report's path. Whatever the file holds raises nothing.
    """
    try:
        with opened_report(root, relative, started_ns) as descriptor:
            parsed = parse(_chunks(descriptor), _own_folders(root))
    except UnreadableReport as refusal:
        return ReportReading(False, refusal.reason, refusal.detail, 0, 0, 0, {})  # noqa: FBT003 - field by field
    return ReportReading(
        readable=parsed.doubt is None,
        reason=parsed.doubt or "",
        detail="",
        passed=parsed.passed,
        failed=parsed.failed,
        skipped=parsed.skipped,
        cases=parsed.cases,
    )


def find_case(reading: ReportReading, wanted: str) -> CaseOutcome | Literal["absent"]:
    """Say what the report says of the case named ``wanted``, in any spelling of ``case_names.outcome_of``."""
    return outcome_of(reading.cases, wanted)


def _own_folders(root: Path) -> tuple[str, ...]:
    spellings = {os.fspath(root), os.path.realpath(root)} - {os.sep}
    return tuple(sorted((path.rstrip(os.sep) + os.sep for path in spellings), key=len, reverse=True))


def _chunks(descriptor: int) -> Iterator[bytes]:
    total_bytes = 0
    while chunk := _read(descriptor):
        total_bytes += len(chunk)
        if total_bytes > REPORT_BYTES_MAX:
            refuse("too-large", "")
        yield chunk


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, CHUNK_BYTES)
    except OSError as error:
        refuse("not-accessible", os.strerror(error.errno or 0))
