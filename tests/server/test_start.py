"""The cold start: whatever goes wrong before or around serving, the wire stays clean and the process ends."""

import signal
import subprocess
import sys
import time

import pytest

from flow_mcp.server.process import CLEANUP_S, GRACE_S

_SLACK_S = 30.0
_PATIENCE_S = 60.0

_SERVE = """
import sys, time
from flow_mcp.server.start import Program, serve

class Broken:
    def create_initialization_options(self):
        raise RuntimeError("broken inside")

class Deaf:
    def create_initialization_options(self):
        return None
    async def run(self, reading, writing, options):
        async for _ in reading:
            pass

def hang():
    print("hanging", flush=True)
    time.sleep(600)

def fail():
    raise OSError("no clean end")
"""


def _run(script: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _SERVE + script]
    return subprocess.run(command, input="", capture_output=True, text=True, timeout=_PATIENCE_S, check=False)


def test_a_program_that_cannot_be_loaded_says_why_on_standard_error_alone() -> None:
    done = _run("def load():\n    print('stray')\n    raise ValueError('no program')\nserve(load)")
    assert (done.returncode, done.stdout) == (1, "")
    assert "ValueError: no program" in done.stderr


def test_a_server_that_breaks_ends_with_code_1() -> None:
    done = _run("serve(lambda: Program(Broken(), lambda: print('cleaned', flush=True)))")
    assert (done.returncode, done.stdout) == (1, "")
    assert "RuntimeError: broken inside" in done.stderr
    assert "cleaned" in done.stderr


@pytest.mark.parametrize("cleanup", ["hang", "fail"])
def test_a_cleanup_that_hangs_or_fails_holds_nobody_up(cleanup: str) -> None:
    started = time.monotonic()
    done = _run(f"serve(lambda: Program(Deaf(), {cleanup}))")
    assert (done.returncode, done.stdout) == (0, "")
    assert time.monotonic() - started < CLEANUP_S + _SLACK_S


def test_a_signal_before_there_is_a_server_ends_the_process() -> None:
    script = _SERVE + "def load():\n    print('loading', flush=True)\n    time.sleep(600)\nserve(load)"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == b"loading\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(GRACE_S + _SLACK_S) == 0


def test_two_threads_that_finish_at_once_clean_up_once() -> None:
    done = _run("""
import os, threading
from flow_mcp.server.process import Ending
ending = Ending(os.getppid(), 1)
inside = threading.Event()
def cleanup():
    inside.set()
    print("cleaned", flush=True)
    time.sleep(0.3)
ending.cleanup = cleanup
threading.Thread(target=ending.finish, args=(3,)).start()
inside.wait()
ending.finish(4)
""")
    assert (done.returncode, done.stdout) == (3, "cleaned\n")
