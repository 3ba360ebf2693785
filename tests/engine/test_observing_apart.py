"""Checks on another source than the current one: the baseline, and proofs."""

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.model import Observation
from flow_mcp.domain.plan import Proof
from flow_mcp.workspace.disposal import disposed
from tests.engine.checking import listed
from tests.engine.place import GATE, Hold, Place, feature, last, lone, plan

PYTEST = "./pytest tests/new.sh"
"""A program of this name is read by what pytest's exit codes mean; here it is a shell script."""


def proving(place: Place, run: str, *lines: str, **more: object) -> None:
    """Do the work of a feature that is proved by a command; ``lines`` is what the command does."""
    place.script(run.split(maxsplit=1)[0].removeprefix("./"), *lines)
    place.git("add", ".")
    place.git("commit", "--quiet", "--message=a runner")
    place.approved(lone(run, proof=True, **more))
    place.done(c.RunStart())
    place.work()


def outcome(seen: Observation) -> tuple[str, str | None]:
    assert seen.proof is not None
    return seen.proof.outcome, seen.proof.control


# In copies.


def test_the_baseline_is_taken_on_the_approved_source_whatever_the_tree_holds(place: Place) -> None:
    approved = place.approved().approvals[0].source
    place.done(c.RunStart())
    place.work()
    place.write("greeting.txt", "nothing\n")
    seen = place.observe("baseline", GATE.run)
    assert (seen.exit_code, seen.source, seen.ineligible) == (0, approved, None)
    assert listed(place, seen) == ("sh :: sh :: old",)
    assert disposed(place.engine.space.private) == []


@pytest.mark.parametrize("scope", ["baseline", "proof"])
@pytest.mark.parametrize("how", ["link", "pth", "apart"])
def test_an_input_that_leads_back_into_the_workspace_makes_a_copy_path_dependent(
    place: Place, scope: str, how: str
) -> None:
    (place.root / "cache").mkdir()
    place.write("cache/pyvenv.cfg", "")
    if how == "link":
        (place.root / "cache" / "here").symlink_to(place.root / "greeting.txt")
    elif how == "pth":
        place.write("cache/editable.pth", f"{place.root}\n")
    place.approved(plan(inputs=("cache",)))
    place.done(c.RunStart())
    place.work()
    more = {"feature_id": "bye"} if scope == "proof" else {}
    seen = place.observe(scope, GATE.run, **more)  # type: ignore[arg-type]
    assert seen.ineligible == (None if how == "apart" else "path-dependent")
    assert seen.report is not None
    assert seen.report.passed == 1
    if scope == "baseline":
        assert listed(place, seen) == (("sh :: sh :: old",) if how == "apart" else ())


def test_a_link_of_the_source_that_names_the_workspace_makes_a_copy_path_dependent(place: Place) -> None:
    (place.root / "here").symlink_to(place.root / "greeting.txt")
    place.git("add", "here")
    place.git("commit", "--quiet", "--message=link")
    place.approved()
    place.done(c.RunStart())
    assert place.observe("baseline", GATE.run).ineligible == "path-dependent"


@pytest.mark.parametrize("scope", ["baseline", "proof"])
def test_a_damaged_private_copy_is_never_run(place: Place, scope: str) -> None:
    place.approved()
    place.done(c.RunStart())
    place.work()
    place.damage("hello\n")
    more = {"feature_id": "bye"} if scope == "proof" else {}
    seen = place.observe(scope, GATE.run, **more)  # type: ignore[arg-type]
    assert (seen.ended, seen.ineligible, seen.proof) == ("not-run", "not-run", None)
    assert "damaged at 'greeting.txt'" in str(seen.sandbox.reason)


# Proofs.


def test_a_named_case_that_fails_without_the_change_proves_it(place: Place) -> None:
    approved = place.approved().approvals[0].source
    place.done(c.RunStart())
    place.work()
    seen = place.observe("proof", GATE.run, feature_id="bye")
    assert seen.proof is not None
    assert outcome(seen) == ("failed", None)
    assert (seen.proof.approved, seen.proof.tests_changed) == (approved, True)
    assert seen.source == place.state().facts.digest


def test_a_case_that_passes_without_the_change_is_said_to(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    place.work()
    place.write("tests/new.sh", "true\n")
    assert outcome(place.observe("proof", GATE.run, feature_id="bye")) == ("passed", None)


def test_a_command_that_was_misused_shows_nothing_of_a_case_that_its_report_names(place: Place) -> None:
    case = '<testsuite><testcase name="new"/></testsuite>'
    place.script("run.sh", "mkdir -p .flow/reports", f"echo '{case}' >$1", "exit 2")
    place.approved()
    place.done(c.RunStart())
    assert outcome(place.observe("proof", GATE.run, feature_id="bye")) == ("usage", None)


@pytest.mark.parametrize(("inside", "expected"), [("<skipped/>", "failed"), ("<failure/>", "failed"), ("", "passed")])
def test_a_skipped_case_does_not_pass(place: Place, inside: str, expected: str) -> None:
    case = f'<testsuite><testcase name="new">{inside}</testcase><testcase name="old"/></testsuite>'
    place.script("run.sh", "mkdir -p .flow/reports", f"echo '{case}' >$1")
    place.approved()
    place.done(c.RunStart())
    assert outcome(place.observe("proof", GATE.run, feature_id="bye")) == (expected, None)


def test_a_case_that_the_report_does_not_name_gives_no_result(place: Place) -> None:
    place.approved(plan(feature(proof=Proof(kind="case", run=GATE.run, case="none-such"))))
    place.done(c.RunStart())
    place.work()
    assert outcome(place.observe("proof", GATE.run, feature_id="bye")) == ("no-result", None)


def test_a_case_that_could_not_be_collected_is_told_from_one_that_is_missing(place: Place) -> None:
    broken = '<testsuite name="pytest"><testcase name="tests/new"><error/></testcase></testsuite>'
    place.script(
        "run.sh", "mkdir -p .flow/reports", "grep -q bye greeting.txt && exit 0", f"echo '{broken}' >$1", "exit 2"
    )
    place.approved()
    place.done(c.RunStart())
    place.work()
    assert outcome(place.observe("proof", GATE.run, feature_id="bye")) == ("uncollected", "ended")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["grep -q bye greeting.txt || exit 1"], "failed"),
        (["exit 0"], "passed"),
        (["grep -q bye greeting.txt || exit 4"], "usage"),
        (["grep -q bye greeting.txt || exec no-such-tool"], "missing-tool"),
        (["grep -q bye greeting.txt || sleep 60"], "timed-out"),
        (["grep -q bye greeting.txt || kill -9 $$"], "no-result"),
        (["grep -q bye greeting.txt || exit 3"], "no-result"),
    ],
)
def test_a_command_that_proves_is_read_by_how_it_ended(place: Place, lines: list[str], expected: str) -> None:
    proving(place, PYTEST, *lines, timeout_s=1 if expected == "timed-out" else 60)
    assert outcome(place.observe("proof", PYTEST, feature_id="bye")) == (expected, None)


UNCOLLECTED = "[ ! -e tests/new.sh ] || grep -q bye greeting.txt || exit 2"
"""The new test cannot be collected without the change."""


@pytest.mark.parametrize(
    ("lines", "control"),
    [
        ([UNCOLLECTED], "ended"),
        ([UNCOLLECTED, "[ -e tests/new.sh ] || exit 1"], "ended"),
        ([UNCOLLECTED, "[ -e tests/new.sh ] || exit 2"], "ended"),
        ([UNCOLLECTED, "[ -e tests/new.sh ] || exit 4"], "passed-with-change"),
        ([UNCOLLECTED, "[ -e tests/new.sh ] || exit 4", "exit 4"], "usage"),
        ([UNCOLLECTED, "[ -e tests/new.sh ] || exit 4", "exit 1"], "usage"),
        ([UNCOLLECTED, "[ -e tests/new.sh ] || exit 127"], "missing-tool"),
        ([UNCOLLECTED, "[ -e tests/new.sh ] || kill -9 $$"], "no-result"),
        ([UNCOLLECTED, "[ -e tests/new.sh ] || sleep 60"], "timed-out"),
    ],
)
def test_what_could_not_be_collected_is_asked_again_without_the_new_test(
    place: Place, lines: list[str], control: str
) -> None:
    proving(place, PYTEST, *lines, timeout_s=1 if control == "timed-out" else 60)
    assert outcome(place.observe("proof", PYTEST, feature_id="bye")) == ("uncollected", control)


def test_a_proof_that_is_cancelled_in_its_control_run_is_cancelled(place: Place, hold: Hold) -> None:
    hold.install(place)
    proving(place, PYTEST, UNCOLLECTED, "[ -e tests/new.sh ] || exec ./hold.sh")
    ids = place.begin("proof", PYTEST, feature_id="bye")
    hold.begun()
    place.checks.cancel(*ids)
    seen = place.ended(*ids)
    assert (seen.exit_code, seen.ineligible) == (2, "cancelled")
    assert outcome(seen) == ("uncollected", "no-result")


def test_unchanged_tests_are_said_to_be_unchanged(place: Place) -> None:
    proving(place, PYTEST, "grep -q bye greeting.txt || exit 1")
    (place.root / "tests" / "new.sh").unlink()
    seen = place.observe("proof", PYTEST, feature_id="bye")
    assert seen.proof is not None
    assert (seen.proof.outcome, seen.proof.tests_changed) == ("failed", False)


def test_todays_tests_are_put_over_the_approved_source_and_no_other_file_is(place: Place) -> None:
    proving(place, PYTEST, "[ ! -e notes.txt ] && [ ! -e tests/old.sh ] && [ -e tests/new.sh ] && exit 1", "exit 0")
    place.write("notes.txt", "not a test\n")
    (place.root / "tests" / "old.sh").unlink()
    assert outcome(place.observe("proof", PYTEST, feature_id="bye")) == ("failed", None)


def test_files_that_the_plan_protects_are_tests_too(place: Place) -> None:
    place.script("verify.sh", "exit 0")
    place.script("pytest", "exec ./verify.sh")
    place.git("add", ".")
    place.git("commit", "--quiet", "--message=a runner")
    wanted = lone(PYTEST, proof=True).model_copy(update={"protected": ("verify.sh",)})
    place.approved(wanted)
    place.done(c.RunStart())
    place.script("verify.sh", "exit 1")
    seen = place.observe("proof", PYTEST, feature_id="bye")
    assert seen.proof is not None
    assert (seen.proof.outcome, seen.proof.tests_changed) == ("failed", True)


def test_edits_of_the_workspace_during_a_proof_do_not_matter(place: Place, hold: Hold) -> None:
    hold.install(place)
    proving(place, PYTEST, "./hold.sh", "grep -q bye tests/new.sh && exit 1")
    ids = place.begin("proof", PYTEST, feature_id="bye")
    hold.begun()
    place.write("tests/new.sh", "true\n")
    hold.release()
    seen = place.ended(*ids)
    assert (seen.ineligible, seen.drifted) == (None, ())
    assert outcome(seen) == ("failed", None)
    assert last(place.document) == seen


def test_what_a_command_leaves_in_a_copy_does_not_reach_the_workspace(place: Place) -> None:
    proving(place, PYTEST, "touch left.txt", "echo worse >greeting.txt", "exit 1")
    place.observe("proof", PYTEST, feature_id="bye")
    place.settled()
    assert not (place.root / "left.txt").exists()
    assert (place.root / "greeting.txt").read_text() == "hello\nbye\n"
