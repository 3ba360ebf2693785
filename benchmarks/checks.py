"""Measure what a whole check adds to a bare spawn: kept source, copy, process, observation, both revisions.

``python benchmarks/checks.py [files …]`` prints medians; the kinds take turns, so that all see the same machine.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from flow_mcp.domain.commands import CheckStart, PlanApprove, PlanSave, RunStart
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Actor
from flow_mcp.domain.plan import Command, Feature, Gate, Plan, Proof
from flow_mcp.domain.policy import Policy
from flow_mcp.engine.asked import Asked, Done
from flow_mcp.engine.checks import Checks
from flow_mcp.engine.core import Engine
from flow_mcp.engine.gather import Workspace
from flow_mcp.engine.warm import WARM
from flow_mcp.settings import Settings

SIZES = (300, 5_000, 20_000)
ROUNDS = 9
RUN = "test -d ."
MANAGER = Asked(Actor(role="manager"))
PERSON = Asked(Actor(role="person", channel="dialog"))


def project(root: Path, files: int) -> None:
    """Make a repository of so many small files."""
    for number in range(files):
        folder = root / f"part{number // 400}" / f"piece{number // 20 % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"file{number}.py").write_bytes(os.urandom(2048) + b"x" * 4096)
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "b"]):
        subprocess.run(["git", *words], cwd=root, check=True)


def yes(answer: Done | Refused) -> Done:
    """Expect an accepted request."""
    assert isinstance(answer, Done), answer
    return answer


def started(root: Path) -> Engine:
    """Bring a plan whose one command does nothing to its run."""
    engine = Engine(Workspace(root, "plans"), Settings(Policy(), "plans", (), {}, ()))
    feature = Feature(
        id="all",
        title="all",
        targets=("part0/**",),
        checks=(Command(run=RUN),),
        proof=Proof(kind="none", because="It is about speed."),
    )
    gate = Gate(run="test -e part0", no_report_because="It is about speed.")
    plan = Plan(summary="Do nothing.", features=(feature,), gate=gate, external_evidence=())
    yes(engine.ask(PlanSave(goal="Do nothing", plan=plan), MANAGER))
    state = engine.read(MANAGER.actor, None, look=True)
    assert not isinstance(state, Refused)
    approve = PlanApprove(
        plan_digest=plan.digest(), shown_revision=state.document.revision, shown_source=state.facts.digest
    )
    yes(engine.ask(approve, PERSON))
    yes(engine.ask(RunStart(feature_id=None), MANAGER))
    return engine


def checked(engine: Engine) -> None:
    """Run the check to its recorded end."""
    checks = Checks(engine)
    ask = CheckStart(scope="focused", command=RUN, feature_id=None, requirement=None)
    begun = yes(checks.start(ask, MANAGER))
    waited = checks.wait(begun.document.plan_id, str(begun.answer["check_id"]), 600)
    assert not isinstance(waited, Refused)
    assert waited.observation is not None


def spawn() -> None:
    """Start and await the same command bare."""
    subprocess.run(["bash", "-c", RUN], check=True)


def median_ms(kind: Callable[[], object]) -> float:
    """Give the median of some rounds in milliseconds."""
    spent: list[float] = []
    for _ in range(ROUNDS):
        begun_s = time.perf_counter()
        kind()
        spent.append((time.perf_counter() - begun_s) * 1000)
    return statistics.median(spent)


def main(sizes: tuple[int, ...]) -> None:
    """Print the table."""
    bare = median_ms(spawn)
    print(f"bare spawn of `bash -c {RUN}`: {bare:.1f} ms")
    print(f"{'files':>8} {'whole check, ms':>16} {'over a bare spawn':>18}")
    for files in sizes:
        with tempfile.TemporaryDirectory() as folder:
            # Copies go with the rest: none belongs into a person's cache.
            os.environ["XDG_CACHE_HOME"] = folder
            root = Path(folder) / "project"
            root.mkdir()
            project(root, files)
            engine = started(root)
            WARM.ready()
            checked(engine)
            whole = median_ms(lambda engine=engine: checked(engine))  # type: ignore[misc]
            WARM.close()
        print(f"{files:>8} {whole:>16.0f} {whole - bare:>18.0f}")


if __name__ == "__main__":
    main(tuple(int(size) for size in sys.argv[1:]) or SIZES)
