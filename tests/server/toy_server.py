"""A server with a toy desk, for tests over real pipes.

Usage: python toy_server.py MARKS. What happens inside is told by empty files in the folder MARKS.
"""

import asyncio
import os
import resource
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flow_mcp.server.start

if TYPE_CHECKING:
    from flow_mcp.server.desk import Reply, Session

_MARKS = Path(sys.argv[1])


def _mark(name: str) -> None:
    (_MARKS / name).touch()


def _reply(body: Mapping[str, Any]) -> "Reply":
    from flow_mcp.server.desk import Reply  # noqa: PLC0415 - as late as in the real server

    return Reply(body, is_error=False)


class ToyDesk:
    """Does what each tool's name says."""

    def __init__(self) -> None:
        self._passes = 0

    async def call(self, name: str, arguments: dict[str, Any], session: "Session") -> "Reply":
        return _reply(await getattr(self, f"_{name}")(arguments, session))

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        if arguments.get("goal") == "broken":
            sys.exit("a prompt that exits")
        return f"{name}: {arguments.get('goal', '')} \ud800"

    async def read(self, uri: str) -> str | None:
        if uri == "flow://broken":
            raise RuntimeError(uri)
        if uri.startswith("flow://size/"):
            return "x" * int(uri.removeprefix("flow://size/"))
        return "# Guide \udfff" if uri == "flow://guide" else None

    async def _echo(self, arguments: dict[str, Any], session: "Session") -> Mapping[str, Any]:
        told = {"client": session.client_name, "protocol": session.protocol, "can_ask": session.can_ask}
        return {"given": arguments, "meta": session.meta, **told}

    async def _hidden(self, _arguments: dict[str, Any], _session: "Session") -> Mapping[str, Any]:
        return {"summary": "for the host alone"}

    async def _slow(self, arguments: dict[str, Any], session: "Session") -> Mapping[str, Any]:
        await session.progress(1, 2, "started \ud800")
        try:
            await asyncio.sleep(arguments["seconds"])
        except asyncio.CancelledError:
            _mark("cancelled")
            raise
        return {"summary": "slept"}

    async def _block(self, arguments: dict[str, Any], session: "Session") -> Mapping[str, Any]:
        from anyio import to_thread  # noqa: PLC0415 - as late as in the real server

        await session.progress(1, None, "started")
        await to_thread.run_sync(time.sleep, arguments["seconds"])
        return {"summary": "blocked a thread"}

    async def _freeze(self, arguments: dict[str, Any], session: "Session") -> Mapping[str, Any]:
        await session.progress(1, None, "started")
        await asyncio.sleep(0.05)
        time.sleep(arguments["seconds"])  # noqa: ASYNC251 - blocks the loop on purpose
        return {"summary": "blocked the loop"}

    async def _deafen(self, arguments: dict[str, Any], session: "Session") -> Mapping[str, Any]:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # so that another thread catches it
        return await self._freeze(arguments, session)

    async def _fail(self, arguments: dict[str, Any], _session: "Session") -> Mapping[str, Any]:
        from flow_mcp.domain.errors import BrokenWorld  # noqa: PLC0415 - as late as in the real server

        kind = arguments["kind"]
        if kind == "child":
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_leave())
        if kind == "cancelled":
            task = asyncio.create_task(asyncio.sleep(60))
            task.cancel()
            await task
        raise {
            "exit": SystemExit(3),
            "interrupt": KeyboardInterrupt(),
            "value": ValueError("a secret detail"),
            "group": BaseExceptionGroup("several", [SystemExit(4)]),
            "world": BrokenWorld("The disk is full.", "Make room on it."),
        }[kind]

    async def _stray(self, _arguments: dict[str, Any], _session: "Session") -> Mapping[str, Any]:
        print("STRAY buffered")  # noqa: T201 - a stray print
        os.write(1, b"STRAY raw\n")
        child = [sys.executable, "-c", "import sys; print('STRAY child'); print(len(sys.stdin.read()))"]
        done = await asyncio.create_subprocess_exec(*child)
        return {"child": await done.wait()}

    async def _answer(self, arguments: dict[str, Any], _session: "Session") -> Mapping[str, Any]:
        bodies: dict[str, Mapping[str, Any]] = {
            "half": {"summary": "half \ud83d of a pair", "\udc00": ["\udfff"]},
            "nan": {"summary": float("nan")},
            "object": {"summary": object()},
            "long": {"summary": "s", "next": "call status", "lines": ["line " * 20] * 1_000},
        }
        return bodies[arguments["kind"]]

    async def _memory(self, _arguments: dict[str, Any], _session: "Session") -> Mapping[str, Any]:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return {"peak_kib": peak // 1024 if sys.platform == "darwin" else peak}

    async def _ask(self, arguments: dict[str, Any], session: "Session") -> Mapping[str, Any]:
        from flow_mcp.server.desk import Field, Question  # noqa: PLC0415 - as late as in the real server

        self._passes += 1
        fields = (
            Field("approve", "Approve", "Approve this plan", "tick", (), required=True),
            Field("why", "Why", "In one line", "text", (), required=False),
        )
        first = await session.ask(Question(f"Approve plan {arguments['plan']}?", fields))
        if first is None or first.action != "accept" or not arguments.get("twice"):
            return {"passes": self._all_passes(), "first": first and {"action": first.action, "content": first.content}}
        speed = Field("speed", "Speed", "How fast", "choice", ("slow", "fast"), required=True)
        second = await session.ask(Question("How fast?", (speed,)))
        return {"passes": self._all_passes(), "first": first.content, "second": second and second.content}

    def _all_passes(self) -> int:
        """Return how often the desk was entered for the call that ends here."""
        passes, self._passes = self._passes, 0
        return passes


async def _leave() -> None:
    sys.exit(5)


def _load() -> flow_mcp.server.start.Program:
    from flow_mcp.server.app import build  # noqa: PLC0415 - imports the SDK: after the wire is guarded
    from flow_mcp.server.desk import PromptArgument, PromptRow, ResourceRow, ToolRow  # noqa: PLC0415 - the same

    print("STRAY import")  # noqa: T201 - a stray print
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    names = ("echo", "slow", "block", "freeze", "deafen", "fail", "stray", "answer", "memory", "ask")
    tools = [
        ToolRow(name, name.title(), f"Do {name}.", schema, name == "echo", name == "fail", idempotent=True)
        for name in names
    ]
    hidden = ToolRow("hidden", "", "", schema, read_only=True, destructive=False, idempotent=True, listed=False)
    goal = PromptArgument("goal", "What is wanted.", required=True)
    server = build(
        [*tools, hidden],
        ToyDesk(),
        "A toy.",
        prompts=[PromptRow("flow-plan", "Plan", "Plan a goal.", (goal,)), PromptRow("flow-auto", "", "", ())],
        resources=[
            ResourceRow("flow://guide", "guide", "The guide", "text/markdown"),
            ResourceRow("flow://size/{n}", "size", "So many characters", "text/plain"),
        ],
    )
    return flow_mcp.server.start.Program(server, lambda: _mark("cleanup"))


if __name__ == "__main__":
    flow_mcp.server.start.serve(_load)
