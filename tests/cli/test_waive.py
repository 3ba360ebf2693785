import pytest

from tests.cli.conftest import Flow
from tests.cli.rig import CONFIRM, Project

YES = ((CONFIRM, "yes\n"),)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [("case", "add", "add"), ("path", "tests/check.py", "tests/check.py"), ("proof", "slug", "slug")],
)
def test_a_person_waives_one_thing(worked: Project, typed: Flow, kind: str, name: str, value: str) -> None:
    ended = typed("waive", kind, name, "--because", "It is wrong.", script=YES)
    assert ended.code == 0
    (entry,) = worked.document.allowances
    assert (entry.kind, entry.because, entry.channel) == (kind, "It is wrong.", "terminal-unverified")
    assert value in entry.value
    for shown in (entry.value, "It is wrong.", entry.source, "Add slug"):
        assert shown in ended.err


def test_the_answer_is_one_json_value(worked: Project, typed: Flow) -> None:
    ended = typed("waive", "proof", "slug", "--because", "Plain.", "--json", script=YES)
    assert ended.body["waived"] == {"kind": "proof", "value": "slug"}
    assert len(worked.document.allowances) == 1


def test_what_does_not_exist_is_refused_before_anyone_is_asked(worked: Project, typed: Flow) -> None:
    for kind, name in (("case", "nope"), ("path", "tests/*.py"), ("proof", "nope")):
        ended = typed("waive", kind, name, "--because", "Plain.", script=())
        assert ended.code == 3
        assert "review.waived-by-person" in ended.err
    assert worked.document.allowances == ()


def test_a_caller_never_waives(worked: Project, flow: Flow) -> None:
    ended = flow("waive", "proof", "slug", "--because", "Plain.", "--yes")
    assert (ended.code, "Only a person waives." in ended.text) == (3, True)
    assert worked.document.allowances == ()


def test_an_unknown_kind_a_missing_name_and_a_name_of_two_lines_are_mistakes(worked: Project, flow: Flow) -> None:
    for arguments in (("everything", "x"), ("case",), ("case", "a\nb"), ("case", "")):
        ended = flow("waive", *arguments, "--because", "Plain.", "--yes")
        assert (ended.code, ended.out) == (2, "")
        assert ended.text
    assert worked.document.allowances == ()


def test_an_unknown_plan_is_refused(worked: Project, typed: Flow) -> None:
    assert typed("waive", "proof", "slug", "--because", "Plain.", "--plan", "nope", script=()).code == 3
    assert worked.document.allowances == ()
