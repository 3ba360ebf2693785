"""A small real project in each state that a person meets, the command line on it, and a person at a terminal."""

import json
import os
import pty
import select
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flow_mcp.domain.commands import Ask, CheckStart, PlanSave, ReviewStart, RunStart
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Actor, Document
from flow_mcp.domain.plan import Command, Feature, Gate, Plan, Proof
from flow_mcp.domain.policy import Policy
from flow_mcp.engine.checks import Checks
from flow_mcp.engine.core import Asked, Done, Engine, State
from flow_mcp.engine.gather import Workspace
from flow_mcp.settings import Settings
from flow_mcp.store.codec import render
from flow_mcp.store.lock import WorkspaceLock
from tests.engine.place import approval_of

FLOW = Path(sys.executable).with_name("flow-mcp")
MANAGER = Actor(role="manager")
PERSON = Actor(role="person", channel="dialog")
CONFIRM = "Type yes to confirm:"
PATIENCE_S = 30.0

REPORT = ".flow/reports/all.xml"
GATE = f"{sys.executable} tests/check.py {REPORT} add slug"
SLUG = f"{sys.executable} tests/check.py .flow/reports/slug.xml slug"

APP = "def add(a, b):\n    return a + b\n"
APP_DONE = APP + "\n\ndef slug(text):\n    return text.lower()\n"
CHECK = """\
import sys

sys.path.insert(0, ".")
import app

TRIALS = {"add": lambda: app.add(1, 2) == 3, "slug": lambda: app.slug("A") == "a"}


def passes(name):
    try:
        return TRIALS[name]()
    except AttributeError:
        return False


report, names = sys.argv[1], sys.argv[2:]
results = {name: passes(name) for name in names}
with open(report, "w") as file:
    file.write("<testsuite>")
    for name, good in results.items():
        file.write(f'<testcase classname="check" name="{name}">{"" if good else "<failure/>"}</testcase>')
    file.write("</testsuite>")
sys.exit(not all(results.values()))
"""

PLAN = Plan(
    summary="Add slug",
    features=(
        Feature(
            id="slug",
            title="slug(text)",
            targets=("app.py",),
            checks=(Command(run=SLUG, report=".flow/reports/slug.xml"),),
            proof=Proof(kind="command", run=SLUG),
        ),
    ),
    gate=Gate(run=GATE, report=REPORT),
    external_evidence=(),
)


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def text(self) -> str:
        assert "Traceback" not in self.out + self.err
        return self.out + self.err


class Project:
    """A repository in which Flow works."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def git(self, *arguments: str) -> None:
        own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment = own | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        named = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"]
        subprocess.run(
            ["git", *named, *arguments], cwd=self.root, env=environment, check=True, capture_output=True, timeout=60
        )

    def engine(self, policy: Policy | None = None) -> Engine:
        settings = Settings(policy or Policy(), "plans", (), {}, ())
        return Engine(Workspace(self.root, "plans"), settings)

    def ask(self, ask: Ask, actor: Actor = MANAGER) -> Document:
        done = self.engine().ask(ask, Asked(actor))
        assert isinstance(done, Done), done
        return done.document

    def observe(self, scope: Any, command: str, feature_id: str | None = None) -> None:  # noqa: ANN401 - a scope's name
        engine = self.engine()
        checks = Checks(engine)
        done = checks.start(CheckStart(scope=scope, command=command, feature_id=feature_id), Asked(MANAGER))
        assert isinstance(done, Done), done
        waited = checks.wait(done.document.plan_id, str(done.answer["check_id"]), PATIENCE_S)
        assert not isinstance(waited, Refused)
        assert waited.observation is not None

    @property
    def document(self) -> Document:
        (path,) = (self.root / "plans").glob("*.json")
        return Document.model_validate_json(path.read_bytes())

    @property
    def path(self) -> Path:
        (path,) = (self.root / "plans").glob("*.json")
        return path

    def edit(self, change: dict[str, Any]) -> None:
        """Change the document as somebody with an editor would."""
        value = json.loads(self.path.read_bytes()) | change
        self.path.write_bytes(render(value))

    # The states, each built on the one before.

    def started(self) -> "Project":
        self.root.mkdir(parents=True, exist_ok=True)
        self.write("app.py", APP)
        self.write("tests/check.py", CHECK)
        self.write(".gitignore", ".flow/\n__pycache__/\n")
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-qm", "start")
        return self

    def drafted(self, goal: str = "Add slug", plan: Plan = PLAN) -> "Project":
        self.ask(PlanSave(goal=goal, plan=plan))
        return self

    def approved(self) -> "Project":
        state = self.engine().read(MANAGER, None, look=True)
        assert isinstance(state, State)
        self.ask(approval_of(state), PERSON)
        return self

    def worked(self) -> "Project":
        self.ask(RunStart())
        self.observe("baseline", GATE)
        self.write("app.py", APP_DONE)
        return self

    def pending(self) -> "Project":
        self.observe("focused", SLUG)
        self.observe("broad", GATE)
        self.observe("proof", SLUG, "slug")
        self.ask(ReviewStart(summary="slug() is there"))
        return self


def run_flow(project: Project, *arguments: str, stdin: bytes = b"", **variables: str) -> Ended:
    """Run the installed command as a process of its own, in the project, without a terminal."""
    done = subprocess.run(
        [FLOW, *arguments],
        check=False,
        cwd=project.root,
        env={**os.environ, **variables},
        input=stdin,
        capture_output=True,
        timeout=120,
        start_new_session=True,
    )
    return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())


_LEADER: Final = """
import fcntl, os, signal, subprocess, sys, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.signal(signal.SIGINT, lambda *_: None)
print("ended", subprocess.call(sys.argv[1:]), ".", flush=True)
input()
"""


class Person:
    """Somebody at a terminal: waits for each question, then types its answer."""

    def __init__(self, master: int, script: Sequence[tuple[str, str]]) -> None:
        self._master = master
        self._script = list(script)
        self._seen = b""
        self._thread = threading.Thread(target=self._answer, daemon=True)
        self._thread.start()

    @property
    def seen(self) -> str:
        """Everything that was shown, once the program has ended."""
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive(), self._seen.decode()
        assert not self._script, f"never asked: {self._script}; {self._seen.decode()}"
        return self._seen.decode("utf-8", "replace").replace("\r\n", "\n")

    def _answer(self) -> None:
        fresh = b""
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            data = self._read()
            if data is None:
                return
            self._seen += data
            fresh += data
            if self._script and self._script[0][0].encode() in fresh:
                os.write(self._master, os.fsencode(self._script.pop(0)[1]))
                fresh = b""
        while self._read() is not None:
            os.write(self._master, b"\x04")  # so that a program that nobody expected to ask does not wait for ever

    def _read(self) -> bytes | None:
        ready, _, _ = select.select([self._master], [], [], 1.0)
        if not ready:
            return b""
        try:
            return os.read(self._master, 65536) or None
        except OSError:  # Linux says so when the last program has closed its end
            return None


@contextmanager
def terminal(*script: tuple[str, str]) -> Iterator[tuple[int, Person]]:
    """Lend the program's end of a terminal, with a person at the other one."""
    master, slave = pty.openpty()
    person = Person(master, script)
    try:
        yield slave, person
    finally:
        os.close(master)


def interrupted(project: Project, *arguments: str, at: str) -> tuple[int, str]:
    """Run the program in a terminal of its own, press Ctrl-C at a question, and return its code and what was shown.

    A terminal belongs to the leader of its session, and what nobody has read by then is lost with that leader. So
    the leader is a shell of ours, which stays until everything has been seen.
    """
    with terminal((at, "\x03"), ("ended ", "\n")) as (slave, person):
        leader = subprocess.Popen(
            [sys.executable, "-c", _LEADER, FLOW, *arguments], cwd=project.root, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        assert leader.wait(PATIENCE_S) == 0
        shown, _, code = person.seen.rpartition("ended ")
    return int(code.split()[0]), shown


class Holder:
    """Holds the lock in a thread of its own until it is released."""

    def __init__(self, project: Project) -> None:
        self._held, self._free = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold, args=(project,), daemon=True)
        self._thread.start()
        assert self._held.wait(10)

    def _hold(self, project: Project) -> None:
        with WorkspaceLock(project.root / ".flow" / "lock").hold(5):
            self._held.set()
            self._free.wait(30)

    def release(self) -> None:
        self._free.set()
        self._thread.join(10)
