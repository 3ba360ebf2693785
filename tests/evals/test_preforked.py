"""A program that a fork runs is like one that was started: pipes, folder, environment, exit code, signals, end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evals.preforked import preforked


@pytest.fixture(scope="module")
def start() -> Iterator[tuple[str, ...]]:
    with preforked() as words:
        yield words


def script(folder: Path, text: str) -> str:
    path = folder / "script.py"
    path.write_text(text)
    return str(path)


def run(start: tuple[str, ...], folder: Path, text: str, **environment: str) -> tuple[int, str, str]:
    ended = subprocess.run(
        [*start, str(folder / "pid"), script(folder, text), "word"],
        cwd=folder,
        env=environment,
        input="said",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return ended.returncode, ended.stdout, ended.stderr


def test_a_fork_has_the_askers_pipes_folder_environment_and_words(start: tuple[str, ...], tmp_path: Path) -> None:
    shown = "import os, sys; print(os.getcwd(), dict(os.environ), sys.argv[1:], sys.stdin.read(), __name__)"
    code, out, errors = run(start, tmp_path, shown, LC_ALL="C.UTF-8")
    assert (code, errors) == (0, "")
    assert out == f"{tmp_path} {{'LC_ALL': 'C.UTF-8'}} ['word'] said __main__\n"


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit", 0, ""),
        ("raise SystemExit('why')", 1, ""),
        ("import os; os._exit(4)", 4, ""),
        ("1 / 0", 1, "ZeroDivisionError"),
    ],
)
def test_a_fork_ends_with_the_programs_code(
    start: tuple[str, ...], tmp_path: Path, text: str, code: int, told: str
) -> None:
    ended, out, errors = run(start, tmp_path, text)
    assert (ended, out) == (code, "")
    assert told in errors


def test_an_interpreter_before_the_script_is_left_out(start: tuple[str, ...], tmp_path: Path) -> None:
    name = script(tmp_path, "import sys; print(sys.argv)")
    done = subprocess.run([*start, os.devnull, sys.executable, name], check=True, capture_output=True, text=True)
    assert done.stdout == f"['{name}']\n"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_fork_ends_whoever_stands_for_it(start: tuple[str, ...], tmp_path: Path, number: int) -> None:
    text = "import time; print('up', flush=True); time.sleep(600)"
    words = [*start, str(tmp_path / "pid"), script(tmp_path, text)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as asker:
        assert asker.stdout is not None
        assert asker.stdout.readline() == b"up\n"
        if number == signal.SIGTERM:
            asker.terminate()
        else:
            _wait_for(tmp_path / "pid")
            os.kill(int((tmp_path / "pid").read_text()), number)
        assert asker.stdout.read() == b""
        assert asker.wait(60) == 256 - number


def _wait_for(path: Path) -> None:
    while not path.exists() or not path.read_text():
        os.sched_yield()


def test_nothing_listens_after_the_end() -> None:
    with preforked() as words:
        place = Path(words[-1])
        assert place.is_socket()
    assert not place.parent.exists()
