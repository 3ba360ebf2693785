"""``flow-mcp cancel``: end the check that runs, whichever process started it."""

import os
from pathlib import Path
from typing import Final

from pydantic import JsonValue

from flow_mcp.cli.answer import Answer, Words
from flow_mcp.cli.codes import PROBLEM
from flow_mcp.cli.opening import opened
from flow_mcp.cli.options import AsJson, Plan, PlanOption, Workspace, meant, start
from flow_mcp.cli.words import refusal
from flow_mcp.domain.decision import Refused
from flow_mcp.engine.checks import Checks

WAIT_S: Final = 15.0
"""A command has two seconds to end by itself, and its end is recorded after that."""


def cancel(
    plan: Plan = None, *, plan_id: PlanOption = None, workspace: Workspace = None, as_json: AsJson = False
) -> Answer:
    """End the check that runs with its whole process tree; it is recorded as cancelled, which is no pass."""
    return _cancel(meant(plan, plan_id), workspace).told(as_json=as_json)


def _cancel(plan_id: str | None, workspace: Path | None) -> Answer:
    engine = opened(start(workspace), os.environ, {})
    held = engine.pending(plan_id)
    if isinstance(held, Refused):
        return refusal(held)
    document, is_lost = held
    checks = Checks(engine)
    if document.pending is None:
        return _told(document.plan_id, None, "none", "No check is running.")
    check_id = document.pending.id
    if is_lost:
        rest = "and what it left running was ended" if checks.clean_up() else "and another check begins just now"
        words = f"The runner of {check_id} is gone, {rest}. It counts as lost, which is no pass: start it again."
        return _told(document.plan_id, check_id, "lost", words)
    return _ended(checks, document.plan_id, check_id)


def _ended(checks: Checks, plan_id: str, check_id: str) -> Answer:
    checks.cancel(plan_id, check_id)
    waited = checks.wait(plan_id, check_id, WAIT_S)
    if isinstance(waited, Refused):
        return refusal(waited)
    if waited.observation is None:
        words = f"{check_id} was asked to end and has not yet; `flow-mcp status` tells when it has."
        return _told(plan_id, check_id, "ending", words)
    ended = waited.observation.ended
    return _told(plan_id, check_id, ended, f"{check_id} is recorded as {ended}.")


def _told(plan_id: str, check_id: str | None, state: str, words: str) -> Answer:
    body: dict[str, JsonValue] = {"summary": words, "plan_id": plan_id, "check_id": check_id, "state": state}
    if state == "ending":
        return Answer(body, (Words(words, "bad"),), PROBLEM)
    return Answer(body, (Words(words, "good"),))
