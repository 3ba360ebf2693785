"""What a caller is shown of a goal: the views of ``status``, and the pieces that other answers share."""

from collections.abc import Mapping
from typing import Any

from flow_mcp.domain.decision import Refused, Step
from flow_mcp.domain.history import (
    active_run,
    approval,
    carried_findings,
    checks_of,
    current_run,
    live_findings,
    observations,
    passed_features,
    passes,
    unanswered,
    unstable,
)
from flow_mcp.domain.model import Document, Observation, Review
from flow_mcp.domain.policy import Policy
from flow_mcp.domain.report_words import disagreement, why_unread
from flow_mcp.domain.setbacks import sentences
from flow_mcp.domain.spoken import misused, not_started, proof_sentence
from flow_mcp.domain.view import status
from flow_mcp.engine.core import State
from flow_mcp.engine.folder import Folder
from flow_mcp.engine.gather import Workspace

Body = dict[str, Any]

LISTED_MAX = 40
GOAL_CHARACTERS = 300
TAIL_CHARACTERS = 4_000
DIFFERENCES = (
    "`flow-mcp diff` prints what changed since the feature's first run started, and with --approved since the approval."
)


def step_body(step: Step) -> Body:
    """Show the next step: a call with its arguments and what to fill in, or whom to wait for."""
    body: Body = {} if step.who == "manager" else {"who": step.who}
    if step.tool is not None:
        body |= {"tool": step.tool, "arguments": step.arguments}
    if step.fill:
        body["fill"] = list(step.fill)
    return body | {"say": step.say}


def refusal_body(refused: Refused) -> Body:
    """Show a refusal: which rule, what was seen, what helps, and whether the same call could succeed later."""
    told = {
        "rule": refused.rule,
        "seen": refused.seen,
        "remedy": step_body(refused.remedy),
        "retryable": refused.retryable,
    }
    return {"summary": f"Refused by {refused.rule}: {refused.seen}", "refused": told, "next": told["remedy"]}


def observation_body(document: Document, seen: Observation, tail: str | None) -> Body:
    """Show an observation as the record holds it, and whether it passes."""
    body: Body = {
        "id": seen.id,
        "scope": seen.scope,
        "command": seen.command,
        "attested_by": seen.attested_by,
        "exit_code": seen.exit_code,
        "ended": seen.ended,
        "complete": seen.complete,
        "platform": seen.platform,
        "sandbox": seen.sandbox.tier,
        "source": seen.source,
        "passes": document.plan is not None and passes(document.plan, seen),
        "eligible": seen.ineligible is None,
    }
    if seen.ineligible is not None:
        body["reason"] = seen.ineligible
        if seen.ended == "not-run":
            body["why"] = seen.sandbox.reason
    if seen.in_place is not None:
        body["in_place"] = seen.in_place
    named = {"drifted": seen.drifted, "left": seen.left, "inputs": seen.inputs, "shared_inputs": seen.shared_inputs}
    body |= {name: list(paths) for name, paths in named.items() if paths}
    if seen.duration_ms is not None:
        body["seconds"] = round(seen.duration_ms / 1000, 1)
    if seen.report is not None:
        body |= _report_body(seen)
    if seen.proof is not None:
        body["proof"] = seen.proof.as_json()
    if tail:
        body["output_tail"] = tail[-TAIL_CHARACTERS:]
    return body


def observed_sentence(document: Document, seen: Observation) -> str:
    """Say in a sentence what was observed."""
    if seen.proof is not None:
        return f"{seen.command} on the approved source: {proof_sentence(seen)}."
    where = "on the approved source " if seen.scope == "baseline" else ""
    if not_started(seen):
        return (
            f"{seen.command} {where}could not start (exit code {seen.exit_code}): a program that it names was not "
            "found. Commands get the PATH of the process that runs flow-mcp; in a copy, ignored folders are there as "
            "inputs only."
        )
    verdict = "passes" if document.plan is not None and passes(document.plan, seen) else "does not pass"
    if seen.ineligible is not None:
        verdict = _UNEARNED.get(seen.ineligible, verdict)
    why = disagreement(seen) if seen.ineligible is None else None
    if misused(seen):
        why = f"it ended as if it had been called wrongly (exit code {seen.exit_code}, no readable report)"
    return f"{seen.command} {where}{verdict} ({seen.scope}){f': {why}' if why else ''}."


_UNEARNED = {
    "cancelled": "was cancelled",
    "timed-out": "did not end in time",
    "runner-lost": "has no end: its runner was lost",
    "not-run": "was not run",
    "source-drift": "does not count: the workspace changed while it ran",
}
"""How a check is told that is ineligible; of any other reason only that it does not pass."""


def _report_body(seen: Observation) -> Body:
    report = seen.report
    if report is None:
        return {}
    body: Body = {"totals": {"passed": report.passed, "failed": report.failed, "skipped": report.skipped}}
    if report.reason is not None:
        body["report"] = why_unread(report)
    if report.cases:
        body["cases"] = {entry.case: entry.outcome for entry in report.cases}
    return body


def head(document: Document) -> Body:
    """Give what every answer about a plan says first."""
    return {"plan_id": document.plan_id, "revision": document.revision}


def status_body(state: State, view: str) -> Body:
    """Show one view of a goal."""
    document = state.document
    if document.revision == 0:
        body: Body = {"summary": "There is no plan here yet.", "status": "none"}
    else:
        body = {"summary": _sentence(document), **head(document), "status": status(document)}
        body |= _VIEWS[view](state)
    if document.taken_back:
        body |= _taken_back(document, str(body["summary"]))
    if document.pending is not None and state.facts.check_lost:
        lost = f"{document.pending.id} is lost: the process that ran it has ended without an answer. It does not pass."
        body |= {"summary": f"{body['summary']} {lost}", "check": {**body.get("check", {}), "state": "lost"}}
    body |= {"workspace": workspace_body(state.space), "source": _source(state), "host": "none"}
    body |= {"policy": state.facts.policy.model_dump()}
    if state.seen is not None and state.seen.seen.ignored_count:
        beside = state.seen.seen
        body["ignored"] = {"count": beside.ignored_count, "paths": list(beside.ignored_present)}
    if set(state.folder.open_ids()) - {document.plan_id}:
        body["open_plans"] = open_plans(state.folder, state.facts.worktree)
    return body | _unreadable(state.folder) | {"next": step_body(state.step)}


def _taken_back(document: Document, summary: str) -> Body:
    """Say that the document was put back (row write.setback-told), first of all while that is not written down yet."""
    told = sentences(document)
    is_new = document.taken_back is not None and document.taken_back[-1].revision > document.revision
    words = f"{summary} {told[-1]} The next step that changes it writes that down." if is_new else summary
    return {"summary": words, "taken_back": list(told)}


def workspace_body(space: Workspace) -> Body:
    """Say which folder the workspace is, and that it lies above the one in which Flow was started."""
    body: Body = {"root": str(space.root)}
    if not space.started_in:
        return body
    say = (
        f"Flow was started in {space.started_in}/, and the workspace is the whole repository around it: paths, globs "
        "and commands count from its top; a command for that folder begins with cd."
    )
    return body | {"started_in": space.started_in, "say": say}


def several_body(folder: Folder, worktree: str, policy: Policy, step: Step) -> Body:
    """Show every open plan where it is not known which one is meant."""
    found = folder.open_ids()
    here = len(folder.driven(worktree))
    driven = f"{here} of them are driven from here" if here else "none of them is driven from here"
    summary = f"{len(found)} plans are open, and {driven}: name the one you mean as plan_id."
    body: Body = {"summary": summary, "status": "several", "open_plans": open_plans(folder, worktree)}
    body |= {"source": "unchecked", "host": "none", "policy": policy.model_dump()}
    return body | _unreadable(folder) | {"next": step_body(step)}


def open_plans(folder: Folder, worktree: str) -> list[Body]:
    """Show what tells open plans apart: the goal, how far it is, and from where it is driven."""
    return [_open_plan(folder.stored[name].document, worktree) for name in sorted(folder.open_ids())[:LISTED_MAX]]


def _open_plan(document: Document, worktree: str) -> Body:
    run = active_run(document)
    told: Body = {"plan_id": document.plan_id, "goal": _goal(document), "status": status(document)}
    told["driven_from"] = "here" if document.worktree == worktree else "another worktree"
    return told | ({} if run is None else {"run_id": run.id})


def _goal(document: Document) -> str:
    return " ".join(document.goal.split())[:GOAL_CHARACTERS]


def _unreadable(folder: Folder) -> Body:
    damaged = {name: error.seen for name, error in folder.damaged.items()}
    return {"unreadable": damaged} if damaged else {}


def _sentence(document: Document) -> str:
    plan = document.plan
    total = 0 if plan is None else len(plan.features)
    done = len(passed_features(document))
    return f"{_goal(document)}: {status(document)}, {done} of {total} features passed."


def _source(state: State) -> str:
    if state.facts.source is None:
        return "unchecked"
    seen = [one for one in observations(state.document) if one.scope != "baseline"]
    moved = bool(seen) and seen[-1].source != state.facts.digest
    return "moved" if moved else "current"


def _next(state: State) -> Body:
    document = state.document
    run = active_run(document)
    body: Body = {}
    if run is not None:
        body["run"] = {"run_id": run.id, "feature_id": run.feature_id, "attempt": run.attempt}
        findings = live_findings(document, run.feature_id)
        if findings:
            body["findings"] = [finding.as_json() for finding in findings]
    if document.pending is not None:
        body["check"] = {"id": document.pending.id, "command": document.pending.command}
    if document.closure is not None:
        body["closure"] = document.closure.kind
    flaky = unstable(document)
    return body | ({"unstable": list(flaky)} if flaky else {})


def _plan(state: State) -> Body:
    document, given = state.document, approval(state.document)
    body: Body = {"goal": document.goal, "plan": None if document.plan is None else _shown_plan(document)}
    if given is not None:
        body["approval"] = {"by": given.by, "channel": given.channel, "revision": given.revision}
        named = {"targets_dirty": given.targets_dirty, "unfrozen": given.unfrozen}
        body["approval"] |= {name: list(paths) for name, paths in named.items() if paths}
    if document.allowances:
        body["waivers"] = [entry.as_json() for entry in document.allowances]
    return body


def _shown_plan(document: Document) -> Body:
    plan = document.plan
    if plan is None:
        return {}
    shown: Body = plan.as_json()
    shown["inherits"] = [entry.plan_id for entry in plan.inherits]
    return shown


def _run(state: State) -> Body:
    document, run = state.document, active_run(state.document)
    if run is None:
        return _next(state)
    feature = None if document.plan is None else document.plan.feature(run.feature_id)
    source = state.facts.source
    return _next(state) | {
        "feature": None if feature is None else feature.as_json(),
        "changed_paths": [] if source is None else list(source.changed[:LISTED_MAX]),
        "outside_targets": [] if source is None else list(source.outside[:LISTED_MAX]),
        "observations": [observation_body(document, seen, None) for seen in run.observations[-LISTED_MAX:]],
    }


def _review(state: State) -> Body:
    """Give the reviewer's packet: the assignment, what was planned, what was seen, and what must be answered."""
    document, run = state.document, active_run(state.document)
    if run is None or run.review is None or document.plan is None:
        return {"assignment": None}
    review, feature = run.review, document.plan.feature(run.feature_id)
    by_id = {seen.id: seen for seen in observations(document)}
    rests_on = [by_id[name] for name in review.observations if name in by_id]
    findings = carried_findings(document, run.feature_id, review.kind)
    return {
        "assignment": {**_assignment(review), "run_id": run.id, "attempt": run.attempt},
        "goal": document.goal,
        "requirements": [entry.as_json() for entry in document.plan.requirements],
        "feature": None if feature is None else feature.as_json(),
        "checks": [] if feature is None else [check.run for check in checks_of(document.plan, feature)],
        "observations": [_brief(observation_body(document, seen, None)) for seen in rests_on[:LISTED_MAX]],
        "prior_findings": [finding.as_json() for finding in findings],
        "unanswered_reviews": list(unanswered(document, run.feature_id)),
        "unstable": list(unstable(document)),
        "passed_features": sorted(passed_features(document)),
        "differences": {"say": DIFFERENCES},
    }


def _brief(observation: Body) -> Body:
    """Leave the cases that passed to the totals where there are many: the room is for what changed."""
    cases = observation.get("cases", {})
    if len(cases) <= LISTED_MAX:
        return observation
    return observation | {"cases": dict([one for one in cases.items() if one[1] != "passed"][:LISTED_MAX])}


def _assignment(review: Review) -> Body:
    """Show an assignment, its longest lists by their first lines and their length."""
    body: Body = review.as_json()
    for name in ("changed_paths", "outside_targets"):
        every = body.get(name, [])
        body |= {name: every[:LISTED_MAX], f"{name}_total": len(every)} if len(every) > LISTED_MAX else {}
    return body


def _evidence(state: State) -> Body:
    document = state.document
    shown = [observation_body(document, seen, None) for seen in observations(document)[-LISTED_MAX:]]
    features = () if document.plan is None else document.plan.features
    runs = {feature.id: current_run(document, feature.id) for feature in features}
    return {
        "features": {name: "none" if run is None else run.state for name, run in runs.items()},
        "observations": shown,
        "observations_total": len(observations(document)),
    }


def _full(state: State) -> Body:
    body: Body = state.document.as_json()
    body["operations"] = len(state.document.operations)
    body["listings"] = {entry.digest: entry.count for entry in state.document.listings}
    return {
        "document": body,
        "say": f"The whole document is the file {state.document.plan_id}.json in the plans folder.",
    }


_VIEWS: Mapping[str, Any] = {
    "next": _next,
    "plan": _plan,
    "run": _run,
    "review": _review,
    "evidence": _evidence,
    "full": _full,
}
