"""Which processes are taken for the tree of a command: a made-up process table tells what a real one seldom shows."""

import os
import signal
import time
from pathlib import Path

import pytest

from flow_mcp.runner import tree as tree_module
from flow_mcp.runner.table import Table
from flow_mcp.runner.tree import Tree

_LEADER = 100


def _put(proc: Path, pid: int, **unusual: int | str) -> None:
    line = {"parent": 1, "session": 1, "name": "x", "started": 5, "state": "S", "threads": 1} | unusual
    folder = proc / str(pid)
    (folder / "task" / str(pid)).mkdir(parents=True, exist_ok=True)
    place = [line["state"], line["parent"], line["session"], line["session"]]
    fields = [*place, *["0"] * 13, line["threads"], "0", line["started"], "0"]
    (folder / "stat").write_text(f"{pid} ({line['name']}) {' '.join(map(str, fields))}\n")
    (folder / "environ").write_bytes(b"PATH=/bin\0")
    (folder / "task" / str(pid) / "children").write_text("")


def _pids(tree: Tree) -> set[int]:
    return {process.pid for process in tree.members()}


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "self").mkdir()
    _put(tmp_path, 1, parent=0)
    _put(tmp_path, _LEADER, session=_LEADER)
    return tmp_path


def test_session_descent_and_marker_make_a_member(proc: Path) -> None:
    _put(proc, 2)
    _put(proc, 3, session=_LEADER)
    _put(proc, 4, parent=3, session=4)
    _put(proc, 5, parent=4, session=5)
    _put(proc, 6)
    (proc / "6" / "environ").write_bytes(b"A=1\0FLOW_CHECK=outer:abc\0")
    _put(proc, 7, parent=6, session=7)
    assert _pids(Tree(_LEADER, "abc", Table(proc))) == {3, 4, 5, 6, 7}


@pytest.mark.parametrize("variable", ["FLOW_CHECK=xabc", "FLOW_CHECK=abcd:x", "OTHER=abc", "XFLOW_CHECK=abc"])
def test_only_a_whole_word_of_the_marker_makes_a_member(proc: Path, variable: str) -> None:
    _put(proc, 6)
    (proc / "6" / "environ").write_bytes(b"A=1\0" + variable.encode() + b"\0")
    assert _pids(Tree(_LEADER, "abc", Table(proc))) == set()


def test_a_programs_name_cannot_forge_its_place_in_the_tree(proc: Path) -> None:
    _put(proc, 8, name=f"x) S 1 {_LEADER} {_LEADER} {'9 ' * 20}(")
    assert _pids(Tree(_LEADER, "abc", Table(proc))) == set()


def test_the_dead_are_no_members(proc: Path) -> None:
    _put(proc, 9, session=_LEADER, state="Z")
    _put(proc, 10, session=_LEADER, state="X")
    assert _pids(Tree(_LEADER, "abc", Table(proc))) == set()


def test_who_has_lost_only_its_first_thread_is_alive(proc: Path) -> None:
    _put(proc, 9, session=_LEADER, state="Z", threads=2)
    assert _pids(Tree(_LEADER, "abc", Table(proc))) == {9}


def test_a_child_is_remembered_when_it_has_lost_its_parent(proc: Path) -> None:
    tree = Tree(_LEADER, "abc", Table(proc))
    _put(proc, 11, parent=_LEADER, session=11)
    _put(proc, 12, parent=11, session=12)
    (proc / str(_LEADER) / "task" / str(_LEADER) / "children").write_text("11 404 ")
    (proc / "11" / "task" / "11" / "children").write_text("12 ")
    tree.look()
    _put(proc, 11, parent=1, session=11)
    _put(proc, 12, parent=1, session=12)
    assert _pids(tree) == {11, 12}


def test_a_later_process_with_a_remembered_number_is_left_alone(proc: Path) -> None:
    tree = Tree(_LEADER, "abc", Table(proc))
    _put(proc, 13, parent=_LEADER, session=13, started=5)
    assert _pids(tree) == {13}
    _put(proc, 13, parent=1, session=13, started=6)
    assert _pids(tree) == set()


def test_a_process_whose_environment_may_not_be_read_is_judged_by_the_rest(proc: Path) -> None:
    _put(proc, 14)
    (proc / "14" / "environ").unlink()
    (proc / "14" / "environ").mkdir()
    assert _pids(Tree(_LEADER, "abc", Table(proc))) == set()


def test_no_signal_goes_to_a_number_that_passed_to_another_process(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signalled: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, _number: signalled.append(pid))
    _put(proc, 19, session=_LEADER)
    _put(proc, 20, session=_LEADER)
    tree = Tree(_LEADER, "abc", Table(proc))
    found = tree.members()
    _put(proc, 19, session=_LEADER, started=6)
    for process in found:
        tree._send_to(process, signal.SIGKILL)
    assert signalled == [20]


def test_a_process_older_than_the_command_is_not_its(proc: Path) -> None:
    _put(proc, 16, session=_LEADER, started=4)
    assert _pids(Tree(_LEADER, "abc", Table(proc))) == set()


def test_a_process_without_an_environment_is_looked_at_again(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _put(proc, 17)
    environ = proc / "17" / "environ"
    environ.write_bytes(b"")
    killed: list[int] = []

    def end(pid: int, _number: int) -> None:
        killed.append(pid)
        _put(proc, pid, state="Z")

    monkeypatch.setattr(os, "killpg", lambda _pid, _number: None)
    monkeypatch.setattr(os, "kill", end)
    monkeypatch.setattr(time, "sleep", lambda _seconds: environ.write_bytes(b"FLOW_CHECK=abc\0"))
    Tree(_LEADER, "abc", Table(proc)).end()
    assert killed == [17]


@pytest.mark.parametrize(("parent", "is_looked_at_again"), [(1, True), (2, False)])
def test_a_process_that_never_has_an_environment_is_not_looked_at_for_ever(
    proc: Path,
    monkeypatch: pytest.MonkeyPatch,
    parent: int,
    is_looked_at_again: bool,  # noqa: FBT001 - a table's column
) -> None:
    monkeypatch.setattr(tree_module, "_UNSURE_S_MAX", 0.05)
    _put(proc, 18, parent=parent)
    (proc / "18" / "environ").write_bytes(b"")
    looks: list[int] = []
    monkeypatch.setattr(os, "killpg", lambda pid, _number: looks.append(pid))
    Tree(_LEADER, "abc", Table(proc)).end()
    assert (len(looks) > 1) == is_looked_at_again


def test_a_tree_that_cannot_be_ended_is_given_up_after_a_while(proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree_module, "SWEEP_S_MAX", 0.05)
    monkeypatch.setattr(os, "killpg", lambda _pid, _number: None)
    monkeypatch.setattr(os, "kill", lambda _pid, _number: None)
    _put(proc, 15, session=_LEADER)
    begun_s = time.monotonic()
    Tree(_LEADER, "abc", Table(proc)).end()
    assert 0.05 <= time.monotonic() - begun_s < 30
