import os
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Document
from flow_mcp.domain.rule import ALL_RULES, Rulebook
from flow_mcp.store import chain
from flow_mcp.store.documents import Damaged, Stored, rendered
from flow_mcp.store.furthest import POINT_BYTES_MAX, WorktreePlans
from tests.store.records import draft, finished

WHOLE = finished()


@pytest.fixture
def plans(tmp_path: Path) -> WorktreePlans:
    (tmp_path / ".flow").mkdir()
    return WorktreePlans(tmp_path / "plans", ALL_RULES, tmp_path / ".flow")


def save(plans: WorktreePlans, document: Document) -> Document:
    plans.save(document, {}, rendered(document))
    return document


def put(plans: WorktreePlans, document: Document) -> None:
    """Put a document in place as git does."""
    (plans.folder / "p.json").write_bytes(rendered(document))


def loaded(plans: WorktreePlans) -> Document:
    held = plans.load_all()["p"]
    assert isinstance(held, Stored), held
    return held.document


def point(tmp_path: Path) -> Path:
    return tmp_path / ".flow" / "furthest" / "p.json"


def test_what_was_saved_is_loaded_as_it_is(plans: WorktreePlans, tmp_path: Path) -> None:
    assert loaded_after_save(plans) == draft()
    assert sorted(path.name for path in point(tmp_path).parent.iterdir()) == ["p.json"]


def loaded_after_save(plans: WorktreePlans) -> Document:
    save(plans, draft())
    return loaded(plans)


def test_one_that_was_put_back_says_so_and_its_file_stays_as_it_is(plans: WorktreePlans) -> None:
    save(plans, WHOLE)
    put(plans, draft())
    found = loaded(plans)
    assert found.taken_back is not None
    (entry,) = found.taken_back
    assert (entry.from_revision, entry.to_revision, entry.after, entry.revision) == (WHOLE.revision, 1, "close", 2)
    assert found.model_copy(update={"taken_back": None}) == draft()
    held = plans.load("p")
    assert held is not None
    assert held.document == draft()


def test_another_process_knows_it_too_and_another_worktree_does_not(plans: WorktreePlans, tmp_path: Path) -> None:
    save(plans, WHOLE)
    put(plans, draft())
    assert loaded(WorktreePlans(plans.folder, ALL_RULES, tmp_path / ".flow")).taken_back is not None
    assert loaded(WorktreePlans(plans.folder, ALL_RULES, tmp_path / "other")).taken_back is None


def further(document: Document) -> Document:
    """Give the document one save later."""
    revision = document.revision + 1
    entry = document.operations[-1].model_copy(update={"id": f"op-{revision}", "revision": revision})
    return chain.appended(document.model_copy(update={"revision": revision}), entry)


def test_a_newer_document_that_goes_on_from_here_is_no_setback(plans: WorktreePlans) -> None:
    here = save(plans, further(draft()))
    for newer in (further(here), further(further(here))):
        put(plans, newer)
        assert loaded(plans) == newer


def test_a_newer_document_of_another_line_of_history_is_one(plans: WorktreePlans) -> None:
    save(plans, further(draft()))
    put(plans, further(further(draft(summary="Elsewhere."))))
    found = loaded(plans).taken_back
    assert found is not None
    assert [(one.from_revision, one.to_revision, one.revision) for one in found] == [(2, 3, 4)]


def test_a_closed_document_is_given_as_it_is(plans: WorktreePlans) -> None:
    save(plans, draft(summary="Another one."))
    put(plans, WHOLE)
    assert loaded(plans) == WHOLE


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"nonsense",
        b"[" * POINT_BYTES_MAX,
        b"{}",
        b'{"revision": 1e999}',
        b'{"revision":0,"head":"sha256:%s","kind":"close","taken_back":[]}' % (b"0" * 64),
        b'{"revision":1000000001,"head":"sha256:%s","kind":"close","taken_back":[]}' % (b"0" * 64),
        b'{"revision":9,"head":"sha256:%s","kind":"close). All is well. (","taken_back":[]}' % (b"0" * 64),
        b'{"revision":9,"head":"head","kind":"close","taken_back":[]}',
        b" " * (POINT_BYTES_MAX + 1),
    ],
)
def test_a_point_that_is_nonsense_is_ignored_and_replaced(plans: WorktreePlans, tmp_path: Path, data: bytes) -> None:
    save(plans, draft())
    point(tmp_path).write_bytes(data)
    assert loaded(plans) == draft()
    save(plans, WHOLE)
    put(plans, draft())
    assert loaded(plans).taken_back is not None


def link(path: Path) -> None:
    other = path.with_name("elsewhere")
    path.rename(other)
    path.symlink_to(other)


def hard_link(path: Path) -> None:
    os.link(path, path.with_name("elsewhere"))


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("plant", [link, hard_link, pipe])
def test_a_planted_point_is_ignored_and_replaced(
    plans: WorktreePlans, tmp_path: Path, plant: Callable[[Path], None]
) -> None:
    save(plans, WHOLE)
    plant(point(tmp_path))
    put(plans, draft())
    assert loaded(plans) == draft()
    before = {path.name: path.read_bytes() for path in point(tmp_path).parent.glob("elsewhere")}
    save(plans, WHOLE)
    assert {path.name: path.read_bytes() for path in point(tmp_path).parent.glob("elsewhere")} == before
    put(plans, draft())
    assert loaded(plans).taken_back is not None


def folder_of_point(path: Path) -> None:
    path.unlink()
    path.mkdir()


def file_for_folder(path: Path) -> None:
    path.unlink()
    path.parent.rmdir()
    path.parent.write_text("planted")


def link_for_folder(path: Path) -> None:
    away = path.parent.with_name("away")
    path.parent.rename(away)
    path.parent.symlink_to(away)


@pytest.mark.parametrize("plant", [folder_of_point, file_for_folder, link_for_folder])
def test_where_no_point_can_be_kept_documents_are_saved_and_loaded_all_the_same(
    plans: WorktreePlans, tmp_path: Path, plant: Callable[[Path], None]
) -> None:
    save(plans, WHOLE)
    plant(point(tmp_path))
    assert loaded_after_save(plans) == draft()


def test_a_removed_private_folder_forgets_it(plans: WorktreePlans, tmp_path: Path) -> None:
    save(plans, WHOLE)
    point(tmp_path).unlink()
    point(tmp_path).parent.rmdir()
    (tmp_path / ".flow").rmdir()
    put(plans, draft())
    assert loaded(plans) == draft()
    assert loaded_after_save(plans) == draft()


def test_with_its_rule_out_nothing_is_remembered(tmp_path: Path) -> None:
    (tmp_path / ".flow").mkdir()
    book = Rulebook(out=frozenset({"write.setback-told"}))
    plans = WorktreePlans(tmp_path / "plans", book, tmp_path / ".flow")
    save(plans, WHOLE)
    put(plans, draft())
    assert loaded(plans) == draft()
    assert not point(tmp_path).exists()


def test_a_document_too_far_on_to_be_remembered_is_saved(plans: WorktreePlans, tmp_path: Path) -> None:
    save(plans, draft().model_copy(update={"revision": 10**10}))
    assert not point(tmp_path).exists()
    assert (plans.folder / "p.json").exists()


def between(plans: WorktreePlans, patch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Do something after the documents were read, and before what is remembered is."""
    real, acts = plans._point, [act]

    def late(plan_id: str) -> object:
        if acts:
            acts.pop()()
        return real(plan_id)

    patch.setattr(plans, "_point", late)


def test_a_write_between_the_two_reads_of_one_who_holds_no_lock_is_no_setback(
    plans: WorktreePlans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(plans, draft())
    other = WorktreePlans(plans.folder, ALL_RULES, tmp_path / ".flow")
    between(plans, monkeypatch, lambda: save(other, WHOLE))
    assert loaded(plans) == WHOLE


def test_a_document_that_is_damaged_or_removed_meanwhile_is_told_as_that(
    plans: WorktreePlans, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = plans.folder / "p.json"
    save(plans, WHOLE)
    put(plans, draft())
    between(plans, monkeypatch, lambda: path.write_text("{}"))
    held = plans.load_all()["p"]
    assert isinstance(held, Damaged)
    assert isinstance(plans.load_all()["p"], BrokenWorld)
    put(plans, draft())
    between(plans, monkeypatch, path.unlink)
    assert isinstance(plans.load_all()["p"], Stored)


def test_an_edited_document_is_loaded_as_it_is_and_then_told_to_be_put_back(
    plans: WorktreePlans, tmp_path: Path
) -> None:
    save(plans, WHOLE)
    edited = draft().model_copy(update={"goal": "Edited by hand"})
    put(plans, edited)
    held = plans.load_edited("p")
    assert held is not None
    assert held.document == edited
    assert plans.told(held).document.taken_back is not None
    point(tmp_path).unlink()
    assert plans.told(held) is held


def test_a_point_is_replaced_whole_and_its_bytes_are_not_waited_for(
    plans: WorktreePlans, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(plans, draft())  # makes the folder, whose name is waited for
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    before = point(tmp_path).stat().st_ino
    save(plans, WHOLE)
    after = point(tmp_path).stat().st_ino
    assert after != before
    assert synced == [(plans.folder / "p.json").stat().st_ino, plans.folder.stat().st_ino]


def test_what_a_killed_writer_left_beside_a_point_is_swept(plans: WorktreePlans, tmp_path: Path) -> None:
    save(plans, draft())
    left = point(tmp_path).with_name(".p.json.0123456789abcdef.tmp")
    left.touch()
    os.utime(left, (0, 0))
    save(plans, WHOLE)
    assert not left.exists()
