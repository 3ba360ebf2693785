import errno
import fcntl
import importlib.util
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from flow_mcp.engine import slot
from flow_mcp.engine.slot import CheckSlot, Held
from flow_mcp.store.files import PlantedLink, prepare_private


@pytest.fixture
def private(tmp_path: Path) -> Path:
    folder = tmp_path / ".flow"
    prepare_private(folder)
    return folder


def test_one_holder_at_a_time_whichever_object_asks(private: Path) -> None:
    first, second = CheckSlot(private), CheckSlot(private)
    assert not first.is_taken()
    held = first.take()
    assert held is not None
    assert first.is_taken()
    assert second.is_taken()
    assert second.take() is None
    assert first.is_taken()
    held.give_back()
    assert not second.is_taken()


def test_many_probes_never_keep_a_taker_out(private: Path) -> None:
    stop = threading.Event()

    def probe() -> None:
        while not stop.is_set():
            CheckSlot(private).is_taken()

    probers = [threading.Thread(target=probe) for _ in range(3)]
    for prober in probers:
        prober.start()
    try:
        for _ in range(20):
            held = CheckSlot(private).take()
            assert held is not None
            held.give_back()
    finally:
        stop.set()
        for prober in probers:
            prober.join(60)


def test_a_copy_of_the_descriptor_keeps_nothing_once_the_slot_is_given_back(private: Path) -> None:
    held = CheckSlot(private).take()
    assert held is not None
    copy = os.dup(held.descriptor)
    held.give_back()
    assert not CheckSlot(private).is_taken()
    os.close(copy)


def test_whoever_was_handed_the_descriptor_keeps_the_slot_when_the_taker_lets_go(private: Path) -> None:
    held = CheckSlot(private).take()
    assert held is not None
    handed = Held(os.dup(held.descriptor))
    held.let_go()
    assert CheckSlot(private).is_taken()
    assert CheckSlot(private).take() is None
    handed.give_back()
    assert not CheckSlot(private).is_taken()


HOLDER = """
import pathlib, sys
from flow_mcp.engine.slot import CheckSlot
held = CheckSlot(pathlib.Path(sys.argv[1])).take()
print(held is not None, flush=True)
sys.stdin.read()
"""


def test_the_slot_ends_with_the_process_that_holds_it(private: Path) -> None:
    command = [sys.executable, "-c", HOLDER, str(private)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "True\n"
        assert CheckSlot(private).is_taken()
        process.kill()
    assert not CheckSlot(private).is_taken()


def test_a_planted_link_is_not_followed(private: Path, tmp_path: Path) -> None:
    (private / "check.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PlantedLink):
        CheckSlot(private).is_taken()
    assert not (tmp_path / "elsewhere").exists()


def test_what_the_file_system_refuses_is_no_free_slot(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int, mode: int) -> None:
        if mode != fcntl.LOCK_UN:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match=os.strerror(errno.ENOLCK)):
        CheckSlot(private).is_taken()


def test_the_module_is_there_where_the_system_has_no_such_locks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert slot.__file__
    spec = importlib.util.spec_from_file_location("slot_on_windows", slot.__file__)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    spec.loader.exec_module(module)
    assert not hasattr(module, "fcntl")
