"""Proofs of what the engine and the store hold, in a real workspace: what counts is what stands on the disk."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.decide import decide
from flow_mcp.domain.decision import Accepted, Facts, Moment, Refused
from flow_mcp.domain.model import Document
from flow_mcp.domain.rule import Rulebook
from flow_mcp.engine.core import Asked, Done
from flow_mcp.engine.sizes import RESERVED_BYTES
from flow_mcp.store.codec import DOCUMENT_BYTES_MAX
from flow_mcp.store.documents import Damaged
from tests.engine.place import MANAGER, PERSON, REVIEWER, Hold, Place, lone, plan
from tests.simulator import Forbidden

EngineProof = Callable[[Place, Hold, pytest.MonkeyPatch], str]
"""Tries the forbidden act. Gives the id of the rule that kept it out, or raises Forbidden where it is on the disk."""

ENGINE_PROOFS: dict[str, EngineProof] = {}

DRAFT = c.PlanSave(goal="Say good-bye", plan=plan())


def proves(rule_id: str) -> Callable[[EngineProof], EngineProof]:
    """Register the proof of a row."""

    def registered(proof: EngineProof) -> EngineProof:
        assert rule_id not in ENGINE_PROOFS
        ENGINE_PROOFS[rule_id] = proof
        return proof

    return registered


def on_disk(place: Place) -> dict[str, dict[str, Any]]:
    """Give the documents as they are stored, whatever a rule would say of them."""
    return {path.stem: json.loads(path.read_text()) for path in sorted((place.root / "plans").glob("*.json"))}


def raised(act: Callable[[], object]) -> BaseException | None:
    """Give what an act raises."""
    try:
        act()
    except (AssertionError, Damaged) as error:
        return error
    return None


def rule_of(answer: Done | Refused) -> str:
    assert isinstance(answer, Refused), answer
    return answer.rule


@proves("write.expected-revision")
def expected_revision(place: Place, _hold: Hold, _patch: pytest.MonkeyPatch) -> str:
    place.done(DRAFT, plan_id="p")
    place.done(DRAFT, plan_id="p")
    answer = place.ask(c.PlanSave(goal="Say good-bye", plan=plan(summary="From old news.")), expected_revision=1)
    if on_disk(place)["p"]["plan"]["summary"] == "From old news.":
        raise Forbidden
    return rule_of(answer)


@proves("write.operation-replays")
def operation_replays(place: Place, _hold: Hold, _patch: pytest.MonkeyPatch) -> str:
    first = place.done(DRAFT, operation_id="once")
    place.done(c.Close(kind="abandoned", summary="no"))
    again = place.done(DRAFT, operation_id="once")
    stored = on_disk(place).values()
    if sum(operation["id"] == "once" for document in stored for operation in document["operations"]) > 1:
        raise Forbidden
    assert (again.replayed, again.answer) == (True, first.answer)
    return "write.operation-replays"


@proves("write.whole-schema")
def whole_schema(place: Place, _hold: Hold, patch: pytest.MonkeyPatch) -> str:
    place.done(DRAFT, plan_id="p")
    place.approve()

    def broken(document: Document, ask: c.Ask, facts: Facts, moment: Moment, book: Rulebook) -> Accepted | Refused:
        decision = decide(document, ask, facts, moment, book)
        assert isinstance(decision, Accepted)
        run = decision.document.runs[-1].model_copy(update={"state": "passed"})
        return Accepted(decision.document.model_copy(update={"runs": (run,)}), decision.answer, decision.entity)

    patch.setattr("flow_mcp.engine.core.decide", broken)
    crash = raised(lambda: place.ask(c.RunStart()))
    if [run["state"] for run in on_disk(place)["p"]["runs"]] == ["passed"]:
        raise Forbidden
    assert "run.state-agrees" in str(crash)
    return "write.whole-schema"


@proves("write.atomic-locked")
def atomic_locked(place: Place, _hold: Hold, patch: pytest.MonkeyPatch) -> str:
    place.done(DRAFT, plan_id="p")
    other, reached = place.another(), threading.Event()
    held, save = other._held, place.engine.plans.save

    def reaching() -> object:
        reached.set()
        return held()

    def rival() -> None:
        other.ask(c.PlanSave(goal="Say good-bye", plan=plan(summary="B")), Asked(MANAGER, operation_id="b"))

    thread = threading.Thread(target=rival)

    def saving(*given: Any) -> None:  # noqa: ANN401 - whatever a save takes
        thread.start()
        assert reached.wait(60)
        if not place.book.holds("write.atomic-locked"):
            thread.join(60)  # nothing holds the rival back: its write comes between this load and this save
        save(*given)

    patch.setattr(other, "_held", reaching)
    patch.setattr(place.engine.plans, "save", saving)
    place.done(c.PlanSave(goal="Say good-bye", plan=plan(summary="A")), operation_id="a")
    thread.join(60)
    names = [operation["id"] for operation in on_disk(place)["p"]["operations"]]
    if "b" not in names:
        raise Forbidden
    assert names[1:] == ["a", "b"]
    return "write.atomic-locked"


@proves("write.chain-intact")
def chain_intact(place: Place, _hold: Hold, _patch: pytest.MonkeyPatch) -> str:
    place.done(DRAFT, plan_id="p")
    place.approve()
    path = place.root / "plans" / "p.json"
    path.write_text(path.read_text().replace('"goal": "Say good-bye"', '"goal": "Say nothing"'))
    refusal, stored = raised(lambda: place.ask(c.RunStart())), on_disk(place)["p"]
    if stored["operations"][-1]["kind"] == "run_start":
        assert stored["goal"] == "Say nothing"
        raise Forbidden
    assert isinstance(refusal, Damaged)
    assert refusal.fault == "chain"
    return "write.chain-intact"


@proves("write.setback-told")
def setback_told(place: Place, _hold: Hold, _patch: pytest.MonkeyPatch) -> str:
    place.done(DRAFT, plan_id="p")
    path = place.root / "plans" / "p.json"
    earlier = path.read_bytes()
    place.done(c.PlanDeny(plan_digest=plan().digest(), because="no"), PERSON)
    path.write_bytes(earlier)
    place.done(c.PlanSave(goal="Say good-bye", plan=plan(summary="As if nobody had said no.")))
    stored = on_disk(place)["p"]
    if "taken_back" not in stored:
        raise Forbidden
    assert stored["taken_back"] == [{"from_revision": 2, "to_revision": 1, "after": "plan_deny", "revision": 2}]
    return "write.setback-told"


@proves("plan.bounded")
def bounded(place: Place, _hold: Hold, _patch: pytest.MonkeyPatch) -> str:
    place.done(DRAFT, plan_id="p")
    place.approve()
    place.done(c.RunStart())
    place.work()
    place.evidence()
    review = str(place.done(c.ReviewStart(summary="done")).answer["assignment_id"])
    words = {"severity": "blocking", "summary": "s" * 32_000, "evidence": "e" * 32_000}
    findings = (c.NewFinding.model_validate(words),) * 62
    ask = c.ReviewSubmit(assignment_id=review, verdict="failed", summary="no", findings=findings)
    answer = place.ask(ask, REVIEWER)
    if (place.root / "plans" / "p.json").stat().st_size > DOCUMENT_BYTES_MAX - RESERVED_BYTES:
        raise Forbidden
    return rule_of(answer)


@proves("observe.always-recorded")
def always_recorded(place: Place, hold: Hold, _patch: pytest.MonkeyPatch) -> str:
    hold.install(place)
    place.done(c.PlanSave(goal="Say good-bye", plan=lone(hold.run)), plan_id="p")
    place.approve()
    place.done(c.RunStart())
    ids = place.begin("focused", hold.run)
    hold.begun()
    place.done(c.Close(kind="deferred", summary="later"))
    stored = on_disk(place)["p"]
    assert "pending" not in stored
    if not stored["runs"][0].get("observations"):
        raise Forbidden
    assert place.ended(*ids).ineligible == "cancelled"
    return "observe.always-recorded"
