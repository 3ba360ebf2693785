"""A program that says when it has begun and runs until it is let go, as the command of a plan."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from flow_mcp.domain.plan import Command, ExternalEvidence, Feature, Gate, Plan, Proof, Requirement
from tests.cli.rig import GATE, REPORT, SLUG, Project

HELD = f"{sys.executable} tests/held.py"
PROGRAM = """\
import os, pathlib, sys, time

folder = pathlib.Path({folder!r})
print("holding", flush=True)
(folder / "new").write_text(str(os.getpid()))
(folder / "new").rename(folder / "began")
while not (folder / "go").exists():
    time.sleep(0.02)
"""


class Held:
    """The program, and where it says that it has begun."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def install(self, project: Project) -> None:
        """Write the program into the project."""
        project.write("tests/held.py", PROGRAM.format(folder=str(self.folder)))

    def begun(self) -> int:
        """Wait until it has begun; give its process id."""
        until((self.folder / "began").exists)
        return int((self.folder / "began").read_text())

    def release(self) -> None:
        """Let it end."""
        (self.folder / "go").touch()


def until(is_true: Callable[[], object]) -> None:
    """Wait for something to be true."""
    deadline_s = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < deadline_s, "it never came true"
        time.sleep(0.02)


def held_plan() -> Plan:
    """Give a plan whose gate runs until it is let go."""
    return _plan(Gate(run=HELD, no_report_because="It is about the check."))


def external_plan(*entries: ExternalEvidence) -> Plan:
    """Give a plan that asks for external evidence."""
    named = dict.fromkeys(entry.requirement for entry in entries)
    requirements = tuple(Requirement(id=name, text="It works there.") for name in named)
    return _plan(Gate(run=GATE, report=REPORT), requirements=requirements, external_evidence=entries)


def entry(requirement: str, command: Command | None = None, platform: str = "any", *cases: str) -> ExternalEvidence:
    """Give one entry of external evidence; the usual command reports the case slug."""
    usual = Command(run=SLUG, report=".flow/reports/slug.xml")
    return ExternalEvidence(requirement=requirement, command=command or usual, platform=platform, cases=cases)  # type: ignore[arg-type]


def _plan(gate: Gate, **more: object) -> Plan:
    proof = Proof(kind="none", because="It is about the check.")
    feature = Feature(id="slug", title="slug(text)", targets=("app.py",), checks=(), depends_on=(), proof=proof)
    fields: dict[str, object] = {"summary": "Add slug", "external_evidence": ()} | more
    return Plan(features=(feature,), gate=gate, **fields)  # type: ignore[arg-type]
