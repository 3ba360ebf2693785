"""An honest agent that does what it is told next, and a person who answers when asked."""

from collections.abc import Callable

from flow_mcp.domain.cases import kept_cases, lost_cases
from flow_mcp.domain.commands import NewFinding, ReviewStart
from flow_mcp.domain.decision import Refused, Step
from flow_mcp.domain.history import active_run, allowances, carried_findings
from flow_mcp.domain.model import blank
from flow_mcp.domain.rule import Question
from flow_mcp.domain.rules.proof import changed_verifiers
from flow_mcp.domain.view import next_step, open_refusals
from tests.histories import ONE
from tests.simulator import GOAL, MANAGER, PERSON, No, World

WORK = ("Do the work on", "Mend it", "Make it pass", "Bring them back")
"""Begin the steps that ask for work before the call that they name."""


def told(world: World) -> Step:
    """Give what status says next."""
    return next_step(world.document, world.facts(MANAGER), world.book)


def perform(world: World, step: Step) -> bool:
    """Do what a step says, with sensible words; say whether it was a tool call at all.

    Raises:
        No: where that is refused.
    """
    if step.tool is not None:
        _TOOLS[step.tool](world, step)
    return step.tool is not None


def _word(step: Step, name: str) -> str | None:
    value = step.arguments.get(name)
    assert value is None or isinstance(value, str)
    return value


def _save(world: World, step: Step) -> None:
    if world.document.closure is not None:
        world.document, world.trail = blank("q", "w"), []
    fits = world.document.plan is not None and not world.hidden
    world.hidden = ()
    plan = world.plan if fits else ONE
    if any(no.plan_digest == plan.digest() for no in world.document.denials):
        plan = plan.model_copy(update={"decisions": (f"Answers the no to revision {world.document.revision}.",)})
    world.save(plan, _word(step, "goal") or world.document.goal or GOAL)


def _validate(world: World, step: Step) -> None:
    check_id = _word(step, "check_id")
    if check_id is not None:
        world.end(check_id=check_id)
        return
    if step.say.startswith(WORK):
        world.edit()
    scope, command = _word(step, "scope"), _word(step, "command")
    assert scope is not None
    assert command is not None
    if scope == "proof":
        feature = _word(step, "feature_id")
        assert feature is not None
        world.prove(feature)
    elif scope == "external":
        world.check("external", command, requirement=_word(step, "requirement"))
    elif scope == "baseline":
        world.check("baseline", command)
    elif scope == "broad":
        world.check("broad", command)
    else:
        world.check("focused", command)


def judge(world: World) -> None:
    """Let a person pass the assignment, or fail it where the source has moved."""
    run = active_run(world.document)
    moved = run is not None and run.review is not None and run.review.source != world.source
    if not moved or run is None or run.review is None:
        world.verdict(actor=PERSON)
        return
    live = carried_findings(world.document, run.feature_id, run.review.kind)
    findings = [
        NewFinding(severity="blocking", summary=one.summary, evidence="still there", finding_id=one.id) for one in live
    ]
    findings.append(NewFinding(severity="blocking", summary="It moved.", evidence="the digest"))
    world.verdict("failed", tuple(findings), PERSON)


def _reset(world: World, step: Step) -> None:
    feature = _word(step, "feature_id")
    assert feature is not None
    world.reset(feature, _word(step, "next_feature_id"))
    world.start_present = True


def _start(world: World, step: Step) -> None:
    world.start(_word(step, "feature_id"))
    world.start_present = True


def _approve(world: World) -> None:
    world.approve()
    world.copy_present = True


def _close(world: World, step: Step) -> None:
    if "plan_id" in step.arguments:
        world.other_open = None
        return
    world.close(_word(step, "kind") or "")


_TOOLS: dict[str, Callable[[World, Step], object]] = {
    "status": lambda world, _: perform(world, told(world)),
    "plan_save": _save,
    "plan_approve": lambda world, _: _approve(world),
    "run_start": _start,
    "validate": _validate,
    "review_start": lambda world, _: world.review(),
    "review_submit": lambda world, _: judge(world),
    "run_reset": _reset,
    "close": _close,
}


def person_helps(world: World) -> None:
    """Do what only a person can: decide on a stuck feature, observe elsewhere, or waive a changed verifier."""
    refusals = open_refusals(world.document, world.facts(MANAGER), world.book)
    rule = refusals[0].rule if refusals else ""
    if rule == "review.final-external":
        for index, _ in enumerate(world.plan.external_evidence or ()):
            world.external(index=index)
    elif rule == "review.protected-kept":
        question = Question(world.document, ReviewStart(summary=""), world.facts(PERSON))
        for path in changed_verifiers(question) or ():
            world.waive("path", path)
    elif rule == "review.cases-kept":
        kept = kept_cases(world.document, world.lines) or {}
        lost = lost_cases(world.document, kept, world.lines, world.source)
        command, world.platform = next(iter(lost))
        world.check("focused", command)
    elif rule == "review.proof-shown":
        waived = {entry.value for entry in allowances(world.document, "proof")}
        claims = [one.id for one in world.plan.features if one.proof is not None and one.proof.kind != "none"]
        for name in claims:
            if name not in waived and f"waive proof {name}`" in refusals[0].remedy.say:
                world.waive("proof", name)
    elif rule == "policy.unmoved":
        world.approve()
    else:
        run = world.document.runs[-1]
        world.reset(run.feature_id, run.feature_id)


def advance(world: World) -> None:
    """Do what status says next, by whoever it names.

    Raises:
        No: where that is refused.
    """
    if not perform(world, told(world)):
        person_helps(world)


def leads_on(world: World, refused: Refused, hops: int) -> list[str]:
    """Follow a remedy, and the remedy of what refuses it, until a call is accepted or a person is asked.

    Gives the rules that spoke on the way.
    """
    spoke: list[str] = []
    for _ in range(hops):
        try:
            perform(world, refused.remedy)
        except No as no:
            refused = no.refused
            spoke.append(refused.rule)
        else:
            return spoke
    message = f"no way on after {spoke}: {refused}"
    raise AssertionError(message)


def calm(world: World) -> None:
    """Let the world stop getting in the way: what was lost is back, and every kept case passes."""
    world.hidden, world.outward, world.other_open, world.blind = (), (), None, False
    world.copy_present = world.start_present = True
    kept = kept_cases(world.document, world.lines) or {}
    world.suite = tuple(sorted({*world.suite, "unit :: works", *(case for cases in kept.values() for case in cases)}))


def to_the_end(world: World, steps: int) -> int:
    """Go on, in a world that is calm now, until the goal is closed; say how many steps it took."""
    for step in range(steps):
        calm(world)
        if world.document.closure is not None:
            return step
        try:
            advance(world)
        except No as no:
            if not perform(world, no.refused.remedy):
                person_helps(world)
    message = f"not closed after {steps} steps: {told(world)}"
    raise AssertionError(message)


def leave(world: World, kind: str) -> None:
    """Let a person end the goal without completing it; before there is a plan there is nothing to end."""
    if world.document.plan is not None:
        world.close(kind, PERSON)
        assert world.document.closure is not None
        assert world.document.closure.kind == kind
