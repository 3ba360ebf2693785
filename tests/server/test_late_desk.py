"""A server in a folder that cannot be used answers all the same, and goes on once it can."""

import asyncio
from pathlib import Path
from typing import Any

from mcp import Client

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.server.app import build
from flow_mcp.server.flow_desk import FlowDesk
from flow_mcp.server.late_desk import LateDesk
from flow_mcp.server.table import INSTRUCTIONS, rows
from flow_mcp.server.texts import PROMPTS, RESOURCES
from tests.engine.place import Place, make


class Door:
    """A workspace that opens once it is said to."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.is_open = False
        self.opened = 0

    def __call__(self) -> FlowDesk:
        if not self.is_open:
            seen = ".flow/ cannot be written: permission is denied."
            raise BrokenWorld(seen, "Give this user the right to it.")
        self.opened += 1
        return FlowDesk(Place(make(self.root)).engine, None, lambda: "page")


def test_each_call_says_what_stands_in_the_way_until_it_is_gone(tmp_path: Path) -> None:
    door = Door(tmp_path)
    desk = LateDesk(door)

    async def story() -> None:
        server = build(rows(None), desk, INSTRUCTIONS, prompts=PROMPTS, resources=RESOURCES)
        async with Client(server) as client:
            refused: Any = (await client.call_tool("status", {})).structured_content
            assert refused["refused"]["seen"] == ".flow/ cannot be written: permission is denied."
            assert refused["next"]["say"] == "Give this user the right to it."
            plan: Any = await client.read_resource("flow://plan")
            assert plan.contents[0].text.endswith("Give this user the right to it.")
            assert (await client.get_prompt("flow-status", {})).messages
            desk.stop()
            door.is_open = True
            answer: Any = (await client.call_tool("status", {})).structured_content
            assert "refused" not in answer
            assert "no plan" in (await client.read_resource("flow://plan")).contents[0].text  # type: ignore[union-attr]

    asyncio.run(story())
    desk.stop()
    assert door.opened == 1


def test_a_workspace_that_opens_at_once_is_opened_once(tmp_path: Path) -> None:
    door = Door(tmp_path)
    door.is_open = True
    LateDesk(door).stop()
    assert door.opened == 1
