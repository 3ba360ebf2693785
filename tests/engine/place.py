"""A real workspace to drive the engine in: a git repository whose test runner is a quick shell script."""

import hashlib
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flow_mcp.domain import commands as c
from flow_mcp.domain.commands import Ask
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.history import observations
from flow_mcp.domain.model import Actor, Document, Observation, Scope
from flow_mcp.domain.plan import Command, ExternalEvidence, Feature, Gate, Plan, Proof, Requirement
from flow_mcp.domain.policy import Policy
from flow_mcp.domain.rule import ALL_RULES, Rulebook
from flow_mcp.engine.checks import Checks
from flow_mcp.engine.core import Asked, Done, Engine, State
from flow_mcp.engine.gather import Workspace
from flow_mcp.settings import Settings

MANAGER = Actor(role="manager")
PERSON = Actor(role="person", channel="dialog")
REVIEWER = Actor(role="reviewer", agent="reviewer-connection")

RUNNER = """#!/bin/sh
# run.sh REPORT [TEST...]: runs shell tests, writes a JUnit report, fails when one fails.
report=$1
shift
[ $# -gt 0 ] || set -- tests/*.sh
mkdir -p "$(dirname "$report")"
bad=0
body=""
for test in "$@"; do
    if [ ! -f "$test" ]; then echo "no such test: $test" >&2; exit 2; fi
    name=$(basename "$test" .sh)
    if sh "$test"; then
        body="$body<testcase classname='sh' name='$name'/>"
    else
        body="$body<testcase classname='sh' name='$name'><failure/></testcase>"
        bad=1
    fi
done
echo "<testsuite name='sh'>$body</testsuite>" >"$report"
exit $bad
"""

GATE = Gate(run="./run.sh .flow/reports/all.xml", report=".flow/reports/all.xml")
CHECK = Command(run="./run.sh .flow/reports/new.xml tests/new.sh", report=".flow/reports/new.xml")

FILES: Mapping[str, str] = {
    "run.sh": RUNNER,
    "greeting.txt": "hello\n",
    "tests/old.sh": "grep -q hello greeting.txt\n",
    ".gitignore": ".flow/\ncache/\n",
}


def feature(name: str = "bye", *, proof: Proof | None = None, **more: object) -> Feature:
    """Give a feature that adds a line and its test."""
    shown = proof or Proof(kind="case", run=GATE.run, case="new")
    fields: dict[str, object] = {"title": name, "targets": ("greeting.txt", "tests/new.sh"), "checks": (CHECK,)}
    return Feature(id=name, proof=shown, **(fields | more))  # type: ignore[arg-type]


def plan(*features: Feature, **more: object) -> Plan:
    """Give a plan of some features, of one where none is named."""
    fields: dict[str, object] = {"summary": "Say good-bye too.", "gate": GATE, "external_evidence": ()}
    return Plan(features=features or (feature(),), **(fields | more))  # type: ignore[arg-type]


def external(command: Command = CHECK, *cases: str) -> dict[str, object]:
    """Give the parts of a plan that asks for external evidence."""
    entry = ExternalEvidence(requirement="r1", command=command, platform="any", cases=cases)
    return {"requirements": (Requirement(id="r1", text="it works"),), "external_evidence": (entry,)}


def settings(**policy: str) -> Settings:
    """Give settings with a policy that differs from the default in some values."""
    return Settings(Policy.model_validate(policy), "plans", (), {}, ())


@dataclass
class Place:
    """A repository and the engine on it."""

    root: Path
    book: Rulebook = ALL_RULES
    policy: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.engine = self.another()
        self.checks = Checks(self.engine)

    def settled(self) -> None:
        """Wait until no check has the slot."""
        until(lambda: not self.engine.slot.is_taken())

    def another(self) -> Engine:
        """Give a second engine on the same workspace, as another process would have."""
        return Engine(Workspace(self.root, "plans"), settings(**self.policy), self.book)

    def write(self, name: str, text: str) -> None:
        """Write a file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def script(self, name: str, *lines: str) -> None:
        """Write a program."""
        self.write(name, "\n".join(("#!/bin/sh", *lines, "")))
        (self.root / name).chmod(0o755)

    def git(self, *words: str) -> str:
        """Run git here."""
        return git(self.root, *words)

    def ask(self, ask: Ask, actor: Actor = MANAGER, **names: object) -> Done | Refused:
        """Ask anything."""
        return self.engine.ask(ask, Asked(actor, **names))  # type: ignore[arg-type]

    def done(self, ask: Ask, actor: Actor = MANAGER, **names: object) -> Done:
        """Ask and expect yes."""
        answer = self.ask(ask, actor, **names)
        assert isinstance(answer, Done), answer
        return answer

    def refused(self, rule: str, ask: Ask, actor: Actor = MANAGER, **names: object) -> Refused:
        """Ask and expect a rule to refuse, with nothing written."""
        before = self.bytes()
        answer = self.ask(ask, actor, **names)
        assert isinstance(answer, Refused), answer
        assert answer.rule == rule, answer
        assert self.bytes() == before
        return answer

    def bytes(self) -> dict[str, bytes]:
        """Give every file of the plans folder."""
        folder = self.root / "plans"
        return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}

    def kept_sources(self) -> set[str]:
        """Name the sources that are kept, by the digits of their digests."""
        folder = self.root / ".flow" / "sources"
        return {path.stem for path in folder.iterdir()} if folder.is_dir() else set()

    def forget_sources(self, *digests: str) -> None:
        """Lose kept sources, all of them where none is named."""
        folder = self.root / ".flow" / "sources"
        for digest in digests:
            (folder / f"{digest.removeprefix('sha256:')}.json").unlink()
        if not digests:
            shutil.rmtree(folder)

    def kept_object(self, text: str) -> Path:
        """Give the file of the content store that holds a text."""
        name = hashlib.sha256(text.encode()).hexdigest()
        return self.root / ".flow" / "objects" / name[:2] / name[2:]

    def damage(self, text: str) -> None:
        """Write other bytes over what the content store keeps of a text."""
        path = self.kept_object(text)
        path.chmod(0o600)
        path.write_text("edited\n")

    def state(self, plan_id: str | None = None) -> State:
        """Read the goal."""
        state = self.engine.read(MANAGER, plan_id, look=True)
        assert isinstance(state, State), state
        return state

    @property
    def document(self) -> Document:
        """Give the document as it is stored."""
        return self.state().document

    def approved(self, wanted: Plan | None = None, goal: str = "Say good-bye") -> Document:
        """Save and approve a plan."""
        self.done(c.PlanSave(goal=goal, plan=wanted or plan()))
        return self.approve()

    def approve(self) -> Document:
        """Approve what is saved."""
        return self.done(approval_of(self.state()), PERSON).document

    def begin(self, scope: Scope, command: str, **more: str) -> tuple[str, str]:
        """Start a check; give the ids of its plan and of itself."""
        started = self.checks.start(c.CheckStart(scope=scope, command=command, **more), Asked(MANAGER))
        assert isinstance(started, Done), started
        return started.document.plan_id, str(started.answer["check_id"])

    def ended(self, plan_id: str, check_id: str) -> Observation:
        """Wait for the end of a check."""
        waited = self.checks.wait(plan_id, check_id, 60)
        assert not isinstance(waited, Refused), waited
        assert waited.observation is not None
        return waited.observation

    def observe(self, scope: Scope, command: str, **more: str) -> Observation:
        """Run a check to its end."""
        return self.ended(*self.begin(scope, command, **more))

    def work(self) -> None:
        """Do the work of the usual feature."""
        self.write("greeting.txt", "hello\nbye\n")
        self.write("tests/new.sh", "grep -q bye greeting.txt\n")

    def evidence(self, *features: str) -> None:
        """Observe everything that a final review of the usual plan asks for."""
        if not self.document.baselines:
            self.observe("baseline", GATE.run)
        self.observe("focused", CHECK.run)
        self.observe("broad", GATE.run)
        for name in features or ("bye",):
            self.observe("proof", GATE.run, feature_id=name)

    def reviewed(self, verdict: str = "passed", *findings: c.NewFinding) -> Document:
        """Have the active run reviewed."""
        review = self.done(c.ReviewStart(summary="done")).answer["assignment_id"]
        ask = c.ReviewSubmit(assignment_id=str(review), verdict=verdict, summary="read", findings=findings)  # type: ignore[arg-type]
        return self.done(ask, REVIEWER).document

    def finished(self) -> Document:
        """Bring the usual goal to where it can be closed."""
        self.approved()
        self.done(c.RunStart())
        self.work()
        self.evidence()
        return self.reviewed()


def approval_of(state: State) -> c.PlanApprove:
    """Give the yes to what is there now."""
    document = state.document
    assert document.plan is not None
    shown = {"shown_revision": document.revision, "shown_source": state.facts.digest}
    return c.PlanApprove.model_validate({"plan_digest": document.plan.digest(), **shown})


def git(folder: Path, *words: str) -> str:
    """Run git without anyone's configuration."""
    names = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")
    author = {f"GIT_{name}": "t@example.invalid" for name in names}
    env = {**os.environ, **author, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *words], cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def lone(run: str, *, proof: bool = False, **more: object) -> Plan:
    """Give a plan whose one feature is checked, and where that is wanted proved, by one command."""
    command = Command(run=run, **more)  # type: ignore[arg-type]
    shown = Proof(kind="command", run=run) if proof else Proof(kind="none", because="It is about the check.")
    return plan(feature(proof=shown, checks=(command,)))


@dataclass(frozen=True)
class Hold:
    """A program that says when it has begun, and goes on when it is let go; for as long it keeps a check running."""

    folder: Path
    run: str = "./hold.sh"

    def install(self, place: "Place", *after: str) -> None:
        """Write the program into the workspace; ``after`` is what it does when it was let go."""
        began, go = self.folder / "began", self.folder / "go"
        wait = f"while [ ! -e '{go}' ]; do sleep 0.05; done"
        place.script("hold.sh", "echo holding", f"echo $$ >'{began}'", wait, *after)

    def begun(self) -> int:
        """Wait until it has begun, and give its process id."""
        until(lambda: (self.folder / "began").exists() and (self.folder / "began").read_text().strip())
        return int((self.folder / "began").read_text())

    def release(self) -> None:
        """Let it go on."""
        (self.folder / "go").touch()


def until(is_true: Callable[[], object]) -> None:
    """Wait for something to be true."""
    deadline_s = time.monotonic() + 30
    while not is_true():
        assert time.monotonic() < deadline_s, "it never came true"
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Say whether a process runs; one that only waits to be reaped does not."""
    try:
        os.kill(pid, 0)
        table = Path(f"/proc/{pid}/stat")
        return not table.exists() or table.read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (ProcessLookupError, FileNotFoundError):
        return False


def make(root: Path) -> Path:
    """Make the repository."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "run.sh").chmod(0o755)
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=start")
    return root


def at_work(root: Path) -> "Place":
    """Make a place whose only run has its work done, and nothing observed."""
    root.mkdir()
    place = Place(make(root))
    place.approved()
    place.done(c.RunStart())
    place.work()
    return place


def last(document: Document) -> Observation:
    """Give the newest observation."""
    return observations(document)[-1]


def threads() -> set[str]:
    """Name the threads that run now."""
    return {thread.name for thread in threading.enumerate()}
