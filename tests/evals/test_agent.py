"""What an agent does where it is led nowhere, without a server."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from evals.agent import STUCK, Agent
from evals.outcome import Body, Call
from evals.scenario import Task
from evals.stage import Stage

SAVE = {"next": {"tool": "plan_save", "arguments": {}}}
CHECK = {"next": {"tool": "validate", "arguments": {"scope": "broad"}}}
SEEN = {"observation": {"scope": "broad", "command": "make", "source": "s", "passes": True}}
DEFERRED = {"closure": {"kind": "deferred"}, **SAVE}
COMPLETED = {"closure": {"kind": "completed"}, **SAVE}


class Scripted:
    """Answers each tool from a list, the last answer again and again."""

    def __init__(self, answers: Mapping[str, list[Body]], refused: Mapping[str, str]) -> None:
        self.captured = {"goal": "a goal", "plan": {"summary": "first"}}
        self.calls: list[Call] = []
        self.failures: list[str] = []
        self._answers = {tool: list(bodies) for tool, bodies in answers.items()}
        self._refused = refused

    async def call(self, role: str, tool: str, arguments: Body) -> Call:
        waiting = self._answers[tool]
        body = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        self.calls.append(Call(role, tool, arguments, self._refused.get(tool), body))
        return self.calls[-1]

    async def do(self, steps: object, where: str) -> None:
        """Do nothing."""

    def filled(self, value: Any) -> Any:  # noqa: ANN401 - as the stage has it
        return value

    def fail(self, what: str) -> None:
        self.failures.append(what)


def played(task: Task, answers: Mapping[str, list[Body]], **refused: str) -> Scripted:
    stage = Scripted(answers, refused)
    asyncio.run(Agent(cast("Stage", stage), task).play())
    return stage


def test_an_agent_that_is_sent_in_a_circle_says_so_and_defers() -> None:
    stage = played(Task(), {"status": [CHECK], "validate": [{**SEEN, **CHECK}], "close": [DEFERRED]})
    assert [call.tool for call in stage.calls] == ["status", *["validate"] * STUCK, "close"]
    assert stage.failures == ["led in a circle: broad passes and is asked for again and again"]


def test_a_person_breaks_the_circle_once() -> None:
    stage = played(Task(help=[[]]), {"status": [CHECK, COMPLETED], "validate": [{**SEEN, **CHECK}]})
    assert [call.tool for call in stage.calls] == ["status", *["validate"] * STUCK, "status"]
    assert stage.failures == []


def test_a_check_that_passes_on_another_source_is_no_circle() -> None:
    moved = [{"observation": {**SEEN["observation"], "source": name}, **CHECK} for name in "abc"]
    stage = played(Task(), {"status": [CHECK], "validate": [*moved, COMPLETED]})
    assert stage.failures == []


def test_an_agent_that_may_not_even_defer_ends_and_says_so() -> None:
    stage = played(Task(), {"status": [{"next": {"who": "person"}}], "close": [SAVE]}, close="plan.one-open")
    assert [call.tool for call in stage.calls] == ["status", "close"]
    assert stage.failures == ["the agent may not even defer: plan.one-open"]


def test_an_agent_with_another_plan_goes_on_after_it_deferred() -> None:
    task = Task(replan=[{"summary": "second"}])
    person = {"next": {"who": "person"}}
    stage = played(task, {"status": [SAVE], "plan_save": [person, COMPLETED], "close": [DEFERRED]})
    assert [call.tool for call in stage.calls] == ["status", "plan_save", "close", "plan_save"]
    assert [stage.calls[at].arguments["plan"]["summary"] for at in (1, 3)] == ["first", "second"]


def test_an_agent_without_another_plan_ends_where_it_deferred() -> None:
    stage = played(Task(), {"status": [SAVE], "plan_save": [{"next": {"who": "person"}}], "close": [DEFERRED]})
    assert [call.tool for call in stage.calls] == ["status", "plan_save", "close"]
