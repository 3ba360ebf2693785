"""What the warm process does with an order, seen from within."""

import errno
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from flow_mcp.engine import keeper, warm_process
from flow_mcp.engine.checks import Checks
from flow_mcp.engine.keeper import Spec
from flow_mcp.engine.slot import CheckSlot
from flow_mcp.engine.warm import Line, Warm, _ordered
from flow_mcp.engine.warm_process import HELLO, LENGTH_BYTES, READY, REFUSED
from tests.engine.checking import holding, running, ticket
from tests.engine.place import CHECK, Hold, Place, is_alive, until

Wires = tuple[socket.socket, socket.socket]


@pytest.fixture
def wires() -> Iterator[Wires]:
    ours, theirs = socket.socketpair()
    ours.settimeout(30)
    with ours, theirs:
        yield ours, theirs


def message(data: bytes, size: int | None = None) -> bytes:
    return (len(data) if size is None else size).to_bytes(LENGTH_BYTES, "big") + data


def sent(wire: socket.socket, data: bytes, count: int = 2) -> list[int]:
    """Send bytes with some descriptors, and give the reading ends of their pipes."""
    pipes = [os.pipe() for _ in range(count)]
    socket.send_fds(wire, [data], [writer for _, writer in pipes])
    for _, writer in pipes:
        os.close(writer)
    return [reader for reader, _ in pipes]


def hung_up(readers: list[int]) -> bool:
    """Say whether nobody holds the other ends any more."""
    ends = [os.read(reader, 1) for reader in readers]
    for reader in readers:
        os.close(reader)
    return ends == [b""] * len(readers)


def test_an_order_arrives_whole_with_its_descriptors_which_no_program_inherits(wires: Wires) -> None:
    ours, theirs = wires
    readers = sent(ours, message(b"one order"))
    order = warm_process._order(theirs)
    assert order is not None
    data, descriptors = order
    assert data == b"one order"
    assert [os.get_inheritable(one) for one in descriptors] == [False, False]
    for one in descriptors:
        os.close(one)
    assert hung_up(readers)


def test_an_order_in_pieces_arrives_whole(wires: Wires) -> None:
    ours, theirs = wires
    readers = sent(ours, message(b"one ", 9))
    ours.sendall(b"order")
    order = warm_process._order(theirs)
    assert order is not None
    assert order[0] == b"one order"
    for one in order[1]:
        os.close(one)
    assert hung_up(readers)


def test_after_the_last_order_there_is_none(wires: Wires) -> None:
    ours, theirs = wires
    ours.close()
    assert warm_process._order(theirs) is None
    theirs.close()
    assert warm_process._order(theirs) is None


@pytest.mark.parametrize(("data", "count"), [(b"ab", 2), (message(b"half", 9), 2), (message(b"whole"), 1)])
def test_what_is_no_whole_order_is_none_and_none_of_its_descriptors_stays(
    wires: Wires, data: bytes, count: int
) -> None:
    ours, theirs = wires
    readers = sent(ours, data, count)
    ours.close()
    assert warm_process._order(theirs) is None
    assert hung_up(readers)


def test_where_no_process_can_be_forked_the_answer_is_no_and_the_descriptors_are_closed(
    wires: Wires, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fork() -> int:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(os, "fork", fork)
    pipes = [os.pipe() for _ in range(2)]
    assert warm_process._forked(wires[1], b"order", [writer for _, writer in pipes]) == REFUSED
    assert hung_up([reader for reader, _ in pipes])


def test_it_serves_order_after_order_until_its_server_is_gone(wires: Wires, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = wires
    orders: list[bytes] = []
    answers = iter([READY, REFUSED])

    def forked(_wire: socket.socket, data: bytes, descriptors: list[int]) -> bytes:
        orders.append(data)
        for one in descriptors:
            os.close(one)
        return next(answers)

    handlers = {number: signal.getsignal(number) for number in (signal.SIGCHLD, signal.SIGINT)}
    monkeypatch.setattr(warm_process, "_forked", forked)
    readers = [*sent(ours, message(b"one")), *sent(ours, message(b"two"))]
    ours.shutdown(socket.SHUT_WR)
    try:
        warm_process.main(theirs.detach())
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert ours.recv(64) == HELLO + READY + REFUSED
    assert orders == [b"one", b"two"]
    assert hung_up(readers)


def test_a_server_that_is_gone_before_the_answer_ends_it(wires: Wires, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = wires

    def forked(_wire: socket.socket, _data: bytes, descriptors: list[int]) -> bytes:
        for one in descriptors:
            os.close(one)
        ours.close()
        return READY

    handlers = {number: signal.getsignal(number) for number in (signal.SIGCHLD, signal.SIGINT)}
    monkeypatch.setattr(warm_process, "_forked", forked)
    readers = sent(ours, message(b"one"))
    try:
        warm_process.main(theirs.detach())
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert hung_up(readers)


def test_every_child_that_ended_is_let_go_of() -> None:
    pids = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        pids.append(pid)
    until(lambda: not any(is_alive(pid) for pid in pids))
    warm_process._reap(signal.SIGCHLD, None)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    warm_process._reap(signal.SIGCHLD, None)


# A process of a check.


def test_an_order_that_cannot_be_read_ends_its_process_and_frees_the_slot(tmp_path: Path) -> None:
    (tmp_path / ".flow").mkdir(mode=0o700)
    warm, slot = Warm(), CheckSlot(tmp_path / ".flow")
    try:
        warm.ready()
        assert warm._known is not None
        held = slot.take()
        assert held is not None
        line = _ordered(warm._known[1], b"no JSON", held.descriptor)
        held.let_go()
        assert line.wait(60)
        until(lambda: not slot.is_taken())
        warm.ready()
    finally:
        warm.close()


class Forked:
    """Starts the process of a check from the test's own, with what was patched there."""

    def ready(self) -> None:
        """Have nothing to prepare."""

    def launch(self, spec: Spec, slot: int) -> Line:
        """Fork."""
        reader, writer = os.pipe()
        if os.fork() == 0:
            try:
                warm_process.run(spec.dumps(), slot, writer)
            finally:
                os._exit(1)
        os.close(writer)
        return Line(reader)


def test_a_check_that_breaks_is_said_in_the_log_and_keeps_its_ticket(
    place: Place, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeper, "RECORD_S", 0.0)
    place.checks = Checks(place.engine, Forked())
    ids = holding(place, hold)
    for path in (place.root / "plans").glob("*.json"):
        path.write_text("{")
    hold.release()
    place.settled()
    assert ticket(place, ids).pid
    log = (place.root / ".flow" / "log" / "flow.log").read_text()
    assert "check broke" in log
    assert "Damaged" in log


def test_a_check_is_over_for_whoever_waits_before_its_process_prunes(place: Place) -> None:
    running(place)
    for number in range(30):
        (place.root / ".flow" / "sources" / f"{number:064x}.json").write_text("{}")
    assert place.observe("focused", CHECK.run).exit_code == 2
    until(lambda: len(place.kept_sources()) < 30)
    assert place.state().document.approvals[0].source.removeprefix("sha256:") in place.kept_sources()
