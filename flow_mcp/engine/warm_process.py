"""What the warm process does: it waits for orders and forks a process for each check."""

import gc
import os
import signal
import socket
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from flow_mcp import __version__
from flow_mcp.engine.keeper import Keeper, Spec, new_ticket, ticket_path
from flow_mcp.engine.logbook import Logbook, cause
from flow_mcp.engine.pruning import prune_if_grown
from flow_mcp.engine.slot import Held
from flow_mcp.runner.reaping import become_subreaper
from flow_mcp.workspace.folders import remove_tree
from flow_mcp.workspace.writer import replace_file

HELLO = f"flow-mcp {__version__}".encode()
READY, REFUSED = b".", b"!"
LENGTH_BYTES = 4
_DESCRIPTORS = 2
_FIRST_BYTES = 64 * 1024


def main(descriptor: int) -> None:
    """Serve one server until it is gone."""
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, _reap)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(fileno=descriptor) as wire:
        wire.sendall(HELLO)
        while (order := _order(wire)) is not None:
            answer = _forked(wire, *order)
            with suppress(OSError):  # the server is gone, and the next look for an order says so
                wire.sendall(answer)


def _forked(wire: socket.socket, data: bytes, descriptors: list[int]) -> bytes:
    """Fork a process for a check, and say whether there is one."""
    try:
        return _keep(wire, data, *descriptors) if os.fork() == 0 else READY
    except OSError:
        return REFUSED
    finally:
        for one in descriptors:
            os.close(one)


def _order(wire: socket.socket) -> tuple[bytes, list[int]] | None:
    """Wait for the next order, and give it with the descriptors of the slot and the line; None at the end."""
    with suppress(OSError):
        data, descriptors, _, _ = socket.recv_fds(wire, _FIRST_BYTES, _DESCRIPTORS)
        for one in descriptors:
            os.set_inheritable(one, False)  # noqa: FBT003 - the standard library's signature
        whole = _whole(wire, data) if len(descriptors) == _DESCRIPTORS else None
        if whole is not None:
            return whole, descriptors
        for one in descriptors:
            os.close(one)
    return None


def _whole(wire: socket.socket, data: bytes) -> bytes | None:
    """Give the rest of an order that has begun; None where it breaks off."""
    size, data = int.from_bytes(data[:LENGTH_BYTES], "big"), data[LENGTH_BYTES:]
    while len(data) < size and (more := wire.recv(size - len(data))):
        data += more
    return data if len(data) == size > 0 else None


def _reap(_number: int, _frame: FrameType | None) -> None:
    """Leave no zombie of a check that ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _keep(wire: socket.socket, data: bytes, slot: int, line: int) -> NoReturn:
    """Run one check in this new process, and end it."""
    code = 1
    try:
        wire.close()
        run(data, slot, line)
        code = 0
    finally:
        os._exit(code)  # there is nobody to raise anything to


def run(data: bytes, slot: int, line: int) -> None:
    """Run one check to its recorded end, in a process of its own."""
    os.setsid()
    spec = Spec.loads(data)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    become_subreaper()
    held, engine = Held(slot), spec.engine()
    cancel = engine.cancels.signal(spec.plan_id, spec.check_id)
    cancel.hold(slot)
    ticket = ticket_path(Path(spec.output).parent, spec.plan_id, spec.check_id)
    replace_file(ticket.parent, ticket.name, new_ticket(spec.token, engine.space.private).model_dump_json().encode())
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, cancel.on_signal)
    log = Logbook(engine.space.private)
    log.write("check began", plan=spec.plan_id, check=spec.check_id)
    try:
        Keeper(engine, spec, cancel, alone=threading.active_count() == 1).keep()
        remove_tree(ticket)
        log.write("check ended", plan=spec.plan_id, check=spec.check_id)
    except BaseException as error:
        log.write("check broke", plan=spec.plan_id, check=spec.check_id, error=cause(error))
        raise
    finally:
        held.give_back()
        os.close(line)
    prune_if_grown(engine)
