"""What a plan must be before it is saved."""

import re
from collections.abc import Iterable, Iterator

from pydantic import BaseModel

from flow_mcp.domain.commands import PlanApprove, PlanSave
from flow_mcp.domain.decision import Objection
from flow_mcp.domain.graph import Needs, circles
from flow_mcp.domain.plan import Command, Feature, Gate, Plan
from flow_mcp.domain.rule import Question, plan_of, rule
from flow_mcp.domain.rules.persons import counts_as_person
from flow_mcp.domain.rules.steps import ask_person, save_again, together
from flow_mcp.domain.shell import selectors, swallowing_faults

REPORTS = ".flow/reports/"

PLACEHOLDER = "REPLACE"
"""Begins every text of a proposed plan that a person or an agent has to write."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def _id_faults(plan: Plan) -> Iterator[str]:
    known = [feature.id for feature in plan.features]
    requirements = [entry.id for entry in plan.requirements]
    for name in (*known, *requirements):
        if not _ID.fullmatch(name):
            yield f"{name!r} is no id: letters, digits, '.', '_' and '-', at most 64, and it begins with no mark."
    for names, what in ((known, "feature"), (requirements, "requirement")):
        yield from (f"Two {what}s are called {name!r}." for name in names if names.count(name) > 1)
    for feature in plan.features:
        for name in feature.depends_on:
            if name not in known:
                yield f"Feature {feature.id!r} depends on {name!r}, which is no feature of this plan."


def _circle(needs: Needs) -> str:
    """Name a circle from its first feature back to it; where several go through one another, each step of them."""
    if any(len(inner) > 1 for inner in needs.values()):
        steps = ", ".join(f"{name} -> {need}" for name, inner in needs.items() for need in inner)
        return f"Features depend on each other in circles: {steps}."
    path = [next(iter(needs))]
    path.extend(needs[path[-1]][0] for _ in needs)
    return f"Features depend on each other in a circle: {' -> '.join(path)}."


@rule(
    "plan.acyclic",
    claim="Features form an acyclic graph over known, unique ids.",
    limits="The refusal names the cycle or the unknown id.",
)
def acyclic(question: Question) -> Objection | None:
    """Object to a cycle, an unknown or doubled id (row plan.acyclic)."""
    if not isinstance(question.ask, PlanSave):
        return None
    plan = question.ask.plan
    faults = (*_id_faults(plan), *(_circle(needs) for needs in circles(plan)))
    return _faulty((fault, "Mend the ids or dependencies.") for fault in faults)


def _faulty(faults: Iterable[tuple[str, str]]) -> Objection | None:
    """Object to every fault of a plan at once, each with what helps."""
    every = tuple(faults)
    if not every:
        return None
    seen, say = (together(one[part] for one in every) for part in (0, 1))
    return Objection(seen, save_again(say), retryable=False)


def _gate_questions(gate: Gate | None) -> Iterator[str]:
    if gate is None:
        yield 'gate: which one command speaks for the whole goal? {"run": …, "report": ".flow/reports/….xml"}'
    elif gate.report is None and not _said(gate.no_report_because):
        yield "gate.report: where does the gate write its JUnit report, or no_report_because: why does it write none?"
    elif gate.report is not None and gate.no_report_because is not None:
        yield "gate: it names a report and says why there is none; keep one of the two."
    if gate is not None and gate.narrowed_because is not None and not _said(gate.narrowed_because):
        yield "gate.narrowed_because: why does the gate not run the whole suite? Leave it out where it does."


def _said(reason: str | None) -> bool:
    return reason is not None and bool(reason.strip())


def _proof_questions(plan: Plan, feature: Feature) -> Iterator[str]:
    proof = feature.proof
    where = f"features[{feature.id}].proof"
    if proof is None:
        yield f"{where}: which check shows that the change matters? {{kind: case|command, run}} or {{kind: none}}"
    elif proof.kind == "none":
        if not _said(proof.because):
            yield f"{where}.because: why can nothing show that this change matters?"
        if proof.run is not None or proof.case is not None:
            yield f"{where}: kind none runs nothing; leave out run and case."
    else:
        runs = {check.run for check in feature.checks} | ({plan.gate.run} if plan.gate is not None else set())
        listed = plan.command(proof.run or "")
        if listed is None or listed.run not in runs:
            yield f"{where}.run: it must be one of this feature's checks or the gate, byte for byte."
        if proof.kind == "case" and (not proof.case or (listed is not None and listed.report is None)):
            yield f"{where}.case: it names a case of a command that declares a report."
        if proof.kind == "command" and proof.case is not None:
            yield f"{where}.case: kind command shows the whole command; kind case shows a case."


def _external_questions(plan: Plan) -> Iterator[str]:
    if plan.external_evidence is None:
        yield "external_evidence: which commands must pass on which platform? An empty list is an answer."
    known = {entry.id for entry in plan.requirements}
    for entry in plan.external_evidence or ():
        if entry.requirement not in known:
            yield f"external_evidence: {entry.requirement!r} is no requirement of this plan."
        if entry.cases and entry.command.report is None:
            yield f"external_evidence for {entry.requirement!r}: named cases need a command that declares a report."


def open_questions(plan: Plan) -> Iterator[str]:
    """Give every question that a plan leaves unanswered."""
    yield from _gate_questions(plan.gate)
    for feature in plan.features:
        yield from _proof_questions(plan, feature)
    yield from _external_questions(plan)
    for entry in plan.dropped_cases:
        if not _said(entry.because):
            yield f"dropped_cases: why is the case {entry.case!r} given up?"


def placeholders(goal: str, plan: Plan) -> Iterator[str]:
    """Name every text that is still the placeholder of a proposed plan, by its place."""
    written = plan.model_copy(update={"inherits": ()})  # what an earlier plan said is not this one's to answer
    for where, text in (("goal", goal), *_texts("", written)):
        if text.startswith(PLACEHOLDER):
            yield where


def _texts(where: str, value: object) -> Iterator[tuple[str, str]]:
    """Give every text of a plan with its place, such as ``features[a].title``."""
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _texts(f"{where}.{name}".removeprefix("."), getattr(value, name))
    elif isinstance(value, tuple):
        for number, inner in enumerate(value):
            yield from _texts(f"{where}[{getattr(inner, 'id', number)}]", inner)


@rule(
    "plan.questions-answered",
    claim="A plan names its gate, its report, each feature's proof, and external evidence, each or “none, because”.",
    limits="no_report_because and narrowed_because need a person's approval and stand in the closure.",
)
def questions_answered(question: Question) -> Objection | None:
    """Object to an open question, and to a caller that answers for a person (row plan.questions-answered)."""
    plan = plan_of(question)
    if plan is None or not isinstance(question.ask, PlanSave | PlanApprove):
        return None
    asked = [(one, "Answer {} in the plan, then save it again.") for one in open_questions(plan)]
    if isinstance(question.ask, PlanSave):
        told = f"it begins with {PLACEHOLDER}, the placeholder of `flow-mcp plan --suggest`."
        write = "Write {}, then save it again."
        asked = [(f"{place}: {told}", write) for place in placeholders(question.ask.goal, plan)] + asked
    if asked:
        every = "Answer all of these in the plan, then save it again."
        return _faulty((seen, say.format(seen.partition(": ")[0]) if len(asked) == 1 else every) for seen, say in asked)
    gate = plan.gate
    reasons = gate is not None and (gate.no_report_because or gate.narrowed_because)
    if isinstance(question.ask, PlanApprove) and reasons and not counts_as_person(question.facts):
        seen = "The gate has no report or is narrowed; only a person can approve that."
        say = "Give the gate a report and the whole suite, or ask a person."
        remedy = ask_person() if question.document.approvals else save_again(say)
        return Objection(seen, remedy, retryable=False)
    return None


def _command_faults(plan: Plan) -> Iterator[tuple[str, str]]:
    """Give each fault of the commands, and what helps."""
    known: dict[str, Command] = {}
    for command in plan.commands():
        if known.setdefault(command.run, command) != command:
            seen = f"{command.run!r} stands in the plan twice with different report, timeout_s or network."
            yield seen, "Give equal commands the same report, timeout_s and network."
        for fault in swallowing_faults(command.run):
            say = "Write simple commands joined by && or |; what needs more is a script in the repository."
            yield f"{command.run!r}: {fault.what} ({fault.text}).", say
        report = command.report
        if report is not None and not _report_inside(report):
            name = report.replace("\\", "/").rpartition("/")[2]
            inside = REPORTS + (name if name not in {"", ".", ".."} else "report.xml")
            say = f"Let the command write it as {inside!r}, and name that in the plan."
            yield f"The report {report!r} must be a file below {REPORTS}.", say


def _report_inside(report: str) -> bool:
    parts = report.split("/")
    return report.startswith(REPORTS) and not {"", ".", ".."} & set(parts) and "\\" not in report


@rule(
    "plan.commands-whole",
    claim="No command of a plan can swallow its result.",
    limits="An allow-list over the shell's real grammar. A script that it calls still can: the approver reads it.",
)
def commands_whole(question: Question) -> Objection | None:
    """Object to a command whose failure could be hidden by its own line (row plan.commands-whole)."""
    if not isinstance(question.ask, PlanSave):
        return None
    return _faulty(_command_faults(question.ask.plan))


@rule(
    "plan.gate-whole",
    claim="A gate does not choose which tests it runs, unless it says so.",
    limits="Recognised runners, in arguments and environment variables; narrowed_because declares it to a person.",
)
def gate_whole(question: Question) -> Objection | None:
    """Object to a gate that selects tests without saying why (row plan.gate-whole)."""
    if not isinstance(question.ask, PlanSave) or question.ask.plan.gate is None:
        return None
    gate = question.ask.plan.gate
    found = selectors(gate.run)
    if not found or gate.narrowed_because:
        return None
    named = together(f"{one.what} ({one.text})." for one in found)
    say = "Let the gate run the whole suite; a narrower command can be a feature's check."
    return Objection(f"The gate {gate.run!r} selects tests: {named}", save_again(say), retryable=False)
