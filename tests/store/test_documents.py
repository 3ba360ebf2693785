import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Closure, Document
from flow_mcp.domain.rule import ALL_RULES, Rulebook
from flow_mcp.store import documents, marks, sidecars
from flow_mcp.store.documents import Damaged, PlansFolder, Stored, rendered
from flow_mcp.store.files import PlantedLink
from tests.store.records import LONG, LONG_DIGEST, chained, draft, finished, with_sidecar


@pytest.fixture
def plans(tmp_path: Path) -> PlansFolder:
    return PlansFolder(tmp_path / "plans", ALL_RULES)


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mark counts at once, as if the files were old."""
    monkeypatch.setattr(marks, "SETTLED_NS", -(10**18))


@pytest.fixture
def parses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which documents were parsed."""
    names: list[str] = []
    real = documents.parsed

    def parsed(plan_id: str, data: bytes) -> Document:
        names.append(plan_id)
        return real(plan_id, data)

    monkeypatch.setattr(documents, "parsed", parsed)
    return names


def save(plans: PlansFolder, document: Document) -> Document:
    plans.save(document, {LONG_DIGEST: LONG}, rendered(document))
    return document


def path_of(plans: PlansFolder, plan_id: str = "p") -> Path:
    return plans.folder / f"{plan_id}.json"


def loaded(plans: PlansFolder, plan_id: str = "p") -> Stored:
    held = plans.load(plan_id)
    assert held is not None
    return held


def damaged(plans: PlansFolder, plan_id: str = "p") -> Damaged:
    """Load what is refused, and see that its bytes stay."""
    before = path_of(plans, plan_id).read_bytes()
    with pytest.raises(Damaged) as caught:
        plans.load(plan_id)
    assert path_of(plans, plan_id).read_bytes() == before
    assert isinstance(plans.load_all()[plan_id], Damaged)
    return caught.value


def test_what_is_saved_is_loaded(plans: PlansFolder) -> None:
    first, second = save(plans, draft("a")), save(plans, finished("b"))
    assert plans.names() == ("a", "b")
    assert loaded(plans, "a").document == first
    assert loaded(plans, "b").document == second
    assert [held.document for held in plans.load_all().values() if isinstance(held, Stored)] == [first, second]


def test_where_nothing_is_there_is_nothing(plans: PlansFolder) -> None:
    assert plans.names() == ()
    assert plans.load_all() == {}
    assert plans.load("p") is None
    assert plans.load_edited("p") is None


@pytest.mark.parametrize("name", ["", "..", "../plans/p", "P", "-p", "p.json", "p" * 81, "ä"])
def test_a_name_that_no_plan_can_have_is_no_document(plans: PlansFolder, name: str) -> None:
    save(plans, draft())
    assert plans.load(name) is None
    assert plans.load_edited(name) is None


def test_files_with_other_names_are_no_documents(plans: PlansFolder) -> None:
    save(plans, draft())
    for name in ("P.json", "p.md", ".q.json", "notes.json.bak", "p q.json"):
        (plans.folder / name).write_text("{")
    assert plans.names() == ("p",)
    assert list(plans.load_all()) == ["p"]


def as_text(document: Document, **changes: JsonValue) -> str:
    return json.dumps({**document.as_json(), **changes})


@pytest.mark.parametrize(
    ("text", "fault", "word"),
    [
        (lambda _: "", "text", "empty"),
        (lambda _: "{", "text", "Line 1"),
        (lambda d: as_text(d).replace('"goal"', '"goal": "x", "goal"'), "text", "twice"),
        (lambda d: "<<<<<<< ours\n" + as_text(d), "text", "conflict marker"),
        (lambda d: as_text(d, revision=10**400), "text", "integer"),
        (lambda _: "[]", "shape", "no schema number"),
        (lambda d: as_text(d, schema=None), "shape", "no schema number"),
        (lambda d: as_text(d, schema=True), "shape", "no schema number"),
        (lambda d: as_text(d, schema=0), "shape", "no schema number"),
        (lambda d: as_text(d, schema=2), "shape", "this version knows 1"),
        (lambda d: as_text(d, colour="red"), "shape", "colour is a field that this version does not know"),
        (lambda _: '{"schema": 1}', "shape", "plan_id is missing"),
        (lambda d: as_text(d, revision="1"), "shape", "revision is not right"),
        (lambda d: as_text(d, plan_id="q"), "shape", "calls itself 'q'"),
        (lambda d: as_text(d, goal="Another."), "chain", "edited outside Flow"),
        (lambda d: as_text(d, operations=[]), "chain", "no operation"),
    ],
)
def test_a_document_that_does_not_hold_is_refused_with_what_is_wrong_and_left_alone(
    plans: PlansFolder, text: Callable[[Document], str], fault: str, word: str
) -> None:
    document = save(plans, draft())
    path_of(plans).write_text(text(document))
    error = damaged(plans)
    assert (error.plan_id, error.fault) == ("p", fault)
    assert word in error.seen
    assert error.remedy


def test_a_document_that_cannot_be_true_is_refused_though_its_chain_is_whole(plans: PlansFolder) -> None:
    lie = Closure(kind="accepted", summary="Fine.", by="caller", revision=1)
    document = draft().model_copy(update={"closure": lie})
    save(plans, chained(document))
    error = damaged(plans)
    assert error.fault == "invariant"
    assert "cannot be true" in error.seen


def test_a_document_that_is_too_large_is_refused(plans: PlansFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    save(plans, draft())
    monkeypatch.setattr("flow_mcp.store.codec.DOCUMENT_BYTES_MAX", 100)
    assert damaged(plans).fault == "text"


def test_a_planted_link_is_refused(plans: PlansFolder, tmp_path: Path) -> None:
    save(plans, draft())
    path_of(plans).rename(tmp_path / "aside.json")
    path_of(plans).symlink_to(tmp_path / "aside.json")
    with pytest.raises(PlantedLink):
        plans.load("p")
    assert isinstance(plans.load_all()["p"], PlantedLink)


@pytest.mark.parametrize("copy", ["a", "z"])
def test_a_document_under_another_plans_name_is_refused_whichever_is_read_first(plans: PlansFolder, copy: str) -> None:
    save(plans, draft())
    path_of(plans, copy).write_bytes(path_of(plans).read_bytes())
    for _ in range(2):
        found = plans.load_all()
        assert isinstance(found["p"], Stored)
        assert isinstance(found[copy], Damaged)


def test_one_that_is_damaged_hides_no_other(plans: PlansFolder) -> None:
    save(plans, draft("a"))
    save(plans, draft("c"))
    path_of(plans, "b").write_text("{")
    found = plans.load_all()
    assert [type(found[name]) for name in "abc"] == [Stored, Damaged, Stored]
    assert isinstance(found["b"], BrokenWorld)


def test_a_document_that_went_meanwhile_is_none(plans: PlansFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    save(plans, draft())
    seen = marks.marks(plans.folder, (".json",))
    path_of(plans).unlink()
    monkeypatch.setattr(documents, "marks", lambda *_: seen)
    assert plans.load_all() == {}


def test_rules_that_are_out_are_not_asked(tmp_path: Path) -> None:
    plans = PlansFolder(tmp_path / "plans", Rulebook(out=frozenset({"write.chain-intact"})))
    document = save(plans, draft())
    path_of(plans).write_text(as_text(document, goal="Another."))
    assert loaded(plans).document.goal == "Another."


# What is kept.


@pytest.mark.usefixtures("settled")
def test_an_untouched_document_is_neither_read_nor_parsed_again(
    plans: PlansFolder, parses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save(plans, with_sidecar())
    first = loaded(plans)
    assert first.lines == {LONG_DIGEST: LONG}
    monkeypatch.setattr("flow_mcp.store.files.read_bytes", None)
    assert loaded(plans) is first
    assert plans.load_all() == {"p": first}
    assert parses == ["p"]


def test_a_document_that_was_touched_a_moment_ago_is_read_and_compared_and_not_parsed(
    plans: PlansFolder, parses: list[str]
) -> None:
    save(plans, draft())
    first = loaded(plans)
    assert loaded(plans) is first
    assert parses == ["p"]


def test_within_one_tick_of_the_clock_the_bytes_decide(plans: PlansFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    save(plans, draft(summary="Before."))
    stuck = marks.marks(plans.folder, (".json",))
    monkeypatch.setattr(documents, "marks", lambda *_: stuck)
    before = loaded(plans).document
    path_of(plans).write_bytes(rendered(draft(summary="After...")))
    assert loaded(plans).document == draft(summary="After...") != before


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("how", ["replaced", "written", "written-with-its-old-time"])
def test_a_change_is_never_missed(plans: PlansFolder, how: str) -> None:
    save(plans, draft(summary="Before."))
    path, before = path_of(plans), loaded(plans)
    info, data = path.stat(), rendered(draft(summary="Behind."))
    assert len(data) == info.st_size
    deadline_s = time.monotonic() + 60
    while loaded(plans) is before and time.monotonic() < deadline_s:  # until the file system's clock has moved
        if how == "replaced":
            path.with_name("new").write_bytes(data)
            path.with_name("new").replace(path)
        else:
            path.write_bytes(data)
        if how == "written-with-its-old-time":
            os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert loaded(plans).document == draft(summary="Behind.")


@pytest.mark.usefixtures("settled")
def test_a_document_that_is_edited_removed_or_restored_is_seen_at_once(plans: PlansFolder) -> None:
    document = save(plans, draft())
    data, before = path_of(plans).read_bytes(), loaded(plans)
    path_of(plans).write_text(as_text(document, goal="Another."))
    assert damaged(plans).fault == "chain"
    path_of(plans).unlink()
    assert plans.load("p") is None
    path_of(plans).write_bytes(data)
    assert loaded(plans) == before


@pytest.mark.usefixtures("settled")
def test_a_sidecar_that_goes_changes_or_comes_is_seen_at_once(plans: PlansFolder) -> None:
    document = save(plans, with_sidecar())
    (name,) = sidecars.names(document)
    file, before = plans.folder / name, loaded(plans)
    data = file.read_bytes()
    assert before.lost() == ()
    file.unlink()
    assert loaded(plans).lost() == (LONG_DIGEST,)
    file.write_bytes(b"other lines\n")
    assert loaded(plans).lost() == (LONG_DIGEST,)
    file.write_bytes(data)
    assert loaded(plans) == before


@pytest.mark.usefixtures("settled")
def test_a_document_that_got_a_second_name_elsewhere_is_refused_though_its_bytes_are_the_same(
    plans: PlansFolder, tmp_path: Path
) -> None:
    save(plans, draft())
    loaded(plans)
    os.link(path_of(plans), tmp_path / "elsewhere")
    with pytest.raises(PlantedLink):
        plans.load("p")


@pytest.mark.usefixtures("settled")
def test_a_file_that_came_after_the_look_is_not_taken_for_unchanged(
    plans: PlansFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans.folder.mkdir()
    with monkeypatch.context() as early:
        early.setattr(documents, "marks", lambda *_: {})
        save(plans, draft())
        assert loaded(plans).document == draft()
        path_of(plans).unlink()
        assert plans.load("p") is None


@pytest.mark.usefixtures("settled")
def test_what_is_kept_is_bounded(plans: PlansFolder, parses: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        save(plans, draft(name))
    monkeypatch.setattr(documents, "KEPT_BYTES_MAX", len(rendered(draft("a"))) + 1)
    for _ in range(2):
        assert all(isinstance(held, Stored) for held in plans.load_all().values())
    assert parses == ["a", "b", "b"]


def test_two_hundred_closed_plans_cost_little_once_they_are_known(
    plans: PlansFolder, parses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marks, "SETTLED_NS", -(10**18))
    document = finished()
    plans.folder.mkdir()
    for number in range(200):
        name = f"old-{number:03d}"
        path_of(plans, name).write_bytes(rendered(chained(document, name)))
    first = plans.load_all()
    assert len(first) == len(parses) == 200
    took_s = []
    for _ in range(10):
        began_s = time.perf_counter()
        assert plans.load_all() == first
        took_s.append(time.perf_counter() - began_s)
    assert len(parses) == 200
    assert min(took_s) < 0.1  # a few milliseconds on an idle machine; parsing them takes over half a second


def test_a_reseal_reads_what_was_edited(plans: PlansFolder) -> None:
    document = save(plans, with_sidecar())
    path_of(plans).write_text(as_text(document, goal="Another."))
    held = plans.load_edited("p")
    assert held is not None
    assert held.document.goal == "Another."
    assert held.lines == {LONG_DIGEST: LONG}
    path_of(plans).write_text("{")
    with pytest.raises(Damaged):
        plans.load_edited("p")


def test_sidecars_come_before_the_document_that_names_them(plans: PlansFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    monkeypatch.setattr("flow_mcp.store.files.write_atomic", lambda _folder, name, _data: written.append(name))
    document = with_sidecar()
    save(plans, document)
    assert written == [*sidecars.names(document), "p.json"]
