"""The lock of the content store, between threads' descriptors and between processes."""

import fcntl
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from flow_mcp.workspace.folders import PlantedLink
from flow_mcp.workspace.keeping import adding, pruning
from flow_mcp.workspace.paths import Inaccessible

HOLDER = """
import sys
from pathlib import Path
from flow_mcp.workspace.keeping import adding

with adding(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""

Hold = Callable[[Path], AbstractContextManager[bool | None]]


def test_many_may_add_at_once_and_nobody_prunes_meanwhile(tmp_path: Path) -> None:
    with adding(tmp_path), adding(tmp_path), pruning(tmp_path) as alone:
        assert alone is False
    with pruning(tmp_path) as alone:
        assert alone is True


def test_one_prunes_at_a_time(tmp_path: Path) -> None:
    with pruning(tmp_path) as first, pruning(tmp_path) as second:
        assert (first, second) == (True, False)


def test_another_process_that_adds_holds_pruning_off_and_its_death_lets_go(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pruning(tmp_path) as alone:
            assert alone is False
        holder.kill()
        holder.wait()
    with pruning(tmp_path) as alone:
        assert alone is True


def test_who_adds_waits_for_who_prunes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, held = threading.Event(), threading.Event()
    real = fcntl.flock

    def watched(descriptor: int, kind: int) -> None:
        if kind == fcntl.LOCK_SH:
            asked.set()
        real(descriptor, kind)

    def add() -> None:
        with adding(tmp_path):
            held.set()

    monkeypatch.setattr("flow_mcp.workspace.keeping.fcntl.flock", watched)
    adder = threading.Thread(target=add)
    with pruning(tmp_path) as alone:
        assert alone is True
        adder.start()
        assert asked.wait(30)
        assert not held.wait(0.05)
    adder.join()
    assert held.is_set()


def test_the_lock_is_for_its_owner_alone(tmp_path: Path) -> None:
    with adding(tmp_path / ".flow"):
        assert stat.S_IMODE((tmp_path / ".flow" / "objects.lock").stat().st_mode) == 0o600


@pytest.mark.parametrize("hold", [adding, pruning])
def test_a_planted_link_in_place_of_the_lock_is_refused(tmp_path: Path, hold: Hold) -> None:
    (tmp_path / "objects.lock").symlink_to(tmp_path / "outside")
    with pytest.raises(PlantedLink), hold(tmp_path):
        pass
    assert not (tmp_path / "outside").exists()
    (tmp_path / "objects.lock").unlink()
    (tmp_path / "objects.lock").mkdir()
    with pytest.raises(Inaccessible), hold(tmp_path):
        pass


@pytest.mark.parametrize("hold", [adding, pruning])
def test_a_file_system_without_locks_is_told(tmp_path: Path, hold: Hold, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlocked(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("flow_mcp.workspace.keeping.fcntl.flock", unlocked)
    with pytest.raises(Inaccessible, match="No locks available"), hold(tmp_path):
        pass
