"""What a person is shown before they answer, and the question through which a host asks them.

Nothing of a plan may look like a line of Flow's own: every text of it is shown on one line, or indented.
"""

from collections.abc import Sequence
from dataclasses import replace

from flow_mcp.domain.commands import PlanApprove
from flow_mcp.domain.decide import SPEAKING, objections
from flow_mcp.domain.decision import Facts, Refused, person
from flow_mcp.domain.model import Actor, Document
from flow_mcp.domain.plan import Command, Feature, Plan
from flow_mcp.domain.rule import Question as Asking
from flow_mcp.domain.rule import Rulebook
from flow_mcp.domain.setbacks import sentences
from flow_mcp.engine.gather import Gathered
from flow_mcp.server.desk import Field, Question

SHOWN_MAX = 12
TEXT_CHARACTERS = 4_000

_CALLER = Actor(role="manager")
_PERSON = Actor(role="person", channel="dialog")
_PERSON_DOES = (
    "A caller cannot approve this plan. A person looks at it with `flow-mcp show` and answers with `flow-mcp approve`, "
    "under the settings of this server."
)
_TRUSTED = " Where the caller is to be trusted with it, start the server with `--caller-scope trusted`."


def packet(document: Document, seen: Gathered | None, advice: Sequence[str]) -> str:
    """Tell a person what exactly they would approve (row approve.exact), and what most likely makes it unworkable."""
    plan = document.plan
    if plan is None:
        return "There is no plan."
    parts = [_titled("Goal", document.goal), _titled("Plan", plan.summary)]
    parts += [_titled(f"Requirement {entry.id}", entry.text) for entry in plan.requirements]
    parts += [_titled("Decided", text) for text in plan.decisions]
    parts += [_feature(feature) for feature in plan.features]
    parts += _gate(plan) + _frozen(plan, seen) + _beside(plan) + _beforehand(seen)
    parts += [f"LOOK FIRST: {_line(sentence)}" for sentence in (*sentences(document), *advice)]
    source = "not looked at" if seen is None else seen.manifest.digest
    parts.append(f"Plan {plan.digest()} at revision {document.revision}, source {source}.")
    return "\n".join(parts)


def _titled(title: str, text: str) -> str:
    """Show a text after its title; further lines are indented, and what is cut is said."""
    shown = text[:TEXT_CHARACTERS].replace("\n", "\n    ")
    rest = len(text) - TEXT_CHARACTERS
    return f"{title}: {shown}" + (f" [{rest} more characters: flow-mcp show]" if rest > 0 else "")


def _line(text: str) -> str:
    return " ".join(text.split())


def _command(command: Command) -> str:
    network = " (with network)" if command.network == "host" else ""
    return f"`{command.run}`{network}"


def _feature(feature: Feature) -> str:
    checks = ", ".join(_command(check) for check in feature.checks) or "the gate"
    needs = f" after {', '.join(feature.depends_on)}" if feature.depends_on else ""
    targets = ", ".join(feature.targets) or "nothing"
    told = f"- {feature.id}: {feature.title}{needs}. May change {targets}; checked by {checks}; {_proof(feature)}."
    return told + (f"\n    {_line(feature.summary)}" if feature.summary else "")


def _proof(feature: Feature) -> str:
    proof = feature.proof
    if proof is None or proof.kind == "none":
        because = "" if proof is None or proof.because is None else f", because {_line(proof.because)}"
        return f"NO PROOF{because}"
    return f"proof by case {proof.case} of `{proof.run}`" if proof.case else f"proof by `{proof.run}`"


def _gate(plan: Plan) -> list[str]:
    gate = plan.gate
    if gate is None:
        return []
    report = "no report" if gate.report is None else f"report {gate.report}"
    found = [f"Gate: {_command(gate.as_command())}, {report}"]
    found += [f"WITHOUT REPORT: {_line(gate.no_report_because)}"] if gate.no_report_because else []
    found += [f"NARROWED: {_line(gate.narrowed_because)}"] if gate.narrowed_because else []
    for entry in plan.external_evidence or ():
        cases = ", ".join(entry.cases) or "any"
        found.append(f"For {entry.requirement} on {entry.platform}: {_command(entry.command)}, cases {cases}")
    return found


def _some(paths: tuple[str, ...]) -> str:
    rest = len(paths) - SHOWN_MAX
    return ", ".join(paths[:SHOWN_MAX]) + (f" and {rest} more" if rest > 0 else "")


def _frozen(plan: Plan, seen: Gathered | None) -> list[str]:
    if plan.protected == ():
        return ["NO FILE IS FROZEN: the plan says protected: []."]
    if seen is None:
        return []
    named = {target for feature in plan.features for target in feature.targets}
    files = tuple(path for path in seen.facts.protected if path not in named)
    free = tuple(path for path in seen.facts.protected if path in named)
    found = [f"Frozen files ({len(files)}): {_some(files) or ('none' if free else 'none exist yet')}"]
    return found + ([f"Tests and configuration that targets name, so not frozen: {_some(free)}"] if free else [])


def _beside(plan: Plan) -> list[str]:
    """List what the digest leaves out, what is given up, and what is taken over."""
    found = [f"Commands may read, outside the digest: {_some(plan.inputs)}"] if plan.inputs else []
    found += [f"Left out of the digest: {_some(plan.artifacts)}"] if plan.artifacts else []
    found += [f"GIVEN UP: {entry.case}, because {_line(entry.because)}" for entry in plan.dropped_cases]
    return found + [f"Takes over what {entry.plan_id} owes." for entry in plan.inherits]


def _beforehand(seen: Gathered | None) -> list[str]:
    """List what differs already: what was edited before anyone was asked would be approved with the rest."""
    if seen is None:
        return []
    # Without a commit everything differs from it, which says nothing.
    has_commit = seen.seen.commit is not None
    head = "that differ from HEAD already" if has_commit else "that are there already"
    rows = (
        ("Frozen files that differ from HEAD", seen.facts.protected_dirty if has_commit else ()),
        ("Frozen files that differ from the branch this one goes to", seen.seen.protected_unmerged),
        (f"Targets {head}", seen.seen.targets_dirty),
    )
    return [f"{what}: {_some(paths)}" for what, paths in rows if paths]


def approval_question(document: Document, seen: Gathered | None, advice: Sequence[str]) -> Question:
    """Ask for a yes or a no to the plan."""
    decision = Field("approve", "Approve this plan", "yes freezes exactly this plan", "tick", (), required=True)
    because = Field("because", "Why not", "what the next draft should answer", "text", (), required=False)
    return Question(f"Approve this plan?\n{packet(document, seen, advice)}", (decision, because))


def acceptance_question(document: Document, open_rules: tuple[str, ...], source: str) -> Question:
    """Ask whether the goal is accepted although rules stand open."""
    stand = "".join(f"\n- {_line(rule)}" for rule in open_rules) or " none"
    stand += "".join(f"\nLOOK FIRST: {sentence}" for sentence in sentences(document))
    message = (
        f"Accept this goal as it is? It is never counted as completed.\n{_titled('Goal', document.goal)}\n"
        f"Rules that stand open:{stand}\nRevision {document.revision}, source {source}."
    )
    return Question(message, (Field("accept", "Accept as it is", "", "tick", (), required=True),))


def caller_refusal(document: Document, facts: Facts, book: Rulebook) -> Refused | None:
    """Foretell why a caller's yes is refused where a person's would not be; None where it is not.

    The policy lets a caller approve, and some of a plan takes a person all the same (row approve.caller-bounded).
    What the caller can mend itself, a file that is not committed, is told as the rule tells it.
    """
    if facts.policy.approve != "caller" or document.plan is None or document.closure is not None:
        return None
    ask = PlanApprove(
        plan_digest=document.plan.digest(), shown_revision=document.revision, shown_source=facts.digest or "none"
    )
    found = _objections(document, ask, replace(facts, actor=_CALLER), book)
    theirs = {one.rule for one in _objections(document, ask, replace(facts, actor=_PERSON), book)}
    if not found or found[0].rule in theirs:
        return None
    if found[0].retryable:
        return found[0]
    trusting = facts.policy.model_copy(update={"caller_scope": "trusted"})
    helps = not _objections(document, ask, replace(facts, actor=_CALLER, policy=trusting), book)
    return replace(found[0], remedy=person(_PERSON_DOES + (_TRUSTED if helps else "")), retryable=False)


def _objections(document: Document, ask: PlanApprove, facts: Facts, book: Rulebook) -> tuple[Refused, ...]:
    return objections(Asking(document, ask, facts), SPEAKING[PlanApprove], book)
