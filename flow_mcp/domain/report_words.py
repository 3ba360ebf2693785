"""Why a report keeps a command from passing, in plain words; row ``attest.cases``."""

from collections.abc import Mapping
from typing import Final

from flow_mcp.domain.model import Observation, Report

REASONS: Final[Mapping[str, str]] = {
    "missing": "the command wrote none",
    "stale": "it is older than the start of the command, so another run wrote it",
    "link": "it, or a folder on the way to it, is a link",
    "hard-link": "its file has a second name elsewhere",
    "not-regular": "what stands at its path is no plain file",
    "not-accessible": "it cannot be opened or read",
    "not-supported": "reports cannot be read safely on this platform",
    "empty": "the test runner did not end as it should",
    "too-large": "it is larger than 64 MiB",
    "not-xml": "it is not well-formed XML",
    "doctype": "it declares a document type, which no test runner writes",
    "encoding": "it is in an encoding that is not read",
    "not-junit": "it is XML, but no JUnit report",
    "misplaced-case": "it holds a suite or case inside something that is no suite",
    "over-limits": "it is larger in some way than any honest one",
    "counters-disagree": "it counts failures or tests that none of its cases shows",
    "suite-error": "it holds a failure outside every case: something went wrong around the tests",
    "nameless": "it holds a case without a name: the run was cut off, or its cases cannot be told apart",
}
"""What each reason means, to go behind ``its report is <reason>:``."""


def why_unread(report: Report) -> str | None:
    """Say which report does not count and why, and where in it that was seen; None where it counts."""
    if report.reason is None:
        return None
    words = REASONS.get(report.reason)
    place = "" if report.detail is None else f" ({report.detail})"
    return f"{report.path} is {report.reason}{'' if words is None else f': {words}'}{place}"


def report_fault(seen: Observation) -> str | None:
    """Say in one clause why a report keeps a command from passing that ended well; None where it does not."""
    report = seen.report
    if report is None:
        return None
    unread = why_unread(report)
    if unread is not None:
        return f"its report {unread}"
    if report.failed:
        return f"its report shows {report.failed} failed, though the exit code is 0"
    if report.passed:
        return None
    if report.skipped:
        return (
            f"its report shows {report.skipped} skipped and none executed: a suite that skips everything proves nothing"
        )
    return "no case was executed"


def disagreement(seen: Observation) -> str | None:
    """Say in one clause what the report shows that the exit code hides, or the other way round; None where they agree.

    It is one of: a report of a command that ended with exit code 0 keeps it from passing; or the command failed, though
    its report shows no failure.
    """
    if seen.exit_code == 0:
        return report_fault(seen)
    report = seen.report
    is_green = report is not None and report.reason is None and report.passed > 0 and report.failed == 0
    return f"exit code {seen.exit_code}, though its report shows no failure" if is_green and seen.exit_code else None
