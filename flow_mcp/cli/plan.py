"""``flow-mcp plan``: the draft that is open here, or a first plan that the project's own files propose."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Block, Facts, Misused, Raw, Words
from flow_mcp.cli.options import AsJson, Plan, PlanOption, Workspace, meant, start
from flow_mcp.cli.paper import as_json as json_text
from flow_mcp.cli.project import own_records
from flow_mcp.cli.reading import read_plan, records
from flow_mcp.cli.words import refusal
from flow_mcp.domain.decision import Refused, person
from flow_mcp.domain.rules.plan import PLACEHOLDER
from flow_mcp.workspace.ecosystems.sentences import (
    Told,
    frozen_words,
    gate_words,
    of_folders,
    of_history,
    of_suggestions,
    of_tests,
)
from flow_mcp.workspace.ecosystems.source import SourceState, look_at_source
from flow_mcp.workspace.ecosystems.suggestion import Suggestion
from flow_mcp.workspace.ecosystems.survey import Survey, survey
from flow_mcp.workspace.root import folder_in

_BY_PERSON = "Where `approve: caller` is set, plan_approve is refused: a person answers with `flow-mcp approve`."

_PROPOSE = person("`flow-mcp plan --suggest` proposes one from the project's files, and writes nothing.")

Suggest = Annotated[
    bool, typer.Option("--suggest", help="Propose gate, report and inputs from the project's files; writes nothing.")
]


def plan(
    plan: Plan = None,
    *,
    suggest: Suggest = False,
    plan_id: PlanOption = None,
    workspace: Workspace = None,
    as_json: AsJson = False,
) -> Answer:
    """Print the open plan as the JSON that plan_save takes; with --suggest, propose one. Neither writes anything."""
    named = meant(plan, plan_id)
    if suggest and named is not None:
        seen = f"--suggest proposes a new plan, and {named} is one that is there."
        raise Misused(seen, "Leave one of the two out.")
    answer = _suggested(workspace) if suggest else _draft(named, workspace)
    return answer.told(as_json=as_json)


def _draft(plan_id: str | None, workspace: Path | None) -> Answer:
    held = read_plan(records(workspace), plan_id)
    if isinstance(held, Refused):
        return refusal(replace(held, remedy=_PROPOSE) if held.rule == "plan.approved-first" else held)
    document = held.document
    own = {} if document.plan is None else document.plan.as_json()
    # What Flow adds is not a caller's to write.
    written: dict[str, JsonValue] = {name: value for name, value in own.items() if name != "inherits"}
    shown: dict[str, JsonValue] = {"goal": document.goal, "plan": written}
    state = "approved and frozen" if document.approvals else "a draft"
    state = state if document.closure is None else f"closed as {document.closure.kind}"
    aside = (Words(f"{document.plan_id} at revision {document.revision} is {state}.", "faint"),)
    body = {"plan_id": document.plan_id, "revision": document.revision, **shown}
    return Answer(body, (Raw(json_text(shown)),), aside=aside)


def _suggested(workspace: Path | None) -> Answer:
    held = records(workspace)
    here = folder_in(held.root, start(workspace))
    found = survey(held.root, here)
    state = look_at_source(held.root, own_records(held))
    skeleton, told = _skeleton(found), tuple(_told(found, state))
    body: dict[str, JsonValue] = {
        "summary": _summary(found),
        "workspace_folder": here,
        "skeleton": skeleton,
        "suggestions": [_suggestion(one) for one in found.suggestions],
        "protected": {"default_freezes": len(state.frozen), "first": list(state.frozen[:8])},
        "sentences": [one.sentence for one in told],
    }
    return Answer(body, (Raw(json_text(skeleton)),), aside=tuple(_page(found, state, told, here)))


def _summary(found: Survey) -> str:
    if not found.suggestions:
        return "No gate was found; the skeleton marks where to name one. Nothing was written."
    return f"A plan with the gate {gate_words(found.suggestions[0])}. Nothing was written."


def _page(found: Survey, state: SourceState, told: tuple[Told, ...], here: str) -> list[Block]:
    """Explain the proposal: on standard error, so that standard output is the JSON alone."""
    page: list[Block] = [Words(_summary(found), "strong")]
    if here:
        page.append(Words(f"You stand in {here}/, so its gates come first; commands run at the workspace's top."))
    first = found.suggestions[:1]
    rows = [("seen by", (one.seen, *one.notes)) for one in first]
    rows += [("not chosen", tuple(gate_words(one) for one in found.suggestions[1:]))] if found.suggestions[1:] else []
    rows += [("inputs", found.inputs)] if found.inputs else []
    rows.append(("protected", (frozen_words(state), "Leave `protected` out for it, or list your own.")))
    rows += [(one.what, tuple(text for text in (one.seen, one.remedy) if text)) for one in told]
    page.append(Facts(tuple(rows)))
    page.append(Words(f"Write what begins with {PLACEHOLDER}, then give it to plan_save:", "faint"))
    return page


def _told(found: Survey, state: SourceState) -> list[Told]:
    """Say what was not found, and what stands in the way, each with the next step."""
    gate = of_suggestions(found)
    told = [gate] if gate.remedy else []
    if found.suggestions and found.suggestions[0].report is None:
        told.append(Told("approval", "A gate without a report takes a person's approval.", _BY_PERSON))
    if len(found.suggestions) > 1:
        seen = "Several gates were found, and a gate speaks for the whole goal."
        told.append(Told("gate", seen, "Make the others checks of features, or write a script that runs them all."))
    told += [*of_folders(found, found.inputs), *of_history(state), *of_tests(state)]
    return [*told, *(Told("project", note, "") for note in found.notes)]


def _suggestion(one: Suggestion) -> dict[str, JsonValue]:
    told: dict[str, JsonValue] = {"kind": one.kind, "folder": one.folder or ".", "gate": _gate(one), "seen": one.seen}
    return told | ({"notes": list(one.notes)} if one.notes else {})


def _gate(one: Suggestion) -> dict[str, JsonValue]:
    if one.report is not None:
        return {"run": one.run, "report": one.report}
    return {"run": one.run, "no_report_because": one.no_report_because}


def _skeleton(found: Survey) -> dict[str, JsonValue]:
    """Write a plan that plan_save takes once its placeholders are written."""
    first = found.suggestions[0] if found.suggestions else None
    gate: dict[str, JsonValue] = {
        "run": f"{PLACEHOLDER}-WITH-THE-TEST-COMMAND",
        "report": ".flow/reports/gate.xml",
    }
    gate = gate if first is None else _gate(first)
    feature: dict[str, JsonValue] = {
        "id": "first",
        "title": f"{PLACEHOLDER}: what the first step adds",
        "targets": [f"{PLACEHOLDER}-with-a-path"],
        "proof": {"kind": "command", "run": gate["run"]},
    }
    plan: dict[str, JsonValue] = {
        "summary": f"{PLACEHOLDER}: how the goal is reached, in a sentence or two",
        "features": [feature],
        "gate": gate,
        "external_evidence": [],
    }
    plan |= {"inputs": list(found.inputs)} if found.inputs else {}
    return {"goal": f"{PLACEHOLDER}: what is wanted, in the person's own words", "plan": plan}
