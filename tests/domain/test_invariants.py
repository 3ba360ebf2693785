"""Documents that were edited into what cannot be, each refused by the invariant that it breaks."""

from collections.abc import Callable

import pytest

from flow_mcp.domain.invariants import INVARIANTS, breaches
from flow_mcp.domain.model import Allowance, Document, Observation, Reseal, Review, Run
from flow_mcp.domain.plan import Finding
from flow_mcp.domain.rule import ALL_RULES, Rulebook
from tests.fabricated import RED
from tests.histories import CHAIN, ELSEWHERE, ONE, PAIR, all_passed, approved, closed, failed, passed, reviewed, running
from tests.simulator import PERSON, World


def broken(document: Document) -> list[str]:
    """Name the invariants that a document breaks."""
    return [found.partition(":")[0] for found in breaches(document, {}, ALL_RULES)]


def with_run(world: World, index: int, **changes: object) -> Document:
    runs = list(world.document.runs)
    runs[index] = runs[index].model_copy(update=changes)
    return world.document.model_copy(update={"runs": tuple(runs)})


def review_of(run: Run) -> Review:
    assert run.review is not None
    return run.review


def with_review(world: World, index: int, **changes: object) -> Document:
    return with_run(world, index, review=review_of(world.document.runs[index]).model_copy(update=changes))


def with_result(world: World, index: int, **changes: object) -> Document:
    result = review_of(world.document.runs[index]).result
    assert result is not None
    return with_review(world, index, result=result.model_copy(update=changes))


def with_closure(world: World, **changes: object) -> Document:
    assert world.document.closure is not None
    return world.document.model_copy(update={"closure": world.document.closure.model_copy(update=changes)})


def changed(world: World, **changes: object) -> Document:
    return world.document.model_copy(update=changes)


def seen_in(world: World) -> Observation:
    world.check("broad")
    return world.document.runs[0].observations[0]


def observed(**changes: object) -> Document:
    world = running()
    seen = seen_in(world).model_copy(update=changes)
    return with_run(world, 0, observations=(seen,))


def waived(channel: str) -> Document:
    world = running()
    world.waive("proof", "a")
    entry = world.document.allowances[0].model_copy(update={"channel": channel})
    return changed(world, allowances=(entry,))


def _twice(world: World) -> Document:
    operations = world.document.operations
    doubled = operations[-1].model_copy(update={"id": operations[0].id})
    return changed(world, operations=(*operations[:-1], doubled))


def _active_again(kind: str) -> Document:
    world = closed(kind)
    return with_run(world, 0, state="active", superseded=None)


def _dropped_externals() -> Document:
    return changed(closed(plan=ELSEWHERE), externals=())


def _other_lines() -> Document:
    world = approved()
    entry = world.document.listings[0].model_copy(update={"lines": ("sha256:weaker tests/test_kept.py",)})
    return changed(world, listings=(entry,))


def _two_active() -> Document:
    world = running(plan=PAIR)
    first = world.document.runs[0]
    return changed(world, runs=(first, first.model_copy(update={"id": "b.1", "feature_id": "b"})))


def _two_current() -> Document:
    world = passed(plan=CHAIN)
    world.start("b")
    first, second = world.document.runs
    return changed(world, runs=(first, second.model_copy(update={"feature_id": "a"})))


def _finding(severity: str) -> Finding:
    return Finding.model_validate({"id": "a.R1-01", "severity": severity, "summary": "x", "evidence": "y"})


FORGED: list[tuple[str, Callable[[], Document]]] = [
    ("document.revisions-contiguous", lambda: changed(running(), revision=9)),
    ("document.revisions-contiguous", lambda: changed(running(), operations=running().document.operations[1:])),
    ("document.revisions-contiguous", lambda: _twice(running())),
    ("document.ids-unique", lambda: with_run(all_passed(plan=PAIR), 1, id="a.1")),
    (
        "document.ids-unique",
        lambda: with_review(all_passed(plan=PAIR), 1, id=review_of(all_passed(plan=PAIR).document.runs[0]).id),
    ),
    ("plan.well-formed", lambda: changed(World(), plan=ONE.model_copy(update={"external_evidence": None}))),
    ("plan.well-formed", lambda: changed(World(), plan=CHAIN.model_copy(update={"features": CHAIN.features[1:]}))),
    ("plan.well-formed", lambda: changed(World(), plan=CHAIN.model_copy(update={"features": CHAIN.features[:1] * 2}))),
    ("approval.agrees", lambda: changed(approved(), plan=CHAIN)),
    ("approval.agrees", lambda: changed(approved(), plan=None)),
    ("approval.agrees", lambda: changed(running(), approvals=())),
    ("run.one-active", _two_active),
    ("run.state-agrees", lambda: with_run(running(), 0, state="passed")),
    ("run.state-agrees", lambda: with_run(failed(), 0, state="passed")),
    ("run.state-agrees", lambda: with_run(running(), 0, feature_id="z")),
    ("run.state-agrees", _two_current),
    ("review.kind-agrees", lambda: with_review(reviewed(), 0, kind="feature")),
    ("review.kind-agrees", lambda: with_review(passed(plan=CHAIN), 0, kind="final")),
    ("review.verdict-agrees", lambda: with_result(failed(), 0, findings=())),
    ("review.verdict-agrees", lambda: with_result(failed(), 0, findings=(_finding("advisory"),))),
    ("review.verdict-agrees", lambda: with_result(all_passed(), 0, findings=(_finding("blocking"),))),
    ("review.source-agrees", lambda: with_result(passed(plan=CHAIN), 0, source="s9")),
    ("observation.listed", lambda: observed(command="true")),
    ("observation.listed", lambda: observed(command="pytest tests/test_a.py")),
    ("observation.listed", lambda: changed(running(), plan=None, baselines=(seen_in(running()),))),
    ("observation.before-review", lambda: observed(started_revision=3)),
    ("observation.before-review", lambda: observed(revision=99)),
    ("observation.before-review", lambda: with_review(reviewed(), 0, revision=5)),
    ("listing.agrees", _other_lines),
    ("allowance.of-person", lambda: waived("caller")),
    ("allowance.of-person", lambda: changed(running(), reseals=(Reseal(because="x", channel="caller", revision=3),))),
    ("allowance.of-person", lambda: with_closure(closed("accepted"), by="caller")),
    ("closure.quiet", lambda: _active_again("deferred")),
    ("closure.supported", lambda: with_closure(closed(), source="s9")),
    ("closure.supported", lambda: with_closure(closed(), platform="darwin")),
    ("closure.supported", lambda: with_closure(closed("deferred"), kind="completed")),
    ("closure.supported", lambda: changed(closed(), baselines=())),
    ("closure.supported", _dropped_externals),
]


@pytest.mark.parametrize(("name", "forge"), FORGED)
def test_a_forged_document_is_refused_by_the_invariant_that_it_breaks(name: str, forge: Callable[[], Document]) -> None:
    assert name in broken(forge())


def test_every_invariant_has_its_forgery() -> None:
    assert {name for name, _ in FORGED} == set(INVARIANTS)


def test_a_breach_is_told_in_a_sentence() -> None:
    (told,) = breaches(with_review(reviewed(), 0, kind="feature"), {}, ALL_RULES)
    assert told == "review.kind-agrees: review review-12 is stored as feature and is final"


def test_a_closed_goal_without_its_approval_is_not_completed() -> None:
    world = closed()
    found = breaches(changed(world, approvals=()), {}, ALL_RULES)
    assert any("without a final review or an approval in force" in fault for fault in found)


def test_an_invariant_is_silent_for_the_rule_that_a_proof_takes_out_and_for_no_other() -> None:
    document = with_review(reviewed(), 0, kind="feature")
    assert breaches(document, {}, Rulebook(out=frozenset({"review.kind-derived"}))) == ()
    assert breaches(document, {}, Rulebook(out=frozenset({"review.veto-clear"}))) != ()


def test_what_a_reseal_took_over_is_not_asked_for_again() -> None:
    world = closed()
    world.reseal()
    assert broken(with_closure(world, source="s9")) == []


def test_a_list_in_a_sidecar_is_not_read_here() -> None:
    world = approved()
    entry = world.document.listings[0].model_copy(update={"lines": None})
    assert broken(changed(world, listings=(entry,))) == []


def test_an_allowance_of_a_person_stands() -> None:
    world = running()
    world.waive("proof", "a", PERSON)
    assert isinstance(world.document.allowances[0], Allowance)
    assert broken(world.document) == []


def test_an_observation_of_a_superseded_run_is_held_to_the_same() -> None:
    world = running()
    world.check("broad", result=RED)
    world.reset("a")
    run = world.document.runs[0]
    late = run.observations[0].model_copy(update={"started_revision": 0})
    assert broken(with_run(world, 0, observations=(late,))) == ["observation.before-review"]
