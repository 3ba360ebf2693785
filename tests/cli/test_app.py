import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flow_mcp import __version__
from flow_mcp.cli import app, status
from flow_mcp.cli.codes import MEANINGS
from flow_mcp.cli.main import main
from tests.cli.conftest import Flow
from tests.cli.rig import FLOW, Project, run_flow

LAZY = """
import sys
from flow_mcp.cli.app import run
code = run(sys.argv[1:])
loaded = {name.partition(".")[0] for name in sys.modules}
assert not loaded & {"mcp", "mcp_types", "starlette", "uvicorn"}, loaded
sys.exit(code)
"""


@pytest.mark.parametrize(
    "arguments", ["--version", "--help", "status", "verify", "show", "log", "why", "init zed", "doctor", "call status"]
)
def test_no_verb_for_people_loads_the_mcp_library(drafted: Project, arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LAZY, *arguments.split()], check=False, cwd=drafted.root, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()


def test_the_version_needs_nothing_but_itself() -> None:
    script = "import sys; from flow_mcp.cli.app import run; run(['--version']); print('typer' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.decode() == f"flow-mcp {__version__}\nFalse\n"


def test_the_help_names_every_verb_and_exit_code(flow: Flow) -> None:
    for arguments in ((), ("--help",), ("-h",), ("help",)):
        ended = flow(*arguments)
        assert ended.code == 0
        for verb in app.VERBS:
            assert f"  {verb.name} " in ended.out
            assert verb.says in ended.out
        for code, meaning in MEANINGS:
            assert f"{code}  " in ended.out
            assert meaning in ended.out
    assert "status" in flow("--help", "--json").body["verbs"]
    assert flow("--version", "--json").body == {"version": __version__}


@pytest.mark.parametrize("verb", [verb.name for verb in app.VERBS if verb.module])
def test_each_verb_has_a_help_with_the_exit_codes(flow: Flow, verb: str) -> None:
    ended = flow(verb, "--help")
    assert ended.code == 0
    told = " ".join(ended.out.split())
    assert f"Usage: flow-mcp {verb}" in told
    assert "Exit codes: 0 done; 1 a problem was found" in told
    assert verb == "demo" or "--json" in told


@pytest.mark.parametrize("verb", [verb.name for verb in app.VERBS if verb.module])
def test_an_unknown_option_is_told_in_two_sentences(flow: Flow, verb: str) -> None:
    ended = flow(verb, "--nonsense")
    assert (ended.code, ended.out) == (2, "")
    assert len(ended.err.splitlines()) == 2
    assert "--nonsense" in ended.text
    told = flow(verb, "--nonsense", "--json")
    assert (told.code, set(told.body["error"])) == (2, {"seen", "remedy"})


def test_an_unknown_verb_is_told_with_the_nearest(flow: Flow) -> None:
    assert "Did you mean `flow-mcp status`?" in flow("stauts").text
    assert "`flow-mcp --help`" in flow("xyzzy").text
    assert "before the verb" in flow("--plan", "x", "status").text
    assert flow("stauts").code == flow("--plan").code == 2


def test_a_hostile_verb_is_shown_as_text(flow: Flow) -> None:
    ended = flow("\x1b[2J[red]\udcff")
    assert ended.code == 2
    assert "\x1b" not in ended.text


def test_a_broken_program_shows_itself(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        message = "a broken program"
        raise AssertionError(message)

    monkeypatch.setattr(status, "opened", broken)
    with pytest.raises(AssertionError, match="a broken program"):
        flow("status")


def test_an_interrupt_ends_with_130(flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(status, "opened", interrupted)
    assert (flow("status").code, flow("status").text) == (130, "")
    monkeypatch.setattr(app, "_answer", interrupted)
    assert flow("status").code == 130
    monkeypatch.setattr(app, "run", interrupted)
    monkeypatch.setattr(sys, "argv", ["flow-mcp", "status"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130


def test_the_command_is_the_same_as_the_module(drafted: Project) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flow_mcp", "status"], check=False, cwd=drafted.root, capture_output=True
    )
    assert (done.returncode, done.stdout.decode()) == (0, run_flow(drafted, "status").out)


@pytest.mark.parametrize(
    "arguments", [("log",), ("show", "--json"), ("guarantees",), ("status", "--help"), ("--help",)]
)
def test_a_reader_who_leaves_ends_it_quietly(drafted: Project, arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [FLOW, *arguments], check=False, cwd=drafted.root, stdout=writing, stderr=subprocess.PIPE, timeout=60
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux alone has such a device")
def test_a_full_disk_is_told(drafted: Project) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [FLOW, "status"], check=False, cwd=drafted.root, stdout=full, stderr=subprocess.PIPE, timeout=60
        )
    assert (done.returncode, done.stderr.decode()) == (
        4,
        f"The answer cannot be written: {os.strerror(errno.ENOSPC)}.\n",
    )


def test_an_ascii_terminal_and_closed_streams_break_nothing(started: Project) -> None:
    started.drafted("Größe 漢字")
    ended = run_flow(started, "status", PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0")
    assert (ended.code, "Gr\\xf6\\xdfe" in ended.out) == (0, True)
    script = 'exec "$0" status >&- 2>&- <&-'
    assert subprocess.run(["sh", "-c", script, FLOW], check=False, cwd=started.root, timeout=60).returncode == 0


def test_an_empty_home_and_a_bare_environment_are_enough(drafted: Project) -> None:
    for environment in ({"HOME": "", "PATH": os.environ["PATH"]}, {"PATH": os.environ["PATH"]}):
        done = subprocess.run(
            [FLOW, "status"], check=False, cwd=drafted.root, env=environment, capture_output=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, b"")
