"""A person at a terminal is told that the document was put back before they answer."""

from pathlib import Path

from flow_mcp.domain.commands import RunStart
from tests.cli.conftest import Flow
from tests.cli.rig import CONFIRM, Project

YES = (CONFIRM, "yes\n")
WORDS = "The document was put back from revision"


def path_of(project: Project) -> Path:
    (path,) = (project.root / "plans").glob("*.json")
    return path


def test_the_packet_of_a_review_tells_of_it(pending: Project, typed: Flow, flow: Flow) -> None:
    earlier = path_of(pending).read_bytes()
    failed = typed("review", "--fail", "--summary", "No.", "--finding", "blocking: no :: app.py", script=(YES,))
    assert failed.code == 0
    assert WORDS not in failed.err
    path_of(pending).write_bytes(earlier)
    assert WORDS in flow("status").text
    passed = typed("review", "--pass", "--summary", "It does.", script=(YES,))
    assert passed.code == 0
    assert WORDS in passed.err
    assert pending.document.taken_back is not None


def test_a_person_who_reseals_an_earlier_document_is_told_of_it(approved: Project, typed: Flow) -> None:
    earlier = path_of(approved).read_bytes()
    approved.ask(RunStart())
    path_of(approved).write_bytes(earlier)
    approved.edit({"goal": "Something else"})
    ended = typed("reseal", path_of(approved).stem, "--because", "I meant it.", script=(YES,))
    assert ended.code == 0
    assert WORDS in ended.err
    assert approved.document.taken_back is not None
