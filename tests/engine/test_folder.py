from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.decision import Refused, call, person
from flow_mcp.domain.model import blank
from flow_mcp.engine.core import Asked, Done
from flow_mcp.engine.folder import Debts, Folder, choose, likeliest, named, read_folder, unreadable_debt
from flow_mcp.store.documents import Damaged, Stored
from tests.engine.place import GATE, MANAGER, PERSON, Place, approval_of, plan

SAVE = c.PlanSave(goal="Another goal", plan=plan())


def folder_of(place: Place) -> Folder:
    return read_folder(place.engine.plans)


def chosen(place: Place, plan_id: str | None = None, ask: c.Ask | None = None) -> Stored | Refused:
    return choose(folder_of(place), place.engine.worktree, plan_id, ask, "fresh")


def chosen_id(place: Place, plan_id: str | None = None, ask: c.Ask | None = None) -> str:
    held = chosen(place, plan_id, ask)
    assert isinstance(held, Stored), held
    return held.document.plan_id


def closed(place: Place, plan_id: str, kind: str = "deferred") -> None:
    """Save, approve and give up a plan."""
    place.done(c.PlanSave(goal=plan_id, plan=plan()), plan_id=plan_id)
    place.approve()
    place.done(c.Close(kind=kind, summary="later"))  # type: ignore[arg-type]


def elsewhere(place: Place, plan_id: str) -> None:
    """Have an open plan that another worktree drives."""
    mine = place.engine.worktree
    place.engine.worktree = "another"
    place.done(c.PlanSave(goal=plan_id, plan=plan()), plan_id=plan_id)
    place.engine.worktree = mine


# Which document is meant.


def test_where_there_is_none_a_blank_one_is_meant(place: Place) -> None:
    for ask in (None, SAVE, c.RunStart()):
        held = chosen(place, None, ask)
        assert isinstance(held, Stored)
        assert (held.document.plan_id, held.document.revision, held.document.worktree) == (
            "fresh",
            0,
            place.engine.worktree,
        )


def test_the_open_plan_of_this_worktree_is_meant_beside_those_of_others(place: Place) -> None:
    elsewhere(place, "theirs")
    assert chosen_id(place) == "theirs"
    place.done(c.PlanSave(goal="mine", plan=plan()), plan_id="mine")
    assert chosen_id(place) == chosen_id(place, None, SAVE) == "mine"
    assert chosen_id(place, "theirs") == "theirs"


def test_of_several_open_plans_of_others_one_must_be_named(place: Place) -> None:
    for name in ("first", "second"):
        place.engine.worktree = name
        place.done(c.PlanSave(goal=name, plan=plan()), plan_id=name)
    place.engine.worktree = "mine"
    refused = chosen(place)
    assert isinstance(refused, Refused)
    assert "first, second" in refused.seen
    assert refused.remedy.arguments == {"plan_id": "first"}


def test_of_several_the_one_under_way_is_most_likely_meant_then_an_approved_one_then_the_last(place: Place) -> None:
    times = iter(f"2026-01-01T00:00:{number:02d}Z" for number in range(60))
    place.engine._clock = lambda: next(times)
    for name in ("running", "approved", "older", "last"):
        place.engine.worktree = name
        place.done(c.PlanSave(goal=name, plan=plan()), plan_id=name)
        if name in {"running", "approved"}:
            place.approve()
        if name == "running":
            place.done(c.RunStart())
    folder = folder_of(place)
    assert likeliest(folder, ["last", "older", "approved", "running"]) == "running"
    assert likeliest(folder, ["last", "older"]) == "last"
    assert likeliest(folder, ["last", "older", "approved"]) == "approved"


def test_a_suggested_call_names_its_plan_as_soon_as_several_are_open(place: Place) -> None:
    elsewhere(place, "theirs")
    step = call("run_start", {"feature_id": "bye"}, (), "Start.")
    alone = place.state("theirs").document
    assert named(step, folder_of(place), alone) == step
    place.done(c.PlanSave(goal="mine", plan=plan()), plan_id="mine")
    folder, mine = folder_of(place), place.document
    told = named(step, folder, mine)
    assert told.arguments == {"feature_id": "bye", "plan_id": "mine"}
    assert named(told, folder, mine) == told
    assert named(step, folder, blank("fresh", "here")).arguments["plan_id"] == "fresh"
    person_does = named(person("Waive it."), folder, mine)
    assert "mine (`--plan`)" in person_does.say
    assert named(person_does, folder, mine) == person_does


def test_after_a_closing_a_new_plan_beside_an_open_one_takes_an_id(place: Place) -> None:
    elsewhere(place, "theirs")
    place.done(c.PlanSave(goal="mine", plan=plan()), plan_id="mine")
    step = place.done(c.Close(kind="abandoned", summary="no")).step
    assert (step.tool, step.arguments, step.fill) == ("plan_save", {}, ("goal", "plan", "plan_id"))
    assert "Open beside it: theirs." in step.say
    assert named(step, folder_of(place), place.state("mine").document) == step


def test_when_all_are_closed_the_last_is_shown_and_a_save_begins_a_new_one(place: Place) -> None:
    times = iter(f"2026-01-01T00:00:{number:02d}Z" for number in range(60))
    place.engine._clock = lambda: next(times)
    closed(place, "zebra")
    closed(place, "ant")
    assert chosen_id(place) == "ant"
    assert chosen_id(place, None, SAVE) == "fresh"


def test_a_plan_that_is_not_there_is_made_by_a_save_alone(place: Place) -> None:
    assert chosen_id(place, "wanted", SAVE) == "wanted"
    refused = chosen(place, "wanted", c.RunStart())
    assert isinstance(refused, Refused)
    assert refused.rule == "plan.approved-first"
    assert "there are: none" in refused.seen


@pytest.mark.parametrize("name", ["Wanted", "../wanted", "", "a b", "x" * 81, "-a"])
def test_a_new_plan_has_a_name_that_a_file_can_have(place: Place, name: str) -> None:
    refused = place.refused("plan.bounded", SAVE, plan_id=name)
    assert "no plan id" in refused.seen
    assert not (place.root / "plans").exists()


def test_a_damaged_document_is_said_only_where_it_is_meant_or_nothing_else_is_there(place: Place) -> None:
    (place.root / "plans").mkdir()
    (place.root / "plans" / "broken.json").write_text("{")
    with pytest.raises(Damaged):
        chosen(place)
    with pytest.raises(Damaged):
        chosen(place, "broken")
    elsewhere_before = chosen(place, "other", SAVE)
    assert isinstance(elsewhere_before, Stored)


@pytest.mark.parametrize("ask", [None, c.RunStart(), c.Close(kind="abandoned", summary="no")])
def test_where_no_plan_is_open_one_that_cannot_be_read_speaks_before_a_closed_one(
    place: Place, ask: c.Ask | None
) -> None:
    closed(place, "older")
    place.done(c.PlanSave(goal="Next", plan=plan()), plan_id="next")
    path = place.root / "plans" / "next.json"
    path.write_text(path.read_text().replace('"goal"', "<<<<<<< ours"))
    with pytest.raises(Damaged, match="plans document next"):
        chosen(place, None, ask)
    assert chosen_id(place, None, SAVE) == "fresh"
    assert chosen_id(place, "older", ask) == "older"
    elsewhere_open = place.root / "plans" / "next.json"
    elsewhere_open.unlink()
    assert chosen_id(place, None, ask) == "older"


# What is owed.


def owed(place: Place, besides: str = "new") -> tuple[str, ...]:
    return tuple(entry.plan_id for entry in Debts().owed(folder_of(place), besides)[0])


@pytest.mark.parametrize("kind", ["deferred", "abandoned"])
def test_a_plan_that_was_given_up_is_owed_to_every_other_until_one_pays(place: Place, kind: str) -> None:
    closed(place, "first", kind)
    assert owed(place) == ("first",)
    assert owed(place, "first") == ()
    closed(place, "second", kind)
    assert owed(place) == ("first", "second")
    place.approved(goal="Third")
    place.done(c.Close(kind="accepted", summary="fine", shown_source=place.state().facts.digest), PERSON)
    assert owed(place) == ()


def test_a_draft_without_plan_owes_nothing_and_one_without_approval_owes_no_frozen_file(place: Place) -> None:
    place.done(c.PlanSave(goal="First", plan=plan()), plan_id="first")
    place.done(c.Close(kind="abandoned", summary="no"))
    (entry,), lines = Debts().owed(folder_of(place), "new")
    assert (entry.plan_id, entry.kept, entry.protected, entry.findings) == ("first", (), (), ())
    assert lines == {}


def test_what_is_owed_holds_cases_frozen_files_and_findings(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    place.work()
    place.evidence()
    place.reviewed("failed", c.NewFinding(severity="blocking", summary="It shouts.", evidence="greeting.txt:2"))
    document = place.done(c.Close(kind="deferred", summary="later")).document
    (entry,), lines = Debts().owed(folder_of(place), "new")
    assert document.plan is not None
    assert entry.plan_digest == document.plan.digest()
    assert [(kept.run, kept.platform) for kept in entry.kept] == [(GATE.run, document.baselines[0].platform)]
    assert lines == {entry.kept[0].listing: ("sh :: sh :: old",)}
    assert [line.partition(" ")[2] for line in entry.protected] == ["tests/old.sh"]
    assert [finding.summary for finding in entry.findings] == ["It shouts."]


def test_what_is_owed_is_worked_out_once_while_a_document_is_the_same(place: Place) -> None:
    closed(place, "first")
    debts, folder = Debts(), folder_of(place)
    first = debts.owed(folder, "new")[0]
    assert debts.owed(folder, "new")[0][0] is first[0]
    again = Folder({name: Stored(held.document, held.lines) for name, held in folder.stored.items()}, {})
    assert debts.owed(again, "new")[0] == first


def long_list(place: Place) -> Path:
    """Have a plan owe a list that stands beside it."""
    for number in range(2_001):
        place.write(f"tests/t{number}.sh", "")
    place.approved()
    place.done(c.Close(kind="deferred", summary="later"))
    (sidecar,) = (place.root / "plans").glob("*.lines")
    return sidecar


@pytest.mark.parametrize("how", ["gone", "edited"])
def test_nothing_is_shed_by_damaging_a_list_that_is_owed(place: Place, how: str) -> None:
    sidecar = long_list(place)
    data = sidecar.read_bytes()
    assert unreadable_debt(folder_of(place), "new") is None
    _ = sidecar.unlink() if how == "gone" else sidecar.write_text("other lines\n")  # type: ignore[func-returns-value]
    with pytest.raises(Damaged, match="it owes the list"):
        place.ask(SAVE)
    sidecar.write_bytes(data)
    saved = place.done(SAVE).document
    assert saved.plan is not None
    assert len(saved.plan.inherits[0].protected) == 2_002


def test_nothing_is_shed_by_damaging_a_document_after_the_draft_was_saved(place: Place) -> None:
    closed(place, "first")
    place.done(c.PlanSave(goal="Next", plan=plan()), plan_id="next")
    path = place.root / "plans" / "first.json"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"Say good-bye too.", b"Say nothing."))
    for ask, actor in ((c.PlanSave(goal="Next", plan=plan()), MANAGER), (approval(place, "next"), PERSON)):
        with pytest.raises(Damaged, match="first"):
            place.engine.ask(ask, Asked(actor, plan_id="next"))
    path.write_bytes(data)
    done = place.engine.ask(approval(place, "next"), Asked(PERSON, plan_id="next"))
    assert isinstance(done, Done)
    assert done.document.plan is not None
    assert [entry.plan_id for entry in done.document.plan.inherits] == ["first"]


def approval(place: Place, plan_id: str) -> c.PlanApprove:
    return approval_of(place.state(plan_id))


def test_an_approved_plan_goes_on_beside_a_damaged_one(place: Place) -> None:
    place.approved()
    (place.root / "plans" / "broken.json").write_text("{")
    place.done(c.RunStart())
    looser = Place(place.root, policy={"sandbox": "off"})
    assert looser.approve().approvals[1:]
