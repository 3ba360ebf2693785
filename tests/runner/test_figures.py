"""The processor time and the memory that a command is said to have used are the command's: all of it, and only it."""

import json
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.runner.execute import Outcome

Run = Callable[..., Outcome]
StartKeeper = Callable[..., "subprocess.Popen[str]"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and child subreapers")

_MIB = 1 << 20
_PYTHON = shlex.quote(sys.executable)
_BURN = f"""{_PYTHON} -c 'import time
while time.process_time() < 0.4: pass
open("burnt", "w").write("x")
time.sleep({{rest}})'"""


def _allocate(mib: int) -> str:
    return f"{_PYTHON} -S -c 'b = b\"x\" * ({mib} << 20)'"


@pytest.fixture
def kept(start_keeper: StartKeeper, tmp_path: Path) -> Callable[..., Outcome]:
    def go(script: str, **unusual: object) -> Outcome:
        folder = tmp_path / "workspace"
        folder.mkdir()
        keeper = start_keeper(script, folder, **unusual)
        told = json.loads(keeper.communicate()[0].splitlines()[1])
        told.pop("children")
        return Outcome(**told)

    return go


@pytest.mark.parametrize("rest", [0, 600], ids=["it ends by itself", "it is ended"])
def test_processor_time_of_an_orphan_counts_where_it_is_reaped(kept: Run, rest: int) -> None:
    orphan = f"( setsid {_BURN.format(rest=rest)} > /dev/null 2>&1 & )"
    seen = kept(f"{orphan}; until test -s burnt; do sleep 0.01; done")
    assert 0.4 <= seen.cpu_s < 30


def test_processor_time_of_what_a_time_out_ended_counts(kept: Run) -> None:
    seen = kept(f"{_BURN.format(rest=600)} & wait", timeout_s=3)
    assert seen.ended == "timed-out"
    assert 0.4 <= seen.cpu_s < 30


def test_peak_memory_is_exact_without_any_look_at_the_right_moment(kept: Run) -> None:
    seen = kept(_allocate(150), tick_s=60)
    assert seen.peak_memory_bytes is not None
    assert 150 * _MIB <= seen.peak_memory_bytes < 180 * _MIB


def test_peak_memory_is_that_of_one_process_not_a_sum(kept: Run) -> None:
    seen = kept(f"{_allocate(100)} & {_allocate(120)} & wait", tick_s=60)
    assert seen.peak_memory_bytes is not None
    assert 120 * _MIB <= seen.peak_memory_bytes < 150 * _MIB


def test_peak_memory_of_a_reaped_orphan_is_exact_though_the_runner_is_larger(kept: Run) -> None:
    orphan = f"( setsid {_allocate(100)} & )"
    seen = kept(f"{orphan}; sleep 1", tick_s=60, ballast_bytes=300 * _MIB)
    assert seen.peak_memory_bytes is not None
    assert 100 * _MIB <= seen.peak_memory_bytes < 130 * _MIB


@pytest.mark.parametrize("reaps", [True, False])
@pytest.mark.parametrize("bound", [True, False])
def test_the_size_of_the_runner_is_never_reported_as_the_commands(kept: Run, reaps: bool, bound: bool) -> None:  # noqa: FBT001 - a table's columns
    seen = kept("sleep 0.3", ballast_bytes=300 * _MIB, reaps=reaps, ends_with_runner=bound)
    assert seen.peak_memory_bytes is not None
    assert 0 < seen.peak_memory_bytes < 30 * _MIB


def test_looks_see_a_large_process_of_a_larger_runner_anywhere_in_the_tree(kept: Run) -> None:
    large = f"{_PYTHON} -S -c 'import time; b = b\"x\" * (100 << 20); time.sleep(0.5)'"
    seen = kept(f"bash -c {shlex.quote(large + '; true')}; true", ballast_bytes=300 * _MIB, reaps=False)
    assert seen.peak_memory_bytes is not None
    assert 100 * _MIB <= seen.peak_memory_bytes < 130 * _MIB


def test_without_a_process_table_no_memory_is_told(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("flow_mcp.runner.execute._PROC", tmp_path / "nothing")
    assert run("true").peak_memory_bytes is None
