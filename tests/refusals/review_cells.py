"""Histories in which reviews, verdicts, waivers and closings are refused."""

from collections.abc import Callable

from flow_mcp.domain.commands import Ask, Close, ResealDocument, ReviewStart, ReviewSubmit, Waive
from flow_mcp.domain.plan import Requirement
from flow_mcp.domain.rule import ALL_RULES
from tests.fabricated import CRASHED, RED
from tests.histories import (
    CHAIN,
    ELSEWHERE,
    GATE,
    ONE,
    QUIET,
    all_passed,
    approved,
    check_of,
    external,
    failed,
    passed,
    reviewed,
    running,
    shown,
)
from tests.proofs.review_proofs import LINKED, QUIET_PAIR, seen_elsewhere
from tests.refusals.cells import LONG, plainly, speaks
from tests.refusals.plan_cells import HIDDEN
from tests.simulator import ADVISORY, BLOCKING, MANAGER, PERSON, World

Refused = tuple[World, Callable[[], object]]

plainly(ReviewStart, "review.one-per-run", approved)


@speaks(ReviewStart, "run.facts-present")
def _copy_gone() -> Refused:
    world = shown()
    world.copy_present = False
    return world, world.review


plainly(ReviewStart, "review.baseline-taken", running)


def _with_baseline(world: World) -> World:
    world.check("baseline")
    return world


plainly(ReviewStart, "review.checks-passed", lambda: _with_baseline(running()))


@speaks(ReviewStart, "review.veto-clear")
def _gate_crashed() -> Refused:
    world = _with_baseline(running(plan=QUIET_PAIR))
    world.check("focused", check_of("a").run)
    world.check("broad", result=CRASHED)
    return world, world.review


@speaks(ReviewStart, "review.cases-kept")
def _case_lost() -> Refused:
    world = _with_baseline(running())
    world.suite = ("unit :: works",)
    world.show()
    return world, world.review


@speaks(ReviewStart, "review.proof-shown")
def _no_proof() -> Refused:
    world = _with_baseline(running())
    world.check("focused", check_of("a").run)
    world.check("broad")
    return world, world.review


@speaks(ReviewStart, "review.final-checks")
def _gate_focused() -> Refused:
    world = _with_baseline(running(plan=QUIET))
    world.check("focused", check_of("a").run)
    world.check("focused", GATE.run)
    return world, world.review


@speaks(ReviewStart, "review.final-external")
def _never_there() -> Refused:
    world = _with_baseline(running(plan=ELSEWHERE))
    world.check("focused", check_of("a").run)
    world.check("broad")
    world.prove("a")
    return world, world.review


@speaks(ReviewStart, "review.protected-kept")
def _test_weakened() -> Refused:
    world = shown()
    world.protected["tests/test_kept.py"] = "sha256:weaker"
    return world, world.review


@speaks(ReviewStart, "plan.bounded")
def _long_summary() -> Refused:
    world = shown()
    return world, lambda: world.review(LONG)


@speaks(ReviewSubmit, "review.reserved-identity")
def _own_verdict() -> Refused:
    world = reviewed()
    return world, lambda: world.verdict(actor=MANAGER)


@speaks(ReviewSubmit, "review.assignment-pending")
def _unasked_verdict() -> Refused:
    world = running()
    return world, world.verdict


@speaks(ReviewSubmit, "review.failed-blocks")
def _no_without_reason() -> Refused:
    world = reviewed()
    return world, lambda: world.verdict("failed", (ADVISORY,))


@speaks(ReviewSubmit, "review.passed-clean")
def _yes_but() -> Refused:
    world = reviewed()
    return world, lambda: world.verdict("passed", (BLOCKING,))


def _second_review() -> World:
    world = failed()
    world.reset("a", "a")
    world.show()
    world.review()
    return world


@speaks(ReviewSubmit, "review.findings-carried")
def _finding_dropped() -> Refused:
    world = _second_review()
    return world, lambda: world.verdict("failed", (BLOCKING,))


@speaks(ReviewSubmit, "review.source-unmoved")
def _moved_meanwhile() -> Refused:
    world = reviewed()
    world.edit()
    return world, world.verdict


@speaks(ReviewSubmit, "plan.bounded")
def _many_findings() -> Refused:
    world = reviewed()
    return world, lambda: world.verdict("passed", (ADVISORY,) * 101)


@speaks(Close, "close.accepted-by-person")
def _caller_accepts() -> Refused:
    world = running()
    return world, lambda: world.close("accepted", MANAGER)


@speaks(Close, "approve.exact")
def _accepts_another_source() -> Refused:
    world = running()
    return world, lambda: world.close("accepted", PERSON, shown="s99")


plainly(Close, "close.every-feature-passed", lambda: passed(plan=CHAIN))


@speaks(Close, "close.source-unmoved")
def _moved_after_review() -> Refused:
    world = seen_elsewhere(ALL_RULES)
    return world, world.close


@speaks(Close, "review.baseline-taken")
def _closed_on_another_machine() -> Refused:
    world = all_passed()
    world.platform = "darwin"
    return world, world.close


@speaks(Close, "review.veto-clear")
def _failed_here() -> Refused:
    world = running()
    world.check("broad", result=RED)
    world.show()
    world.review()
    world.verdict()
    world.platform = "darwin"
    world.check("baseline")
    return world, world.close


@speaks(Close, "review.final-checks")
def _not_seen_here() -> Refused:
    world = all_passed()
    world.platform = "darwin"
    world.check("baseline")
    return world, world.close


@speaks(Close, "review.final-external")
def _revoked() -> Refused:
    world = all_passed(plan=ELSEWHERE)
    world.external(RED)
    return world, world.close


@speaks(Close, "review.cases-kept")
def _lost_after_review() -> Refused:
    entry = external("any", run=GATE.run).model_copy(update={"command": GATE.as_command()})
    requirement = Requirement(id="r", text="It works anywhere.")
    world = all_passed(plan=ONE.model_copy(update={"requirements": (requirement,), "external_evidence": (entry,)}))
    world.suite = ("unit :: works",)
    world.external()
    return world, world.close


@speaks(Close, "review.protected-kept")
def _configured_after_review() -> Refused:
    world = all_passed()
    world.configuration["conftest.py"] = "sha256:new"
    return world, world.close


@speaks(Close, "review.proof-shown")
def _approved_anew() -> Refused:
    world = all_passed()
    world.copy_present = False
    world.approve()
    world.copy_present = True
    return world, world.close


@speaks(Close, "plan.bounded")
def _long_closing() -> Refused:
    world = all_passed()
    return world, lambda: world.close(summary=LONG)


@speaks(Waive, "review.waived-by-person")
def _caller_waives() -> Refused:
    world = running()
    return world, lambda: world.waive("proof", "a", MANAGER)


@speaks(Waive, "approve.exact")
def _waives_another_source() -> Refused:
    world = running()
    return world, lambda: world.waive("proof", "a", shown="s99")


@speaks(Waive, "plan.bounded")
def _long_waiver() -> Refused:
    world = running()
    return world, lambda: world.waive("proof", "a", because=LONG)


@speaks(ResealDocument, "close.accepted-by-person")
def _caller_reseals() -> Refused:
    world = running()
    return world, lambda: world.reseal(MANAGER)


@speaks(ResealDocument, "plan.bounded")
def _long_reseal() -> Refused:
    world = running()
    return world, lambda: world.reseal(because=LONG)


READY: dict[type[Ask], Callable[[], World]] = {ReviewStart: shown, ReviewSubmit: reviewed, Close: all_passed}
"""Where evidence becomes final with the plainest request."""


def _uncovered(state: Callable[[], World], **uncovered: object) -> Callable[[], World]:
    def world() -> World:
        made = state()
        for name, value in uncovered.items():
            setattr(made, name, value)
        return made

    return world


for _kind, _state in READY.items():
    plainly(_kind, "plan.artifacts-narrow", _uncovered(_state, hidden=HIDDEN))
    plainly(_kind, "review.links-inside", _uncovered(_state, outward=LINKED))
