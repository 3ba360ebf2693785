"""The cold start: guard the wire first, then import, then serve.

A host waits for the first answer, so the start is short: no garbage is collected while thousands of objects that
stay are made, and nothing is imported here that the wire does not need.
"""

import gc
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from flow_mcp.server.process import Ending, take_wire

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server


@dataclass(frozen=True, slots=True)
class Program:
    """What is served.

    Attributes:
        server: as `app.build` makes it.
        cleanup: called once when the process ends, in a thread of its own, and left behind after a second.
    """

    server: "Server[Any]"
    cleanup: Callable[[], None]


def serve(load: Callable[[], Program]) -> NoReturn:
    """Serve one MCP client on standard input and output, and end the process when it leaves.

    Call it as the first thing of the process: what is imported or printed before it comes too early.

    Args:
        load: imports and builds the program; an exception of it ends the process with its traceback and code 1.
    """
    parent = os.getppid()
    wire = take_wire()
    ending = Ending(parent, wire.fd_out)
    ending.watch()
    gc.disable()
    program = load()
    from flow_mcp.server.transport import run  # noqa: PLC0415 - imports the SDK: after the wire is guarded

    gc.freeze()
    gc.enable()
    ending.cleanup = program.cleanup
    run(program.server, wire, ending)
