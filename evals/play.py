"""Play scenarios, each in a fresh workspace against real servers, several at a time."""

import asyncio
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from evals.agent import Agent
from evals.connection import COLD
from evals.judging import COMPLETED, end_of, stopped_by, unmet
from evals.outcome import Outcome, look
from evals.scenario import Scenario
from evals.stage import Stage
from evals.workspace import FLOW, Workspace

SCENARIO_S = 120


async def play(scenario: Scenario, without: Sequence[str] = (), start: Sequence[str] = COLD) -> Outcome:
    """Play one scenario, and judge what came of it; ``start`` is how its programs are started."""
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="flow-eval-", ignore_cleanup_errors=True) as folder:
        space = Workspace(Path(folder), scenario.folder)
        await asyncio.to_thread(space.make, scenario.fixture, scenario.files, git=scenario.git)
        stage = Stage(space, scenario, without, start)
        try:
            async with asyncio.timeout(SCENARIO_S):
                await _acted(stage, scenario)
        except TimeoutError:
            stage.fail(f"it took more than {SCENARIO_S} s")
        except Exception as error:  # noqa: BLE001 - it is told, and the other scenarios go on
            stage.fail(f"it broke: {error!r}")
        finally:
            await stage.close()
        return await _judged(scenario, stage, start, began_s)


async def _acted(stage: Stage, scenario: Scenario) -> None:
    if scenario.steps is not None:
        await stage.do(scenario.steps, "step")
    elif scenario.agent is not None:
        await Agent(stage, scenario.agent).play()
    else:
        await import_module(f"evals.policies.{scenario.policy}").play(stage)


async def _judged(scenario: Scenario, stage: Stage, start: Sequence[str], began_s: float) -> Outcome:
    documents = stage.space.documents()
    end = end_of(documents)
    failures = [*stage.failures, *unmet(scenario, end, stage.calls, documents)]
    return Outcome(
        name=scenario.name,
        kind=scenario.kind,
        family=scenario.family,
        wanted=scenario.wants,
        end=end,
        truth=await stage.space.shell(scenario.truth) == 0,
        stopped_by=stopped_by(scenario.expect, stage.calls),
        calls=tuple(stage.calls),
        documents=documents,
        gaps=await _gaps(stage.space, start) if end in COMPLETED else (),
        failures=tuple(failures),
        open=scenario.open,
        seconds=time.monotonic() - began_s,
    )


async def _gaps(space: Workspace, start: Sequence[str]) -> tuple[str, ...]:
    """Ask the audit about every goal that was closed as completed."""
    _, out = await space.run([*start, os.devnull, str(FLOW), "verify", "--audit", "--json"])
    plans = look(json.loads(out or "{}"), "plans") or []
    return tuple(gap["id"] for plan in plans for gap in look(plan, "audit.gaps") or ())


async def play_all(
    jobs: Sequence[tuple[Scenario, Sequence[str]]],
    at_once: int,
    told: Callable[[Outcome], None],
    start: Sequence[str] = COLD,
) -> list[Outcome]:
    """Play many, so many at once, and tell of each as it ends; the answers come in the order of the jobs."""
    slots = asyncio.Semaphore(at_once)

    async def one(scenario: Scenario, without: Sequence[str]) -> Outcome:
        async with slots:
            outcome = await play(scenario, without, start)
        told(outcome)
        return outcome

    return await asyncio.gather(*(one(scenario, without) for scenario, without in jobs))


def usual_jobs() -> int:
    """Give how many are played at once: one a core, and one that waits."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else 2
