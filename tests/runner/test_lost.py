"""What can be ended of a command whose runner was killed, and what cannot."""

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from flow_mcp.runner import lost as lost_module
from flow_mcp.runner.lost import end_lost
from flow_mcp.runner.order import MARKER
from tests.runner.trials import alive_in, end_all_in, wait_for

StartKeeper = Callable[..., "subprocess.Popen[str]"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="who bears what is told by /proc")

# All of these bear the marker or have a living ancestor that does, however they left: sessions, parents, SIGTERM.
_MARKED = """
trap '' TERM
stay() { while :; do sleep 600; done; }
( ( stay > /dev/null 2>&1 & ) )
( setsid bash -c 'trap "" TERM; env -i setsid sleep 600 & while :; do sleep 600; done' > /dev/null 2>&1 & )
"""
# This one cleared its environment and lost its parent; it writes its number down.
_HIDDEN = """
( env -i setsid bash -c 'trap "" TERM; echo $$ > new; mv new hidden; exec sleep 600' > /dev/null 2>&1 & )
until test -e hidden; do sleep 0.01; done
"""
_READY = "touch ready; wait; sleep 600"


def _kill_the_keeper(start_keeper: StartKeeper, folder: Path, script: str, token: str) -> int:
    """Kill a keeper in the middle of a command; give the number of the command's own process."""
    folder.mkdir()
    keeper = start_keeper(script + _READY, folder, token=token)
    wait_for((folder / "ready").exists)
    keeper.kill()
    return int(keeper.communicate()[0].split()[0])


def _left_after_end_lost(start_keeper: StartKeeper, folder: Path, script: str) -> set[int]:
    token = secrets.token_hex(16)
    _kill_the_keeper(start_keeper, folder, script, token)
    assert end_lost(token) > 0
    assert end_lost(token) == 0
    left = alive_in(folder)
    end_all_in(folder)
    return left


def _trials(start_keeper: StartKeeper, tmp_path: Path, count: int) -> list[set[int]]:
    """Let killed keepers leave hidden and marked ones; say where end_lost left anything but just the hidden one."""

    def trial(number: int) -> set[int]:
        folder = tmp_path / str(number)
        left = _left_after_end_lost(start_keeper, folder, _MARKED + _HIDDEN)
        return left ^ {int((folder / "hidden").read_text())}

    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(trial, range(count)))


def test_nothing_that_bears_the_marker_survives_a_killed_keeper(start_keeper: StartKeeper, tmp_path: Path) -> None:
    assert _left_after_end_lost(start_keeper, tmp_path / "workspace", _MARKED) == set()


def test_known_gap_only_an_orphan_without_its_marker_survives_a_killed_keeper(
    start_keeper: StartKeeper, tmp_path: Path
) -> None:
    assert _trials(start_keeper, tmp_path, 5) == [set()] * 5


@pytest.mark.long
def test_only_an_orphan_without_its_marker_survives_any_of_200_killed_keepers(
    start_keeper: StartKeeper, tmp_path: Path
) -> None:
    found = _trials(start_keeper, tmp_path, 200)
    print(  # noqa: T201 - a figure of the long run
        f"keeper killed: {sum(map(bool, found))} of 200 left a survivor that bore the marker or descended from one; "
        "200 of 200 left the orphan that had cleared its environment"
    )
    assert found == [set()] * 200


def test_the_kernel_ends_the_commands_own_process_with_its_keeper(start_keeper: StartKeeper, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    leader = _kill_the_keeper(start_keeper, folder, "", secrets.token_hex(16))
    wait_for(lambda: leader not in alive_in(folder))
    end_all_in(folder)


_BEARER = """
import os, subprocess, sys
from flow_mcp.runner.lost import end_lost
child = subprocess.Popen(["sleep", "600"])
print(end_lost(sys.argv[1]), child.wait(60), flush=True)
"""


def test_who_asks_and_its_ancestors_are_never_ended_though_they_bear_the_token() -> None:
    token = secrets.token_hex(16)
    script = '"$0" -c "$1" "$2"; echo still here'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable, _BEARER, token],
        env=dict(os.environ) | {MARKER: f"outer:{token}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1 -9\nstill here\n"


@contextmanager
def _sleeper(variables: dict[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "600"], env=dict(os.environ) | variables) as sleeper:
        try:
            yield sleeper
        finally:
            sleeper.kill()


@pytest.mark.parametrize("variables", [{MARKER: "xlost:lostx"}, {"OTHER": "lost"}, {}])
def test_who_does_not_bear_the_whole_word_is_left_alone(variables: dict[str, str]) -> None:
    token = secrets.token_hex(16)
    with _sleeper({name: value.replace("lost", token) for name, value in variables.items()}) as other:
        assert end_lost(token) == 0
        assert other.poll() is None


def test_a_word_that_is_no_token_is_not_looked_for() -> None:
    with pytest.raises(AssertionError):
        end_lost("")


def test_what_cannot_be_ended_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flow_mcp.runner.tree.SWEEP_S_MAX", 0.05)
    token = secrets.token_hex(16)
    with _sleeper({MARKER: token}) as other:
        with monkeypatch.context() as forbidden:
            forbidden.setattr(os, "kill", lambda _pid, _number: None)
            assert end_lost(token) == 0
        assert end_lost(token) == 1
        assert other.wait() == -signal.SIGKILL


def test_without_a_process_table_nothing_is_ended(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(lost_module, "_PROC", tmp_path / "nothing")
    assert end_lost(secrets.token_hex(16)) == 0
