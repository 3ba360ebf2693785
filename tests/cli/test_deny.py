from tests.cli.conftest import Flow
from tests.cli.rig import CONFIRM, Project

YES = ((CONFIRM, "yes\n"),)


def test_a_no_is_recorded_with_its_reason_for_the_next_draft(drafted: Project, typed: Flow) -> None:
    ended = typed("deny", "--because", "Too broad.", script=YES)
    assert ended.code == 0
    (no,) = drafted.document.denials
    assert (no.because, no.channel) == ("Too broad.", "terminal-unverified")
    assert "Too broad." in ended.err
    assert "plan_save" in ended.out


def test_the_answer_is_one_json_value(drafted: Project, typed: Flow) -> None:
    ended = typed("deny", "--because", "Too broad.", "--json", script=YES)
    assert ended.body["denied"] == "Too broad."
    assert ended.body["revision"] == drafted.document.revision


def test_a_reason_is_needed(drafted: Project, flow: Flow) -> None:
    for arguments in ((), ("--because", ""), ("--because", "  "), ("--because", "a\x1b[2Jb"), ("--because", "\udcff")):
        ended = flow("deny", "--yes", *arguments)
        assert (ended.code, ended.out) == (2, "")
        assert "--because" in ended.text
    assert drafted.document.denials == ()


def test_an_approved_plan_cannot_be_denied(approved: Project, typed: Flow) -> None:
    ended = typed("deny", "--because", "Too late.", script=())
    assert ended.code == 3
    assert "approve.exact" in ended.err
    assert approved.document.denials == ()


def test_a_scripts_no_is_the_callers(drafted: Project, flow: Flow) -> None:
    assert flow("deny", "--because", "No.", "--yes").code == 0
    assert drafted.document.denials[0].channel == "caller"


def test_a_named_plan_that_is_not_there_is_refused(drafted: Project, typed: Flow) -> None:
    assert typed("deny", "nope", "--because", "No.", script=()).code == 3
    assert drafted.document.denials == ()
