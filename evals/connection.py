"""One connection to a real server: a process of its own, started when it is first called."""

import asyncio
import json
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ElicitResult

CALL_S = 90

# The shell tells its process id, and becomes the server.
COLD = ("sh", "-c", 'echo $$ >"$0" && exec "$@"')
"""The words that start a process of its own; after them come a file for its process id, and its command."""


class Died(Exception):  # noqa: N818 - what happened to the server
    """The server ended under a call."""


class Launch(NamedTuple):
    """How a server is started: the words that start anything, its command, its folder, its environment."""

    start: Sequence[str]
    command: Sequence[str]
    root: Path
    env: Mapping[str, str]


class Person:
    """Whoever sits before the host: answers its questions in order, the last answer again and again."""

    def __init__(self, answers: Sequence[Mapping[str, Any]]) -> None:
        """Take the answers; ``{}`` closes the form without one."""
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, context: object, params: Any) -> ElicitResult:  # noqa: ANN401, ARG002 - the client's types
        """Answer a form."""
        self.asked.append(params.message)
        content = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return ElicitResult.model_validate(
            {"action": "accept", "content": content} if content else {"action": "cancel"}
        )


class Connection:
    """A client and its server. The connection lives in a task of its own, so that any order of ends will do."""

    def __init__(self, launch: Launch, notes: Path, person: Person | None) -> None:
        """Say how the server is started; ``notes`` is a folder outside of the repository."""
        self._launch = launch
        self._notes = notes
        self._person = person
        self._pid_file = notes / f"pid-{id(self)}"
        self._client: Client | None = None
        self._life: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()

    async def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
        """Call a tool; say whether it was an error, and give the answer.

        Raises:
            Died: where the server is gone before it answers.
        """
        client = self._client or await self._open()
        asked = asyncio.ensure_future(client.call_tool(tool, dict(arguments), read_timeout_seconds=CALL_S))
        assert self._life is not None, "an open connection has its task"  # noqa: S101 - a broken program
        await asyncio.wait([asked, self._life], return_when=asyncio.FIRST_COMPLETED)
        if not asked.done():
            asked.cancel()
        try:
            result = await asked
        except (Exception, asyncio.CancelledError) as error:
            if self._pid is not None and not self._life.done():
                raise
            raise Died(tool) from error
        body: dict[str, Any] = result.structured_content or {}
        shown = json.loads(result.content[0].text)  # type: ignore[union-attr]
        assert shown == body, f"{tool} answered differently in text and in structure"  # noqa: S101 - the product's fault
        return bool(result.is_error), body

    async def _open(self) -> Client:
        ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._leave = asyncio.Event()
        self._life = asyncio.create_task(self._live(ready))
        await asyncio.wait([ready, self._life], return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            await self._life
        client: Client = await ready
        self._client = client
        return client

    async def _live(self, ready: "asyncio.Future[Any]") -> None:
        start, command, root, env = self._launch
        words = [*start[1:], str(self._pid_file), *command]
        server = StdioServerParameters(command=start[0], args=words, env=dict(env), cwd=str(root))
        with (self._notes / "server.log").open("a") as log:
            transport = stdio_client(server, errlog=log)
            async with Client(transport, elicitation_callback=self._person) as client:
                ready.set_result(client)
                await self._leave.wait()

    @property
    def _pid(self) -> int | None:
        """The server's process, where there is one."""
        return int(self._pid_file.read_text()) if self._client is not None else None

    def kill(self) -> None:
        """End the server by force; the next call starts another."""
        if self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)
        self._client = None
        self._leave.set()

    async def close(self) -> None:
        """Leave the server as a host does; the next call starts another."""
        self._client = None
        self._leave.set()
        if self._life is not None:
            with suppress(Exception):  # the connection to a killed server ends as it may
                await self._life
        self._life = None
