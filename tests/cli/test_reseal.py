import json

import pytest

from flow_mcp.engine.core import Engine
from flow_mcp.store import chain
from flow_mcp.store.documents import rendered
from tests.cli.conftest import Flow
from tests.cli.rig import CONFIRM, Project

YES = ((CONFIRM, "yes\n"),)


@pytest.fixture
def edited(approved: Project) -> Project:
    approved.edit({"goal": "Add slug, and more"})
    return approved


def test_a_person_takes_over_an_edited_document(edited: Project, typed: Flow, flow: Flow) -> None:
    name = edited.path.stem
    assert flow("verify").code == 1
    ended = typed("reseal", name, "--because", "I meant it.", script=YES)
    assert ended.code == 0
    (entry,) = edited.document.reseals
    assert (entry.because, entry.channel) == ("I meant it.", "terminal-unverified")
    for shown in ("Add slug, and more", "not what its last operation left", "I meant it.", "sha256:", "caller's word"):
        assert shown in " ".join(ended.err.split())
    assert flow("verify").code == 0
    assert "plan_approve" in flow("status").out


def test_the_answer_is_one_json_value(edited: Project, typed: Flow) -> None:
    ended = typed("reseal", edited.path.stem, "--because", "I meant it.", "--json", script=YES)
    assert ended.body["resealed"] == edited.document.revision


def test_a_no_leaves_the_document_as_it_is(edited: Project, typed: Flow) -> None:
    before = edited.path.read_bytes()
    assert typed("reseal", edited.path.stem, "--because", "I meant it.", script=((CONFIRM, "no\n"),)).code == 3
    assert edited.path.read_bytes() == before


def test_a_caller_never_reseals(edited: Project, flow: Flow) -> None:
    before = edited.path.read_bytes()
    ended = flow("reseal", edited.path.stem, "--because", "I meant it.", "--yes", "--json")
    assert (ended.code, ended.body["refused"]["rule"]) == (3, "close.accepted-by-person")
    assert edited.path.read_bytes() == before


def test_a_document_that_holds_is_not_resealed(approved: Project, typed: Flow) -> None:
    ended = typed("reseal", approved.path.stem, "--because", "I meant it.", script=())
    assert (ended.code, "write.chain-intact" in ended.err) == (3, True)
    assert typed("reseal", "nope", "--because", "I meant it.", script=()).code == 3
    assert approved.document.reseals == ()


@pytest.mark.parametrize("text", ["{", '{"schema": 1}', '{"schema": 99}'])
def test_what_no_reseal_can_mend_says_what_to_do(edited: Project, typed: Flow, text: str) -> None:
    edited.path.write_text(text)
    ended = typed("reseal", edited.path.stem, "--because", "I meant it.", script=())
    assert ended.code == 4
    assert "mend it by hand" in " ".join(ended.err.split())
    assert edited.path.read_text() == text


def test_a_document_that_changes_while_the_person_reads_is_not_taken_over(
    edited: Project, typed: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    reseal = Engine.reseal

    def late(self: Engine, *arguments: object) -> object:
        edited.edit({"goal": "Something else"})
        return reseal(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "reseal", late)
    ended = typed("reseal", edited.path.stem, "--because", "I meant it.", script=YES)
    assert (ended.code, "approve.exact" in ended.err) == (3, True)
    assert json.loads(edited.path.read_bytes())["goal"] == "Something else"
    assert edited.document.reseals == ()


def test_a_document_whose_chain_was_made_anew_is_told_as_such(approved: Project, typed: Flow) -> None:
    document = approved.document
    bare = document.model_copy(update={"revision": 9, "operations": document.operations[:-1]})
    approved.path.write_bytes(rendered(chain.appended(bare, document.operations[-1])))
    ended = typed("reseal", approved.path.stem, "--because", "I meant it.", script=YES)
    assert (ended.code, "its hash chain is whole" in ended.err) == (0, True)
    assert approved.document.revision == 10
