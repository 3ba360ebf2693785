import pytest

from flow_mcp.domain.commands import RunReset
from tests.cli.conftest import Flow
from tests.cli.rig import CONFIRM, Project

YES = (CONFIRM, "yes\n")
BLOCKING = "blocking: slug drops accents :: slug('É') gives 'É'"


def result(project: Project, run: int = 0) -> tuple[str, str, list[tuple[str, str, str | None]]]:
    review = project.document.runs[run].review
    assert review is not None
    assert review.result is not None
    found: list[tuple[str, str, str | None]] = [
        (one.severity, one.summary, one.evidence) for one in review.result.findings
    ]
    return review.result.verdict, review.result.summary, found


def test_a_person_passes_the_review_with_flags(pending: Project, typed: Flow) -> None:
    arguments = ("--pass", "--summary", "It does.", "--finding", "advisory: name it slugify")
    ended = typed("review", *arguments, script=(YES,))
    assert ended.code == 0
    assert result(pending) == ("passed", "It does.", [("advisory", "name it slugify", None)])
    review = pending.document.runs[0].review
    assert review is not None
    assert review.result is not None
    assert (review.result.reviewer.by, review.result.reviewer.channel) == ("person", "terminal-unverified")
    for shown in ("review-", "app.py", "slug() is there", "It does.", "name it slugify"):
        assert shown in ended.err
    assert "close" in ended.out


def test_a_person_fails_the_review_with_flags(pending: Project, typed: Flow) -> None:
    ended = typed("review", "--fail", "--summary", "Not yet.", "--finding", BLOCKING, "--json", script=(YES,))
    assert ended.body["state"] == "failed"
    assert ended.body["findings"] == [f"slug.R{pending.document.revision - 1}-01"]
    assert result(pending) == ("failed", "Not yet.", [("blocking", "slug drops accents", "slug('É') gives 'É'")])


def test_what_is_missing_is_asked_for_after_the_packet(pending: Project, typed: Flow) -> None:
    script = (
        ("pass or fail:", "fail\n"),
        ("A blocking finding", "slug drops accents\n"),
        ("seen where:", "\x1b\n"),
        ("cannot be recorded", "slug('x')\n"),
        ("A blocking finding", "\n"),
        ("in a sentence:", "Not yet.\n"),
        YES,
    )
    ended = typed("review", script=script)
    assert ended.code == 0
    assert result(pending) == ("failed", "Not yet.", [("blocking", "slug drops accents", "slug('x')")])
    assert ended.err.index("app.py") < ended.err.index("pass or fail:")


def test_only_the_missing_summary_is_asked_for(pending: Project, typed: Flow) -> None:
    assert typed("review", "--pass", script=(("in a sentence:", "It does.\n"), YES)).code == 0
    assert result(pending) == ("passed", "It does.", [])


def test_a_failed_review_carries_what_lives(pending: Project, typed: Flow) -> None:
    typed("review", "--fail", "--summary", "Not yet.", "--finding", BLOCKING, script=(YES,))
    (first,) = pending.document.runs[0].review.result.findings  # type: ignore[union-attr]
    reset_and_ask_again(pending)
    script = (("pass or fail:", "fail\n"), ("A blocking finding", "\n"), ("in a sentence:", "Still.\n"), YES)
    ended = typed("review", script=script)
    assert ended.code == 0
    assert first.id in ended.err
    assert result(pending, 1) == ("failed", "Still.", [("blocking", first.summary, first.evidence)])


def test_a_finding_is_carried_by_its_id_and_dropping_it_is_refused(pending: Project, typed: Flow) -> None:
    typed("review", "--fail", "--summary", "Not yet.", "--finding", BLOCKING, script=(YES,))
    (first,) = pending.document.runs[0].review.result.findings  # type: ignore[union-attr]
    reset_and_ask_again(pending)
    other = ("--fail", "--summary", "Still.", "--finding", "blocking: other :: there")
    refused = typed("review", *other, script=())
    assert (refused.code, "review.findings-carried" in refused.err) == (3, True)
    unknown = typed("review", *other, "--carry", "slug.R1-01", script=())
    assert (unknown.code, first.id in unknown.err) == (2, True)
    assert typed("review", *other, "--carry", first.id, script=(YES,)).code == 0
    assert [one[1] for one in result(pending, 1)[2]] == ["other", first.summary]


def reset_and_ask_again(project: Project) -> None:
    project.ask(RunReset(feature_id="slug", reason="answer it", next_feature_id="slug"))
    project.write("app.py", (project.root / "app.py").read_text() + "# again\n")
    project.pending()


def test_a_script_is_no_reviewer(pending: Project, flow: Flow) -> None:
    before = pending.path.read_bytes()
    ended = flow("review", "--pass", "--summary", "Fine.", "--yes", "--json")
    assert (ended.code, ended.body["refused"]["rule"]) == (3, "review.reserved-identity")
    assert pending.path.read_bytes() == before


def test_a_script_is_not_prompted(pending: Project, flow: Flow) -> None:
    for arguments in ((), ("--pass",), ("--summary", "x"), ("--pass", "--summary", "")):
        ended = flow("review", "--yes", *arguments)
        assert ended.code == 2
        assert "summary" in ended.text
    assert pending.document.runs[0].state == "active"


@pytest.mark.parametrize(
    "script", [(("pass or fail:", "maybe\n"),), (("pass or fail:", "pass\n"), ("sentence:", "\n"))]
)
def test_an_answer_that_is_none_records_nothing(
    pending: Project, typed: Flow, script: tuple[tuple[str, str], ...]
) -> None:
    ended = typed("review", script=script)
    assert ended.code == 2
    assert "Nothing was recorded" in ended.err or "nothing was recorded" in ended.err
    assert pending.document.runs[0].state == "active"


def test_a_pass_with_a_blocking_finding_is_refused(pending: Project, typed: Flow) -> None:
    ended = typed("review", "--pass", "--summary", "Fine.", "--finding", BLOCKING, script=())
    assert (ended.code, "review.passed-clean" in ended.err) == (3, True)
    assert pending.document.runs[0].state == "active"


def test_without_an_assignment_or_with_an_unknown_plan_it_is_refused(worked: Project, typed: Flow) -> None:
    ended = typed("review", script=())
    assert (ended.code, "No assignment is pending." in ended.err) == (3, True)
    assert typed("review", "nope", script=()).code == 3
    assert worked.document.runs[0].state == "active"
