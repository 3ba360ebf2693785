"""The log of a workspace: many write at once, nothing planted is followed, and nobody ever waits for it."""

import fcntl
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.engine import logbook
from flow_mcp.engine.logbook import FOLDER, NAME, OLDER_MAX, Logbook, cause
from flow_mcp.store.files import prepare_private

WRITER = """
import pathlib, sys
from flow_mcp.engine import logbook
logbook.FILE_BYTES_MAX = int(sys.argv[2])
log = logbook.Logbook(pathlib.Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[4])):
    log.write("call", tool=f"{sys.argv[3]}-{number}")
"""


@pytest.fixture
def private(tmp_path: Path) -> Path:
    folder = tmp_path / ".flow"
    prepare_private(folder)
    return folder


def lines(private: Path, name: str = NAME) -> list[dict[str, object]]:
    return [json.loads(line) for line in (private / FOLDER / name).read_text().splitlines()]


def every(private: Path) -> list[str]:
    """Name the files of the log."""
    return sorted(path.name for path in (private / FOLDER).iterdir() if path.name != ".gitignore")


def test_a_line_says_when_who_and_what(private: Path) -> None:
    log = Logbook(private)
    assert not (private / FOLDER).exists()
    log.write("call", tool="status", refused=None, ms=12.5)
    (line,) = lines(private)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", str(line.pop("at")))
    assert line == {"pid": os.getpid(), "event": "call", "tool": "status", "refused": None, "ms": 12.5}


def test_the_log_is_its_users_own(private: Path) -> None:
    Logbook(private).write("call")
    assert (private / FOLDER).stat().st_mode & 0o777 == 0o700
    assert (private / FOLDER / NAME).stat().st_mode & 0o777 == 0o600


def test_hostile_text_stays_one_short_line_of_json(private: Path) -> None:
    Logbook(private).write("call", tool='a\n{"event": "forged"}\x1b[2J\udcff' + "x" * 100_000)
    (line,) = lines(private)
    assert line["event"] == "call"
    assert str(line["tool"]).startswith('a\n{"event"')
    assert (private / FOLDER / NAME).stat().st_size < 4_000


def test_many_processes_write_at_once_and_turn_over_and_no_line_is_lost(private: Path) -> None:
    writers, each = 6, 150
    size = 25_000  # all of it is more than two files hold, and less than four
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, private, str(size), str(number), str(each)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for number in range(writers)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
    for process in processes:
        process.communicate(b"go\n", timeout=60)
        assert process.returncode == 0
    names = every(private)
    assert f"{NAME}.2" in names
    assert len(names) <= OLDER_MAX + 1
    seen = [line["tool"] for name in names for line in lines(private, name)]
    assert sorted(map(str, seen)) == sorted(f"{number}-{line}" for number in range(writers) for line in range(each))
    assert all((private / FOLDER / name).stat().st_size < size + 10_000 for name in names)


def test_the_newest_lines_and_three_older_files_stay(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logbook, "FILE_BYTES_MAX", 1)
    log = Logbook(private)
    for number in range(12):
        log.write("call", ms=number)
    names = [NAME, *(f"{NAME}.{number}" for number in range(1, OLDER_MAX + 1))]
    assert every(private) == names
    assert [line["ms"] for name in names for line in lines(private, name)] == [11, 10, 9, 8]


def test_whoever_finds_the_file_being_turned_over_writes_without_waiting(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Logbook(private)
    log.write("call", ms=1)
    monkeypatch.setattr(logbook, "FILE_BYTES_MAX", 1)
    with (private / FOLDER / NAME).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        log.write("call", ms=2)
    assert [line["ms"] for line in lines(private)] == [1, 2]
    assert every(private) == [NAME]


@pytest.mark.parametrize("again", [True, False])
def test_a_file_that_was_turned_over_a_moment_ago_is_not_turned_over_again(
    private: Path, monkeypatch: pytest.MonkeyPatch, *, again: bool
) -> None:
    log = Logbook(private)
    log.write("call", ms=1)
    monkeypatch.setattr(logbook, "FILE_BYTES_MAX", 1)
    path, real = private / FOLDER / NAME, fcntl.flock

    def late(descriptor: int, mode: int) -> None:
        path.rename(path.with_name(f"{NAME}.1"))
        if again:
            path.write_text('{"ms": 3}\n')
        real(descriptor, mode)

    monkeypatch.setattr(fcntl, "flock", late)
    log.write("call", ms=2)
    assert [line["ms"] for line in lines(private, f"{NAME}.1")] == [1]
    assert [line["ms"] for line in lines(private)] == ([3, 2] if again else [2])
    assert every(private) == [NAME, f"{NAME}.1"]


@pytest.mark.parametrize("what", ["link", "hard link", "pipe", "folder", "folder link"])
def test_what_was_planted_is_neither_followed_nor_waited_for(private: Path, tmp_path: Path, what: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    target = elsewhere / NAME
    target.write_text("theirs\n")
    if what == "folder link":
        (private / FOLDER).symlink_to(elsewhere)
    else:
        prepare_private(private / FOLDER)
        path = private / FOLDER / NAME
        make: dict[str, Callable[[], None]] = {
            "link": lambda: path.symlink_to(target),
            "hard link": lambda: path.hardlink_to(target),
            "pipe": lambda: os.mkfifo(path),
            "folder": path.mkdir,
        }
        make[what]()
    Logbook(private).write("call", tool="status")
    assert target.read_text() == "theirs\n"
    assert [path.name for path in elsewhere.iterdir()] == [NAME]


def test_a_pipe_that_somebody_reads_gets_nothing(private: Path) -> None:
    prepare_private(private / FOLDER)
    path = private / FOLDER / NAME
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        Logbook(private).write("call")
        assert os.read(reader, 100) == b""
    finally:
        os.close(reader)


def test_where_nothing_can_be_written_the_call_goes_on(private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "read-only")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        patch.setattr(os, "mkdir", refuse)
        Logbook(private).write("call")
    assert not (private / FOLDER).exists()
    Logbook(private / "gone").write("call")
    Logbook(private).write("call")
    assert len(lines(private)) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_without_the_right_to_write_costs_no_call(private: Path) -> None:
    private.chmod(0o500)
    Logbook(private).write("call")
    private.chmod(0o700)
    assert not (private / FOLDER).exists()


def test_an_error_is_named_by_its_kind_and_place_never_by_its_words() -> None:
    assert cause(ValueError("password=hunter2")) == "ValueError"
    with pytest.raises(ValueError, match="hunter2") as caught:
        int("hunter2")
    assert re.fullmatch(r"ValueError at test_logbook\.py:\d+", cause(caught.value))


def test_the_module_is_there_where_the_system_has_no_such_locks() -> None:
    script = (
        "import sys; sys.modules['fcntl'] = None; import flow_mcp.engine.logbook as m; assert not hasattr(m, 'fcntl')"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
