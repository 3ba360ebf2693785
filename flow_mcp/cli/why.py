"""``flow-mcp why``: what stands between the goal and its next step."""

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Block, Facts, Words
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, Plan, PlanOption, Workspace, meant, start
from flow_mcp.cli.person import TERMINAL
from flow_mcp.cli.words import refusal, step_lines
from flow_mcp.domain.commands import PlanApprove
from flow_mcp.domain.decide import SPEAKING, objections
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Actor, Document
from flow_mcp.domain.rule import Question, Rulebook
from flow_mcp.domain.view import open_refusals
from flow_mcp.engine.core import State
from flow_mcp.server.approving import caller_refusal
from flow_mcp.server.views import head, refusal_body, step_body

COMMAND_CHARACTERS: Final = 48
"""A longer command is told once, and named from there on."""


def why(
    plan: Plan = None, *, plan_id: PlanOption = None, workspace: Workspace = None, as_json: AsJson = False
) -> Answer:
    """Say, rule by rule, what stands between the goal and its next step, and what helps."""
    return _why(meant(plan, plan_id), workspace).told(as_json=as_json)


def _why(plan_id: str | None, workspace: Path | None) -> Answer:
    engine = opened(start(workspace), os.environ, {})
    state = engine.read(Actor(role="manager"), plan_id, look=True)
    if isinstance(state, Refused):
        return refusal(state)
    found = _refusals(state, engine.book)
    step = found[0].remedy if found and state.step.tool == "plan_approve" else state.step
    summary = _summary(state, len(found))
    told: list[JsonValue] = [refusal_body(one)["refused"] for one in found]
    body = {"summary": summary, **head(state.document), "refusals": told, "next": step_body(step)}
    names = _names(state.document)
    page: list[Block] = [Words(summary, "strong")]
    rows: list[Block] = []
    for one in found:
        rows += [
            Words(_named(f"{one.rule}: {one.seen}", names), "bad"),
            Facts((("remedy", tuple(_named(line, names) for line in step_lines(one.remedy))),)),
        ]
    rows.append(Facts((("next", tuple(_named(line, names) for line in step_lines(step))),)))
    used = {name: run for run, name in names.items() if any(name in text for row in rows for text in _texts(row))}
    page += [Facts(tuple((name, (run,)) for name, run in used.items()))] if used else []
    return Answer(body, [*page, *rows])


def _refusals(state: State, book: Rulebook) -> tuple[Refused, ...]:
    """Give what objects to the next step; before an approval, what would refuse it."""
    if state.step.tool != "plan_approve" or state.document.plan is None:
        return open_refusals(state.document, state.facts, book)
    callers = caller_refusal(state.document, state.facts, book)
    if callers is not None:
        return (callers,)
    ask = PlanApprove(
        plan_digest=state.document.plan.digest(),
        shown_revision=state.document.revision,
        shown_source=state.facts.digest,
    )
    asking = Question(state.document, ask, replace(state.facts, actor=TERMINAL))
    return objections(asking, SPEAKING[PlanApprove], book)


def _summary(state: State, count: int) -> str:
    document = state.document
    if count:
        rules = "1 rule stands" if count == 1 else f"{count} rules stand"
        return f"{rules} before the {'approval' if state.step.tool == 'plan_approve' else 'next step'}."
    if document.revision == 0:
        return "There is no plan here yet, so there is no step that a rule could stand before."
    if document.closure is not None:
        return f"The goal is closed as {document.closure.kind}, so no step is left."
    if document.pending is not None and not state.facts.check_lost:
        return f"{document.pending.id} runs, and nothing is decided before its end."
    return "No rule stands between the goal and its next step."


def _names(document: Document) -> dict[str, str]:
    """Give each long command of the plan a short name."""
    if document.plan is None:
        return {}
    gate = document.plan.gate
    runs = dict.fromkeys(command.run for command in document.plan.commands() if len(command.run) > COMMAND_CHARACTERS)
    others = [run for run in runs if gate is None or run != gate.run]
    named = {run: f"<check {number}>" for number, run in enumerate(others, 1)}
    return named | ({gate.run: "<gate>"} if gate is not None and gate.run in runs else {})


def _named(text: str, names: Mapping[str, str]) -> str:
    for run in sorted(names, key=len, reverse=True):
        for written in (repr(run), json.dumps(run, ensure_ascii=False), run):
            text = text.replace(written, names[run])
    return text


def _texts(block: Block) -> tuple[str, ...]:
    if isinstance(block, Facts):
        return tuple(line for _, lines in block.rows for line in lines)
    return (block.text,) if isinstance(block, Words) else ()
