"""What a check says of a report, and which of its cases count."""

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.plan import Command, Proof
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
    ("lines", "reason"),
    [
        (["exit 0"], "missing"),
        (["echo '<testsuite' >$1"], "not-xml"),
        (["echo '<testsuite/>' >real", "ln -s ../../real $1"], "link"),
        (['echo \'<testsuite failures="1"><testcase name="a"/></testsuite>\' >$1'], "counters-disagree"),
    ],
)
def test_a_report_that_does_not_count_is_recorded_with_its_reason(place: Place, lines: list[str], reason: str) -> None:
    place.script("run.sh", "mkdir -p .flow/reports", *lines)
    place.approved()
    place.done(c.RunStart())
    seen = place.observe("broad", GATE.run)
    assert seen.report is not None
    assert seen.report.reason == reason
    assert (seen.report.passing, seen.exit_code) == (None, 0)
