"""What a check says of a report, and which of its cases count."""

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.history import passes
from flow_mcp.domain.plan import Command, Proof
from flow_mcp.server.views import observed_sentence
from tests.engine.checking import listed
from tests.engine.place import GATE, Place, external, feature, plan


def test_passing_cases_are_listed_sorted_and_each_named_case_has_its_outcome(place: Place) -> None:
    wanted = plan(feature(proof=Proof(kind="case", run=GATE.run, case="old")), **external(GATE_COMMAND, "new", "gone"))
    place.approved(wanted)
    place.done(c.RunStart())
    place.work()
    seen = place.observe("broad", GATE.run)
    assert seen.report is not None
    assert {entry.case: entry.outcome for entry in seen.report.cases} == {
        "old": "passed",
        "new": "passed",
        "gone": "absent",
    }
    assert (seen.report.passed, seen.report.failed, seen.report.skipped, seen.report.reason) == (2, 0, 0, None)
    assert listed(place, seen) == ("sh :: sh :: new", "sh :: sh :: old")


GATE_COMMAND = Command(run=GATE.run, report=GATE.report)


def test_a_case_that_fails_is_not_listed(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    place.work()
    place.write("greeting.txt", "bye\n")
    seen = place.observe("broad", GATE.run)
    assert seen.report is not None
    assert (seen.exit_code, seen.report.failed) == (1, 1)
    assert listed(place, seen) == ("sh :: sh :: new",)


@pytest.mark.parametrize(
    ("lines", "reason", "detail"),
    [
        (["exit 0"], "missing", None),
        (["echo '<testsuite' >$1"], "not-xml", "line 1, column 1: unclosed token"),
        (["echo '<testsuite/>' >real", "ln -s ../../real $1"], "link", None),
        (['echo \'<testsuite failures="1"><testcase name="a"/></testsuite>\' >$1'], "counters-disagree", None),
    ],
)
def test_a_report_that_does_not_count_is_recorded_with_its_reason_and_place(
    place: Place, lines: list[str], reason: str, detail: str | None
) -> None:
    place.script("run.sh", "mkdir -p .flow/reports", *lines)
    place.approved()
    place.done(c.RunStart())
    seen = place.observe("broad", GATE.run)
    assert seen.report is not None
    assert seen.report.reason == reason
    assert seen.report.detail == detail
    assert (seen.report.passing, seen.exit_code) == (None, 0)


CASE = '<testcase classname="c" name="a"/>'


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (
            ["echo '<testsuite><testcase name=\"a\"><skipped/></testcase></testsuite>' >$1"],
            "shows 1 skipped and none executed: a suite that skips everything proves nothing",
        ),
        (
            [f"echo '<testsuite>{CASE}<testcase name=\"b\"><failure/></testcase></testsuite>' >$1"],
            "its report shows 1 failed, though the exit code is 0",
        ),
        ([f"echo '<testsuite>{CASE}</testsuite>' >$1", "exit 3"], "exit code 3, though its report shows no failure"),
        (
            [f"echo '<testsuite>{CASE}</testsuite>' >old", "touch -d @1000000000 old", "mv old $1"],
            f"its report {GATE.report} is stale: it is older than the start of the command, so another run wrote it",
        ),
    ],
)
def test_a_report_that_hides_something_is_told_in_one_sentence(place: Place, lines: list[str], told: str) -> None:
    place.script("run.sh", "mkdir -p .flow/reports", *lines)
    place.approved()
    place.done(c.RunStart())
    seen = place.observe("broad", GATE.run)
    assert not passes(plan(), seen)
    sentence = observed_sentence(place.document, seen)
    assert sentence.endswith(f"{told}.")
    assert "does not pass (broad): " in sentence
