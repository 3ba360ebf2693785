"""Every call that an answer suggests names its plan as soon as several are open."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from flow_mcp.domain.decision import Refused, Step
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Document
from flow_mcp.engine.core import Engine
from flow_mcp.engine.folder import Folder, choose, named, read_folder
from flow_mcp.server.desk import Reply
from flow_mcp.server.views import Body, step_body


def with_plan(engine: Engine, plan_id: str | None, reply: Reply) -> Reply:
    """Name the plan of an answer in what it suggests.

    Args:
        engine: on the workspace.
        plan_id: the plan that the request named, where it named one.
        reply: the answer.
    """
    with suppress(BrokenWorld):  # the answer stands, and which plan it is about was not known
        folder = read_folder(engine.plans)
        document = _meant(engine, folder, reply.body.get("plan_id", plan_id))
        if document is not None and len(folder.open_ids()) > 1:
            return replace(reply, body=_named(reply.body, folder, document))
    return reply


def _meant(engine: Engine, folder: Folder, plan_id: str | None) -> Document | None:
    held = choose(folder, engine.worktree, plan_id, None, "")
    return None if isinstance(held, Refused) else held.document


def _named(body: Any, folder: Folder, document: Document) -> Body:  # noqa: ANN401 - any JSON
    found: Body = dict(body)
    if "next" in found:
        found["next"] = _step(found["next"], folder, document)
    if "refused" in found:
        refused: Body = found["refused"]
        found["refused"] = {**refused, "remedy": _step(refused["remedy"], folder, document)}
    return found


def _step(body: Body, folder: Folder, document: Document) -> Body:
    step = Step.model_validate({"who": "manager", **body, "fill": tuple(body.get("fill", ()))})
    return step_body(named(step, folder, document))
