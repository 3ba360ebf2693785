"""What evidence rests on is covered by the digest: nothing of it hides behind a glob of the plan, or behind a link."""

from flow_mcp.domain.commands import Ask, Close, PlanApprove, PlanSave, ReviewStart, ReviewSubmit
from flow_mcp.domain.decision import HiddenPath, Objection, OutwardLink, Step
from flow_mcp.domain.history import active_run, final_review
from flow_mcp.domain.plan import Plan
from flow_mcp.domain.rule import Question, rule
from flow_mcp.domain.rules.review import observe
from flow_mcp.domain.rules.steps import defer, reset, save_again, together
from flow_mcp.domain.spoken import DEFER

GOAL_CHARACTERS_MAX = 200


def becomes_final(ask: Ask) -> bool:
    """Say whether evidence becomes final: at the start of a review, its pass, and a completed closing."""
    if isinstance(ask, ReviewSubmit):
        return ask.verdict == "passed"
    if isinstance(ask, Close):
        return ask.kind in {"completed", "accepted"}
    return isinstance(ask, ReviewStart)


def _mended(question: Question, plan: Plan, say: str, otherwise: str) -> Step:
    """Ask for the source to be mended, and for what is then to be done again."""
    document = question.document
    if isinstance(question.ask, ReviewStart):
        gate = "" if plan.gate is None else plan.gate.run
        return observe(question, gate, f"Mend it: {say}, then observe the gate again. {otherwise}")
    run, final = active_run(document), final_review(document)
    run = run or next((one for one in document.runs if final is not None and one.review is final), None)
    feature_id = plan.features[-1].id if run is None else run.feature_id
    again = f"then reset {feature_id} and show its checks again"
    return reset(feature_id, f"Mend it: the manager should {say}, {again}. {otherwise}")


@rule(
    "plan.artifacts-narrow",
    claim="Artifacts and inputs do not hide source.",
    limits="A glob that matches a tracked or protected file or overlaps a target is refused; so is an ignored target. "
    "Asked at save and approval; and again, of tracked and protected files that came since, when a review begins, when "
    "it passes, and when a goal is completed. Without git no file is known to be tracked: later only protected ones "
    "are asked of.",
)
def artifacts_narrow(question: Question) -> Objection | None:
    """Object to what would leave source out of the digest, or does by now (row plan.artifacts-narrow)."""
    source, plan = question.facts.source, question.document.plan
    if source is None:
        return None
    if isinstance(question.ask, PlanSave | PlanApprove):
        return _hiding(question, source.hidden) if source.hidden else None
    found = [one for one in source.hidden if one.present]
    if not found or plan is None or not becomes_final(question.ask):
        return None
    seen = together(f"{one.glob!r} hides {one.path!r}: {one.why}." for one in found)
    say = (
        f"move {found[0].path} to where {found[0].glob} does not reach, or, if it is generated, remove it from there "
        "and from git's index (git rm --cached)"
    )
    otherwise = f"Where it must lie there, {DEFER} without that glob."
    return Objection(seen, _mended(question, plan, say, otherwise), retryable=True)


def _hiding(question: Question, found: tuple[HiddenPath, ...]) -> Objection:
    seen = together(f"{one.glob!r} would hide {one.path!r}: {one.why}." for one in found)
    remedy = save_again("Name only generated, untracked files there.")
    if question.document.approvals:
        remedy = defer("Take it out of git's index or of the glob's reach and ask again, or end this goal.")
    return Objection(seen, remedy, retryable=True)


@rule(
    "review.links-inside",
    claim="No review and no completed closing rests on a new link that leads out of the source.",
    limits="Asked when a review begins, when it passes, and when a goal is completed. A link leads out where it comes "
    "to no file or folder that the digest covers: outside of the workspace, to what is ignored, an artifact or Flow's "
    "own, or to nothing. New: made or re-pointed since the approval, or what it comes to was source then. Links that "
    "led out in the approved source are its approver's affair.",
)
def links_inside(question: Question) -> Objection | None:
    """Object to a link behind which what was looked at can change unseen (row review.links-inside)."""
    source, plan = question.facts.source, question.document.plan
    if source is None or not source.outward or plan is None or not becomes_final(question.ask):
        return None
    seen = together(_leading(one) for one in source.outward)
    say = f"put the file itself in the place of {source.outward[0].path}, or remove the link"
    otherwise = f"Where the link is meant, {DEFER}, to be approved with the link in its place."
    return Objection(seen, _mended(question, plan, say, otherwise), retryable=True)


def _leading(link: OutwardLink) -> str:
    return f"The link {link.path!r} leads out of the source, to {link.goal[:GOAL_CHARACTERS_MAX]!r}."
