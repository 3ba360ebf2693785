"""The user's own command that says that a person is waited for: what runs, how often, and what never does."""

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.engine import notify
from flow_mcp.engine.logbook import FOLDER
from flow_mcp.engine.notify import TOLD, TOLD_MAX, Notifier
from flow_mcp.store.files import prepare_private
from tests.engine.place import is_alive, until

TELL = """#!{python}
import json, os, sys
names = {{name: os.environ.get(name) for name in ("PATH", "FLOW_PLAN", "FLOW_REVISION")}}
text = json.dumps({{"words": sys.argv[1:], "folder": os.getcwd(), "input": sys.stdin.read(), **names}})
with open({notes!r}, "a") as file:
    file.write(text + "\\n")
"""


class Desk:
    """A workspace, a folder of programs outside of it, and what the command wrote down."""

    def __init__(self, folder: Path) -> None:
        self.root, self.outside, self.notes = folder / "repo", folder / "bin", folder / "notes"
        self.private = self.root / ".flow"
        self.root.mkdir()
        self.outside.mkdir()
        prepare_private(self.private)

    def program(self, folder: Path, name: str = "tell", text: str | None = None) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_text(text or TELL.format(python=sys.executable, notes=str(self.notes)))
        path.chmod(0o755)
        return path

    def notifier(self, *command: str) -> Notifier:
        return Notifier(command, self.root, self.private)

    def told(self, count: int = 1) -> list[dict[str, object]]:
        """Wait until so much was told, and give it."""
        until(lambda: self.notes.exists() and self.notes.read_text().count("\n") >= count)
        ended()
        found = [json.loads(line) for line in self.notes.read_text().splitlines()]
        assert len(found) == count
        return found


def ended() -> None:
    """Wait until no command runs that was started here."""
    for thread in threading.enumerate():
        if thread.name == "flow-notify":
            thread.join(60)
            assert not thread.is_alive()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = Desk(tmp_path)
    monkeypatch.setenv("PATH", f"{made.outside}:/usr/bin:/bin")
    return made


def test_the_sentence_is_the_last_argument_and_the_plan_is_in_the_environment(desk: Desk) -> None:
    desk.program(desk.outside)
    assert desk.notifier("tell", "Flow", "--now").tell("p-1", 3, "Answer with `flow-mcp approve`.")
    (said,) = desk.told()
    assert said["words"] == ["Flow", "--now", "Answer with `flow-mcp approve`."]
    assert (said["FLOW_PLAN"], said["FLOW_REVISION"], said["folder"], said["input"]) == ("p-1", "3", os.sep, "")


def test_no_shell_reads_anything(desk: Desk, tmp_path: Path) -> None:
    desk.program(desk.outside)
    evil = f"$(touch {tmp_path}/made); `touch {tmp_path}/made` && touch {tmp_path}/made | *"
    assert desk.notifier("tell", evil).tell("p", 1, evil)
    assert desk.told()[0]["words"] == [evil, evil]
    assert not (tmp_path / "made").exists()


def test_nobody_is_told_without_a_command(desk: Desk) -> None:
    assert not desk.notifier().tell("p", 1, "Answer.")
    assert not (desk.private / FOLDER).exists()


def test_each_thing_is_told_once_whichever_process_sees_it(desk: Desk) -> None:
    desk.program(desk.outside)
    first, second = desk.notifier("tell"), desk.notifier("tell")
    assert first.tell("p", 1, "Answer.")
    assert not first.tell("p", 1, "Answer.")
    assert not second.tell("p", 1, "Answer.")
    assert not second.tell("p", 1, "Answer.")
    others = [("p", 2, "Answer."), ("p", 1, "Answer again."), ("q", 1, "Answer.")]
    assert all(second.tell(*other) for other in others)
    assert not any(first.tell(*other) for other in others)
    desk.told(4)


def test_what_was_told_is_kept_within_bounds(desk: Desk) -> None:
    desk.program(desk.outside, "true", "#!/bin/sh\n")
    telling = desk.notifier("true")
    kept = desk.private / FOLDER / TOLD
    telling.tell("p", 0, "Answer.")
    kept.write_text("\n".join(f"sha256:{number:064}" for number in range(TOLD_MAX)))
    assert telling.tell("p", 1, "Answer.")
    lines = kept.read_text().splitlines()
    assert (len(lines), lines[0]) == (TOLD_MAX, f"sha256:{1:064}")
    kept.write_bytes(b"\xff" * 100_000)
    assert telling.tell("p", 2, "Answer.")
    assert kept.stat().st_size < 1_000
    ended()


def test_where_nothing_can_be_kept_this_process_still_tells_once(desk: Desk, tmp_path: Path) -> None:
    desk.program(desk.outside)
    (desk.private / FOLDER).symlink_to(tmp_path)
    telling = desk.notifier("tell")
    assert telling.tell("p", 1, "Answer.")
    assert not telling.tell("p", 1, "Answer.")
    desk.told()
    assert not (tmp_path / TOLD).exists()


@pytest.mark.parametrize("command", ["tell", "{root}/bin/tell", "./bin/tell", "{outside}/link", "{root}/link"])
def test_a_program_inside_the_workspace_is_never_taken(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    planted = desk.program(desk.root / "bin")
    (desk.outside / "link").symlink_to(planted)
    (desk.root / "link").symlink_to(desk.program(desk.outside.parent / "other"))
    monkeypatch.chdir(desk.root)
    monkeypatch.setenv("PATH", f"{desk.root / 'bin'}:bin::.:/usr/bin:/bin")
    assert not desk.notifier(command.format(root=desk.root, outside=desk.outside)).tell("p", 1, "Answer.")
    assert not desk.notes.exists()


def test_folders_of_the_workspace_hide_no_program_and_are_not_on_the_path_of_the_command(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.program(desk.root / ".venv" / "bin", text="#!/bin/sh\nexit 1\n")
    desk.program(desk.outside)
    (desk.outside.parent / "alias").symlink_to(desk.root)
    parts = [
        "/not/there",
        f"{desk.root}/.venv/bin",
        f"{desk.outside.parent}/alias/.venv/bin",
        "",
        ".",
        "bin",
        str(desk.outside),
    ]
    monkeypatch.setenv("PATH", ":".join(parts))
    assert desk.notifier("tell").tell("p", 1, "Answer.")
    assert desk.told()[0]["PATH"] == f"/not/there:{desk.outside}"


def test_a_path_that_lies_in_the_workspace_altogether_has_no_program(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.program(desk.root / "bin")
    monkeypatch.chdir(desk.root / "bin")
    monkeypatch.setenv("PATH", f"{desk.root}/bin")
    assert not desk.notifier("tell").tell("p", 1, "Answer.")


def text_file(desk: Desk) -> str:
    path = desk.outside / "text"
    path.write_text("no program\n")
    return str(path)


def broken(desk: Desk) -> str:
    return str(desk.program(desk.outside, "broken", "#!/nowhere/at/all\n"))


@pytest.mark.parametrize("command", [lambda _: "not-there", lambda _: "/not/there", text_file, broken])
def test_a_program_that_is_missing_or_does_not_start_costs_nothing(desk: Desk, command: Callable[[Desk], str]) -> None:
    telling = desk.notifier(command(desk))
    assert not telling.tell("p", 1, "Answer.")
    assert not telling.tell("p", 1, "Answer.")


def test_a_program_that_fails_costs_nothing(desk: Desk) -> None:
    desk.program(desk.outside, text="#!/bin/sh\necho noise\necho noise >&2\nexit 3\n")
    assert desk.notifier("tell").tell("p", 1, "Answer.")
    ended()


def test_one_that_hangs_is_ended_with_what_it_started(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify, "LIMIT_S", 2.0)
    pids = desk.outside / "pids"
    script = f"#!/bin/sh\nsleep 600 &\necho $! $$ >{pids}.new\nmv {pids}.new {pids}\nexec sleep 600\n"
    desk.program(desk.outside, text=script)
    assert desk.notifier("tell").tell("p", 1, "Answer.")
    until(pids.exists)
    ended()
    for pid in pids.read_text().split():
        until(lambda pid=pid: not is_alive(int(pid)))  # type: ignore[misc]


def test_nobody_waits_for_it(desk: Desk) -> None:
    go = desk.outside / "go"
    desk.program(desk.outside, text=f"#!/bin/sh\nwhile [ ! -e {go} ]; do sleep 0.05; done\n")
    assert desk.notifier("tell").tell("p", 1, "Answer.")
    assert "flow-notify" in {thread.name for thread in threading.enumerate()}
    go.touch()
    ended()
