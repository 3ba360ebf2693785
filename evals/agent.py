"""An honest agent: it knows its task, and follows only what Flow says next, or what a refusal says helps."""

from collections.abc import Mapping
from typing import Any

from evals.outcome import Call, look
from evals.scenario import Task, Verdict
from evals.stage import Stage

CALLS_MAX = 120
STUCK = 3
"""After so many refusals of one call by one rule, or failures of one check, without a way to mend it, it gives up."""

_WORDS: Mapping[str, Any] = {
    "summary": "What the plan says is done.",
    "risks": [],
    "reason": "To answer what was found.",
    "kind": "completed",
}


class Agent:
    """Does one task on a stage."""

    def __init__(self, stage: Stage, task: Task) -> None:
        """Begin with nothing done."""
        self._stage = stage
        self._task = task
        self._goal = task.goal or stage.captured["goal"]
        self._plans: list[dict[str, Any]] = [
            stage.filled(plan) for plan in (task.plan or stage.captured["plan"], *task.replan)
        ]
        self._saves = 0
        self._gave_up = False
        self._mend = {name: list(lists) for name, lists in task.mend.items()}
        self._reviews = list(task.reviews)
        self._help = list(task.help)
        self._feature = ""
        self._worked: set[str] = set()
        self._times: dict[tuple[str, str], int] = {}

    async def play(self) -> None:
        """Follow to the end: a closure, or nobody left who can help."""
        last = await self._called("status", {})
        for _ in range(CALLS_MAX):
            if self._is_over(last):
                return
            if last.refused == "lost":  # its server died: a new one says where things stand
                last = await self._called("status", {})
                continue
            if self._gave_up and last.refused is not None:
                self._stage.fail(f"the agent may not even defer: {last.refused}")
                return
            last = await self._next(last)
        self._stage.fail(f"the agent did not come to an end in {CALLS_MAX} calls")

    def _is_over(self, last: Call) -> bool:
        """Say whether the goal is closed, and no other plan goes on where this one was deferred."""
        kind = look(last.body, "closure.kind") or look(last.body, "closure")
        if kind is None and look(last.body, "status") != "closed":
            return False
        return kind != "deferred" or max(self._saves, 1) >= len(self._plans)

    async def _next(self, last: Call) -> Call:
        step = last.body.get("next") or {}
        await self._mended(last)
        if self._is_stuck(last):
            return await self._give_up()
        if self._is_led_in_a_circle(last):
            return await self._helped()
        if step.get("who") == "reviewer" or step.get("tool") == "review_submit":
            return await self._reviewed()
        if step.get("who") == "person" or "tool" not in step:
            return await self._helped()
        return await self._called(step["tool"], self._arguments(step))

    def _arguments(self, step: Mapping[str, Any]) -> dict[str, Any]:
        given = dict(step["arguments"])
        known = {**_WORDS, "goal": self._goal}
        if step["tool"] == "plan_save":
            return {**given, "goal": given.get("goal", self._goal), "plan": self._plan()}
        return given | {name: known[name] for name in step.get("fill", ()) if name in known and name not in given}

    def _plan(self) -> dict[str, Any]:
        self._saves += 1
        return self._plans[min(self._saves, len(self._plans)) - 1]

    async def _called(self, tool: str, arguments: Mapping[str, Any]) -> Call:
        """Call a tool as the manager, with what happens before and after it, and work where a run has begun."""
        scope = str(arguments.get("scope", ""))
        await self._moment("before", tool, scope)
        crashes = await self._moment("crash", tool, scope)
        made = await (self._stage.crash(tool, arguments) if crashes else self._stage.call("manager", tool, arguments))
        await self._moment("after", tool, scope)
        feature = look(made.body, "feature.id")
        if made.refused is None and feature is not None:
            await self._work(feature)
        return made

    async def _work(self, feature: str) -> None:
        self._feature = feature
        if feature not in self._worked:
            self._worked.add(feature)
            await self._stage.do(self._task.work.get(feature, ()), f"work on {feature}")

    async def _moment(self, side: str, tool: str, scope: str) -> bool:
        """Let happen what happens at this moment; say whether it was one."""
        was_one = False
        for number, moment in enumerate(self._task.moments):
            if getattr(moment, side) != tool or moment.scope not in {None, scope}:
                continue
            key = "moment", f"{number}"
            self._times[key] = self._times.get(key, 0) + 1
            if self._times[key] == moment.nth:
                was_one = True
                await self._stage.do(moment.do, f"{side} {tool}")
        return was_one

    async def _mended(self, last: Call) -> None:
        """Mend the feature where its check failed; a baseline and a proof may fail."""
        scope = look(last.body, "observation.scope")
        if last.passes is False and scope not in {"baseline", "proof"}:
            await self._mend_feature()

    async def _mend_feature(self) -> None:
        waiting = self._mend.get(self._feature)
        if waiting:
            self._times = {key: count for key, count in self._times.items() if key[0] != "failed"}
            await self._stage.do(waiting.pop(0), f"mending {self._feature}")

    def _is_stuck(self, last: Call) -> bool:
        failed = last.refused is not None or (
            last.passes is False and look(last.body, "observation.scope") not in {"baseline", "proof"}
        )
        if not failed:
            return False
        key = "failed", f"{last.tool} {last.refused} {look(last.body, 'observation.command')}"
        self._times[key] = self._times.get(key, 0) + 1
        return self._times[key] >= STUCK

    def _is_led_in_a_circle(self, last: Call) -> bool:
        """Say whether it is sent to observe again and again what passes; only a person can break that."""
        if not last.passes:
            return False
        seen = last.body["observation"]
        key = "passed", f"{seen['scope']} {seen['command']} {seen['source']}"
        self._times[key] = self._times.get(key, 0) + 1
        if self._times[key] == STUCK and not self._help:
            self._stage.fail(f"led in a circle: {seen['scope']} passes and is asked for again and again")
        return self._times[key] == STUCK

    async def _reviewed(self) -> Call:
        said = self._reviews.pop(0) if self._reviews else Verdict()
        await self._moment("before", "review_submit", "")
        made = await self._stage.review(said.verdict, self._stage.filled(said.findings))
        await self._moment("after", "review_submit", "")
        if made is not None and look(made.body, "state") == "failed":
            await self._mend_feature()
        return made or await self._called("status", {})

    async def _helped(self) -> Call:
        """Let a person do what only they can; without one, say honestly that it is deferred."""
        if not self._help:
            return await self._give_up()
        await self._stage.do(self._help.pop(0), "help")
        return await self._called("status", {})

    async def _give_up(self) -> Call:
        self._gave_up = True
        return await self._called("close", {"kind": "deferred", "summary": "It cannot be finished as planned."})
