"""A workspace with the real desk on it and clients at it, and the first steps of most stories."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from mcp import Client
from mcp.types import ElicitRequestParams, ElicitResult

from flow_mcp.engine.core import Engine
from flow_mcp.guarantees import rendered_page
from flow_mcp.server.app import build
from flow_mcp.server.flow_desk import FlowDesk
from flow_mcp.server.table import INSTRUCTIONS, Role, rows
from flow_mcp.server.texts import PROMPTS, RESOURCES
from tests.engine.place import CHECK, GATE, Place, make

Era = Literal["legacy", "auto"]
Body = dict[str, Any]

PLAN: Body = {
    "summary": "Say good-bye too.",
    "requirements": [{"id": "r1", "text": "it says bye"}],
    "decisions": ["one line"],
    "features": [
        {
            "id": "bye",
            "title": "bye",
            "targets": ["greeting.txt", "tests/new.sh"],
            "checks": [{"run": CHECK.run, "report": CHECK.report}],
            "proof": {"kind": "case", "run": GATE.run, "case": "new"},
        }
    ],
    "gate": {"run": GATE.run, "report": GATE.report},
    "external_evidence": [],
}
GOAL = "Say good-bye"


class Rig:
    """A workspace with a server on it and clients at the server."""

    def __init__(self, root: Path, **policy: str) -> None:
        self.place = Place(make(root), policy=policy)
        self.asked: list[str] = []
        self.answers: list[ElicitResult] = []
        self.era: Era = "auto"
        self.progress: list[str] = []
        self.notify: tuple[str, ...] = ()

    def engine(self) -> Engine:
        engine = self.place.another()
        engine.settings = replace(engine.settings, notify=self.notify)
        return engine

    @property
    def log(self) -> list[Body]:
        text = (self.place.root / ".flow" / "log" / "flow.log").read_text()
        return [json.loads(line) for line in text.splitlines()]

    async def client(self, stack: AsyncExitStack, role: Role | None, *, person: bool) -> Client:
        server = build(
            rows(role), FlowDesk(self.engine(), role, rendered_page), INSTRUCTIONS, prompts=PROMPTS, resources=RESOURCES
        )

        async def elicited(context: object, params: ElicitRequestParams) -> ElicitResult:
            assert context
            self.asked.append(params.message)
            return self.answers.pop(0)

        callback = elicited if person else None
        return await stack.enter_async_context(Client(server, mode=self.era, elicitation_callback=callback))


async def call(client: Client, tool: str, **arguments: object) -> Body:
    result = await client.call_tool(tool, arguments)
    body: Body = result.structured_content or {}
    assert json.loads(result.content[0].text) == body  # type: ignore[union-attr]
    assert body["summary"]
    assert result.is_error is ("refused" in body)
    return body


def yes(**content: bool | str) -> ElicitResult:
    return ElicitResult(action="accept", content=dict(content))


Story = Callable[[Rig, Client, Client], Awaitable[None]]


def run(rig: Rig, story: Story, *, person: bool = True, role: Role | None = None) -> None:
    async def played() -> None:
        async with AsyncExitStack() as stack:
            manager = await rig.client(stack, role, person=person)
            reviewer = await rig.client(stack, "reviewer", person=False)
            await story(rig, manager, reviewer)

    asyncio.run(played())


async def begun(rig: Rig, client: Client) -> None:
    rig.answers.append(yes(approve=True))
    await call(client, "plan_save", goal=GOAL, plan=PLAN)
    body = await call(client, "plan_approve")
    assert body["approval"] == {"by": "person", "channel": "dialog"}
    await call(client, "run_start")
    rig.place.work()


async def shown(client: Client) -> None:
    for arguments in (
        {"scope": "baseline"},
        {"scope": "focused", "command": CHECK.run},
        {"scope": "broad"},
        {"scope": "proof", "feature_id": "bye"},
    ):
        body = await call(client, "validate", **arguments)
        assert body["observation"]["eligible"], body
