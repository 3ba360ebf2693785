"""One reason each for a report that hides something, in plain words."""

import pytest

from flow_mcp.domain.model import Observation, Report, Sandbox
from flow_mcp.domain.report_words import disagreement, report_fault, why_unread
from flow_mcp.server.views import observed_sentence
from tests.histories import running

PATH = ".flow/reports/a.xml"


def report(*totals: int, reason: str | None = None, detail: str | None = None) -> Report:
    """Give a report by its passed, failed and skipped cases."""
    passed, failed, skipped = totals or (0, 0, 0)
    return Report(path=PATH, reason=reason, detail=detail, passed=passed, failed=failed, skipped=skipped)


def seen(code: int | None, told: Report | None) -> Observation:
    """Give an observation of a command that ended with a code, and wrote a report."""
    words = {"id": "o", "scope": "focused", "command": "./a", "attested_by": "runner", "ended": "exited"}
    numbers = {"started_revision": 1, "revision": 2, "platform": "linux", "source": "sha256:0", "complete": True}
    found = Observation.model_validate({**words, **numbers, "exit_code": code, "sandbox": Sandbox(tier="none")})
    return found.model_copy(update={"report": told})


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (None, None),
        (report(3, 0, 1), None),
        (report(), "no case was executed"),
        (report(3, 2, 0), "its report shows 2 failed, though the exit code is 0"),
        (
            report(0, 0, 4),
            "its report shows 4 skipped and none executed: a suite that skips everything proves nothing",
        ),
        (
            report(reason="stale"),
            f"its report {PATH} is stale: it is older than the start of the command, so another run wrote it",
        ),
        (
            report(reason="not-xml", detail="line 3, column 9: not well-formed"),
            f"its report {PATH} is not-xml: it is not well-formed XML (line 3, column 9: not well-formed)",
        ),
        (report(reason="of-a-later-version"), f"its report {PATH} is of-a-later-version"),
    ],
)
def test_what_a_report_holds_against_exit_code_0_is_one_reason(told: Report | None, words: str | None) -> None:
    assert report_fault(seen(0, told)) == words
    assert disagreement(seen(0, told)) == words


@pytest.mark.parametrize(
    ("code", "told", "words"),
    [
        (1, report(3, 0, 0), "exit code 1, though its report shows no failure"),
        (1, report(3, 1, 0), None),
        (1, report(0, 0, 3), None),
        (1, report(reason="missing"), None),
        (1, None, None),
        (None, report(3, 0, 0), None),
    ],
)
def test_a_failed_command_with_a_green_report_is_told_as_that(code: int | None, told: Report, words: str) -> None:
    assert disagreement(seen(code, told)) == words


def test_a_report_that_counts_is_not_called_unread() -> None:
    assert why_unread(report(1, 0, 0)) is None


@pytest.mark.parametrize(
    ("code", "told", "end"),
    [
        (
            0,
            report(0, 0, 4),
            "does not pass (focused): its report shows 4 skipped and none executed: a suite that skips",
        ),
        (0, report(1, 1, 0), "does not pass (focused): its report shows 1 failed, though the exit code is 0."),
        (7, report(1, 0, 0), "does not pass (focused): exit code 7, though its report shows no failure."),
        (2, report(reason="missing"), "(focused): it ended as if it had been called wrongly"),
    ],
)
def test_agent_and_person_are_told_the_reason_with_the_check(code: int, told: Report, end: str) -> None:
    assert end in observed_sentence(running().document, seen(code, told))
