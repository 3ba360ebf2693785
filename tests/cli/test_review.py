import os
import re
import subprocess

import pytest

from flow_mcp.domain.commands import RunReset
from tests.cli.conftest import Flow
from tests.cli.rig import CONFIRM, FLOW, Project, interrupted, terminal

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
        ("seen where", "\x1b\n"),
        ("cannot be recorded", "slug('x')\n"),
        ("A blocking finding", "\n"),
        ("in a sentence:", "Not yet.\n"),
        YES,
    )
    ended = typed("review", script=script)
    assert ended.code == 0
    assert result(pending) == ("failed", "Not yet.", [("blocking", "slug drops accents", "slug('x')")])
    assert ended.err.index("app.py") < ended.err.index("pass or fail:")


def test_a_mistyped_finding_is_taken_back(pending: Project, typed: Flow) -> None:
    script = (
        ("pass or fail:", "fail\n"),
        ("A blocking finding:", "slgu\n"),
        ("What was seen where (back takes this finding back):", "back\n"),
        ("A blocking finding:", "slug drops accents\n"),
        ("seen where", "slug('x')\n"),
        ("back takes the last one back):", "another\n"),
        ("seen where", "nowhere\n"),
        ("back takes the last one back):", "back\n"),
        ("back takes the last one back):", "back\n"),
        ("A blocking finding:", "slug keeps blanks\n"),
        ("seen where", "slug(' ')\n"),
        ("back takes the last one back):", "\n"),
        ("in a sentence:", "Not yet.\n"),
        YES,
    )
    ended = typed("review", "--json", script=script)
    assert result(pending) == ("failed", "Not yet.", [("blocking", "slug keeps blanks", "slug(' ')")])
    assert ended.body["reviewer"] == "person (terminal-unverified)"


def test_where_a_prior_finding_is_carried_all_that_was_written_can_be_taken_back(pending: Project, typed: Flow) -> None:
    typed("review", "--fail", "--summary", "Not yet.", "--finding", BLOCKING, script=(YES,))
    reset_and_ask_again(pending)
    script = (
        ("pass or fail:", "fail\n"),
        ("A blocking finding (an empty line ends):", "another\n"),
        ("seen where", "nowhere\n"),
        ("back takes the last one back):", "back\n"),
        ("A blocking finding (an empty line ends):", "\n"),
        ("in a sentence:", "Still.\n"),
        YES,
    )
    assert typed("review", script=script).code == 0
    assert [one[1] for one in result(pending, 1)[2]] == ["slug drops accents"]


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


def test_a_script_is_refused_at_once_and_not_prompted(pending: Project, flow: Flow) -> None:
    for arguments in ((), ("--pass",), ("--summary", "x")):
        ended = flow("review", "--yes", *arguments)
        assert (ended.code, "review.reserved-identity" in ended.err) == (3, True)
    ended = flow("review", "--yes", "--pass", "--summary", "")
    assert (ended.code, "summary" in ended.text) == (2, True)
    assert pending.document.runs[0].state == "active"


def test_a_mistyped_verdict_and_an_empty_answer_are_asked_for_again(pending: Project, typed: Flow) -> None:
    script = (
        ("pass or fail:", "maybe\n"),
        ("a verdict is pass or fail. Again:", "\n"),
        ("Again:", "fail\n"),
        ("A blocking finding:", "\n"),
        ("it is empty. Again:", "slug drops accents\n"),
        ("seen where", "\n"),
        ("Again:", "slug('x')\n"),
        ("(an empty line ends, back takes the last one back):", "\n"),
        ("in a sentence:", "\n"),
        ("Again:", "Not yet.\n"),
        YES,
    )
    assert typed("review", script=script).code == 0
    assert result(pending) == ("failed", "Not yet.", [("blocking", "slug drops accents", "slug('x')")])


@pytest.mark.parametrize(
    ("first", "asked"),
    [
        ((), ("pass or fail:", "maybe\n")),
        ((("pass or fail:", "pass\n"),), ("sentence:", "\n")),
        ((("pass or fail:", "fail\n"),), ("A blocking finding:", "\n")),
        ((("pass or fail:", "fail\n"), ("A blocking finding:", "x\n")), ("seen where", "\n")),
    ],
)
def test_an_answer_that_stays_none_records_nothing(
    pending: Project, typed: Flow, first: tuple[tuple[str, str], ...], asked: tuple[str, str]
) -> None:
    ended = typed("review", script=(*first, asked, *([("Again:", asked[1])] * 3)))
    assert ended.code == 2
    assert "nothing was recorded" in ended.err
    assert pending.document.runs[0].state == "active"


def test_the_differences_are_shown_out_of_flows_own_store(pending: Project, typed: Flow) -> None:
    ended = typed("review", "--pass", "--summary", "Fine.", script=((CONFIRM, "no\n"),))
    for shown in (
        "app.py",
        "+def slug(text):",
        "+    return text.lower()",
        "The feature's first run started from the approved source.",
    ):
        assert shown in ended.err
    pending.write("app.py", "moved on\n")
    again = typed("review", "--fail", "--summary", "No.", "--finding", BLOCKING, script=((CONFIRM, "no\n"),))
    assert "+def slug(text):" in again.err
    assert "moved on" not in again.err


@pytest.mark.parametrize("arguments", [(), ("--pass",), ("--pass", "--summary", "Fine.")])
def test_a_terminal_is_missed_only_once_there_is_something_to_judge(
    pending: Project, flow: Flow, arguments: tuple[str, ...]
) -> None:
    ended = flow("review", *arguments)
    assert (ended.code, "no terminal" in ended.err) == (2, True)
    assert "--yes" not in ended.err
    assert "`flow-mcp serve --role reviewer`" in ended.err
    pending.ask(RunReset(feature_id="slug", reason="again", next_feature_id="slug"))
    ended = flow("review", *arguments)
    assert (ended.code, "No assignment is pending." in ended.err, "no terminal" in ended.err) == (3, True, False)


def test_a_pass_with_a_blocking_finding_is_refused(pending: Project, typed: Flow) -> None:
    ended = typed("review", "--pass", "--summary", "Fine.", "--finding", BLOCKING, script=())
    assert (ended.code, "review.passed-clean" in ended.err) == (3, True)
    assert pending.document.runs[0].state == "active"


def test_without_an_assignment_or_with_an_unknown_plan_it_is_refused(worked: Project, typed: Flow) -> None:
    ended = typed("review", script=())
    assert (ended.code, "No assignment is pending." in ended.err) == (3, True)
    assert typed("review", "nope", script=()).code == 3
    assert worked.document.runs[0].state == "active"


def test_the_packet_is_read_at_80_columns(pending: Project) -> None:
    typing = (("pass or fail:", "pass\n"), ("in a sentence:", "It does.\n"), (CONFIRM, "y\n"))
    with terminal(*typing) as (slave, person):
        shown = {**os.environ, "COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}
        process = subprocess.Popen(
            [FLOW, "review"], cwd=pending.root, env=shown, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        assert process.wait(60) == 0
        text = re.sub(r"\x1b\[[0-9;]*m", "", person.seen)
    lines = [line.rstrip() for line in text.splitlines()]
    assert max(map(len, lines)) <= 80
    assert lines[0] == "Add slug: running, 0 of 1 features passed."
    assert "+def slug(text):" in lines
    assert lines.index("+def slug(text):") < lines.index("Observed by Flow itself, on exactly this source:")
    seen = [line for line in lines if line.startswith("- ")]
    assert seen[0].endswith("slug.xml slug passes (focused): 1 passed")
    assert seen[1] == "- the gate passes (broad): 2 passed"
    assert "fails without the change" in " ".join(lines)
    assert "a person at a terminal" in text
    assert "unattested" not in text
    assert "uncollected" not in text
    assert result(pending)[:2] == ("passed", "It does.")


def test_what_must_be_answered_stands_before_the_differences(pending: Project, typed: Flow) -> None:
    typed("review", "--fail", "--summary", "Not yet.", "--finding", BLOCKING, script=(YES,))
    reset_and_ask_again(pending)
    ended = typed("review", "--pass", "--summary", "Fine.", script=((CONFIRM, "no\n"),))
    assert "blocking: slug drops accents (seen: slug('É') gives 'É')" in ended.err
    assert ended.err.index("slug drops accents") < ended.err.index("Changed since the feature's first run started")


def test_a_source_that_moved_is_said_to_the_judge(pending: Project, typed: Flow) -> None:
    pending.write("app.py", "moved on\n")
    ended = typed("review", "--fail", "--summary", "No.", "--finding", BLOCKING, script=((CONFIRM, "no\n"),))
    assert "The workspace moved since the assignment" in ended.err


def test_an_interrupt_at_a_question_records_nothing_and_says_so(pending: Project) -> None:
    code, seen = interrupted(pending, "review", at="pass or fail:")
    assert code == 130
    assert "nothing was recorded" in seen
    assert pending.document.runs[0].state == "active"
