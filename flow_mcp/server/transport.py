"""Our own stdio transport: no request is left without an answer, and no end of the client leaves us behind.

The transport of the SDK drops lines it cannot read, dies of half a character in a result, hangs on a signal or a
closed output, and waits for blocked calls. Here one thread reads, so that no cancellation waits for it; one task
writes, so that no line tears another; `process.Ending` sees to the end.
"""

import asyncio
import contextlib
import os
import select
import threading
import traceback
from collections.abc import Coroutine
from functools import partial
from typing import Any, Final, NoReturn

import anyio
import anyio.to_thread
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)

from flow_mcp.server.process import Ending, Wire
from flow_mcp.server.wire import LINE_BYTES_MAX, BadLine, dump, read_message, split

DRAIN_S: Final = 1.0
"""How long open calls may still answer after the client closed our input."""

_PIECE_BYTES: Final = 64 * 1024
_AHEAD: Final = 16
# A pipe that is ready takes this much without blocking (PIPE_BUF).
_AT_ONCE_BYTES: Final = 4096


class _Open:
    """The requests that wait for an answer, so that the end can answer those which nobody else will."""

    def __init__(self) -> None:
        self._ids: dict[str, RequestId] = {}
        self._settled = anyio.Event()

    def arrived(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCRequest):
            self._ids[str(message.id)] = message.id
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            # A cancelled request is never answered: the protocol forbids it.
            self._drop((message.params or {}).get("requestId"))

    def left(self, message: JSONRPCMessage) -> None:
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._drop(message.id)

    def _drop(self, request_id: object) -> None:
        self._ids.pop(str(request_id), None)
        if not self._ids:
            self._settled.set()
            self._settled = anyio.Event()

    async def drained(self) -> None:
        """Return when no request is open."""
        while self._ids:
            await self._settled.wait()

    def refusals(self) -> bytes:
        error = ErrorData(code=CONNECTION_CLOSED, message="The server ended before this call did.")
        return b"".join(dump(JSONRPCError(jsonrpc="2.0", id=i, error=error)) for i in [*self._ids.values()])


class _Stdio:
    """One client on two pipes."""

    def __init__(self, server: Server[Any], wire: Wire, ending: Ending) -> None:
        self._server = server
        self._wire = wire
        self._ending = ending
        self._loop = asyncio.get_running_loop()
        self._scope = anyio.CancelScope()
        self._open = _Open()
        self._is_writing = False
        self._to_server, self._from_client = anyio.create_memory_object_stream[SessionMessage | Exception](_AHEAD)
        self._to_client, self._outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        # The server closes its sending end when it returns; this one still carries answers to bad lines.
        self._to_client_directly = self._to_client.clone()

    async def serve(self) -> None:
        """Serve until the client leaves or the process is told to end."""
        self._ending.stop = self._stop
        self._ending.last_words = self._say_last_words
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._write_all)
            threading.Thread(target=self._read_all, name="flow-read", daemon=True).start()
            with self._scope:
                options = self._server.create_initialization_options()
                await self._server.run(self._from_client, self._to_client, options)
            await self._to_client_directly.aclose()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._scope.cancel)

    def _read_all(self) -> None:
        """Hand on every line; a thread, so that nothing ever waits for a client that sends nothing."""
        try:
            for line in split(partial(os.read, self._wire.fd_in, _PIECE_BYTES), LINE_BYTES_MAX):
                message = read_message(line)
                if message is not None:
                    self._wait_for(self._deliver(message))
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # the client's end broke, or ours is closing: the same as the end of the input
        finally:
            self._ending.arm()
            self._wait_for(self._close_input())

    def _wait_for(self, step: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(step, self._loop).result()

    async def _deliver(self, message: JSONRPCMessage | BadLine) -> None:
        if isinstance(message, BadLine):
            for answer in message.answers():
                await self._to_client_directly.send(SessionMessage(answer))
            return
        self._open.arrived(message)
        await self._to_server.send(SessionMessage(message))

    async def _close_input(self) -> None:
        """Let short calls answer a client that only closed its end, then cancel the rest."""
        with anyio.move_on_after(DRAIN_S):
            await self._open.drained()
        await self._to_server.aclose()

    async def _write_all(self) -> None:
        one_thread = anyio.CapacityLimiter(1)
        async with self._outgoing:
            async for item in self._outgoing:
                line = dump(item.message)
                try:
                    if len(line) <= _AT_ONCE_BYTES and _is_ready(self._wire.fd_out):
                        self._write(line)
                    else:
                        await anyio.to_thread.run_sync(self._write, line, limiter=one_thread)
                except OSError:
                    self._ending.begin()
                    return
                self._open.left(item.message)

    def _write(self, line: bytes) -> None:
        self._is_writing = True
        rest = memoryview(line)
        while rest:
            rest = rest[os.write(self._wire.fd_out, rest) :]
        self._is_writing = False

    def _say_last_words(self) -> None:
        """Answer what is still open when the process ends by force; not into the middle of another line."""
        if not self._is_writing:
            with contextlib.suppress(OSError):
                self._write(self._open.refusals())


def _is_ready(fd: int) -> bool:
    """Whether a short write returns at once; where the system cannot say so, a thread writes."""
    return hasattr(select, "poll") and _takes_more(fd)


def _takes_more(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(0))


async def _serve(server: Server[Any], wire: Wire, ending: Ending) -> None:
    await _Stdio(server, wire, ending).serve()


def run(server: Server[Any], wire: Wire, ending: Ending) -> NoReturn:
    """Serve one client until it leaves, a signal comes or the parent dies; then end the process.

    The exit code is 0 for every end that was asked for, and 1 where the server itself broke.
    """
    loop = asyncio.new_event_loop()
    error = _drive(loop, loop.create_task(_serve(server, wire, ending)))
    if error is not None:
        traceback.print_exception(error)
    ending.finish(0 if error is None else 1)


async def _over(task: asyncio.Task[None]) -> None:
    """Wait for a task without taking over how it ended."""
    await asyncio.wait([task])


def _drive(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> BaseException | None:
    """Run a task to its end, also where another task tries to exit the process, and return how it failed.

    asyncio lets a `SystemExit` or `KeyboardInterrupt` of any task fall through the whole loop. Whoever waits for
    that task gets the same exception and answers the call with it, so the loop is simply entered again.
    """
    while not task.done():
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            loop.run_until_complete(_over(task))
    return task.exception()
