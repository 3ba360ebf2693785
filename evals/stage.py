"""Where a scenario plays: its workspace, its two connections, and what has happened so far."""

import asyncio
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.connection import Connection, Died, Launch, Person
from evals.outcome import Body, Call, look, put
from evals.person import typed
from evals.scenario import Role, Scenario, Step, fixture
from evals.workspace import FLOW, PATIENCE_S, Workspace

WEAK = Path(__file__).with_name("weak_server.py")

_CAPTURED = re.compile(r"\$\{(\w+)\}")


def server_command(role: str, flags: Sequence[str], without: Sequence[str]) -> list[str]:
    """Give the command of a server: the product's own, or one with some rules out, which the product has not."""
    start = [str(FLOW), "serve"] if not without else [sys.executable, str(WEAK), ",".join(without)]
    return [*start, "--role", role, *flags]


class Stage:
    """What steps, agents and policies work with.

    Attributes:
        space: the workspace.
        calls: every call so far.
        failures: what went otherwise than the scenario says.
        captured: values by name.
    """

    def __init__(self, space: Workspace, scenario: Scenario, without: Sequence[str], start: Sequence[str]) -> None:
        """Prepare the connections; they are opened when they are first called. ``start`` starts any program."""
        person = None if scenario.person is None else Person(scenario.person)
        self.space = space
        self.calls: list[Call] = []
        self.failures: list[str] = []
        given = fixture(scenario.fixture)
        self.captured: dict[str, Any] = {**given.values, "goal": given.goal, "plan": {**given.plan, **scenario.plan}}
        self._parts = given.parts
        self._connections: dict[str, Connection] = {
            role: Connection(
                Launch(start, server_command(role, scenario.serve, without), space.root, space.environment),
                space.folder,
                person,
            )
            for role in ("manager", "reviewer")
        }

    async def call(self, role: Role, tool: str, arguments: Mapping[str, Any]) -> Call:
        """Call a tool, and note how it was answered."""
        try:
            is_error, body = await self._connections[role].call(tool, arguments)
        except Died:
            made = Call(role, tool, arguments, "lost", {})
        else:
            rule = body.get("refused", {}).get("rule", "broken") if is_error else None
            made = Call(role, tool, arguments, rule, body)
        self.calls.append(made)
        return made

    async def review(self, verdict: str, findings: Sequence[Body]) -> Call | None:
        """Let the reviewer answer the pending assignment; None where none is pending."""
        packet = await self.call("reviewer", "status", {"view": "review"})
        assignment = look(packet.body, "assignment.id")
        if assignment is None:
            return None
        given = {"assignment_id": assignment, "verdict": verdict, "summary": "Read every change.", "findings": findings}
        return await self.call("reviewer", "review_submit", given)

    async def crash(self, tool: str, arguments: Mapping[str, Any]) -> Call:
        """Kill the manager's server while the command of this check runs; the check then ends by itself.

        The fixture's runner waits while ``hold`` lies in its home, so that the kill comes at the same point each time.
        """
        hold, began = self.space.home / "hold", self.space.home / "began"
        hold.touch()
        asked = asyncio.create_task(self.call("manager", tool, arguments))
        await _until(lambda: began.exists() or asked.done())
        self.kill("manager")
        hold.unlink()
        made = await asked
        await _until(lambda: not any(one.get("pending") for one in self.space.documents().values()))
        began.unlink(missing_ok=True)
        return made

    def kill(self, role: Role) -> None:
        """End a server by force."""
        self._connections[role].kill()

    async def restart(self, role: Role) -> None:
        """End a server as a host does."""
        await self._connections[role].close()

    async def close(self) -> None:
        """End both servers."""
        await asyncio.gather(*(connection.close() for connection in self._connections.values()))

    def fail(self, what: str) -> None:
        """Note that something went otherwise."""
        self.failures.append(what)

    def filled(self, value: Any) -> Any:  # noqa: ANN401 - any JSON
        """Put captured values in the place of their names."""
        if isinstance(value, dict):
            return {key: self.filled(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.filled(item) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> Any:  # noqa: ANN401 - a value of any kind may have been captured
        whole = _CAPTURED.fullmatch(text)
        if whole and whole[1] in self.captured:
            return self.captured[whole[1]]
        return _CAPTURED.sub(lambda found: str(self.captured.get(found[1], found[0])), text)

    async def do(self, steps: Sequence[Step], where: str) -> None:
        """Take steps in order; one that goes otherwise is noted, and the next one follows."""
        for number, step in enumerate(steps, 1):
            if step.when is None or step.when in self.captured:
                await self._do(step, f"{where} {number}")

    async def _do(self, step: Step, where: str) -> None:
        if step.call is not None:
            self._check(step, where, await self._called(step))
        elif step.review is not None:
            made = await self.review(step.review, self.filled(step.findings))
            if made is None:
                self.fail(f"{where}: no assignment was pending")
            else:
                self._check(step, where, made)
        elif step.shell is not None or step.flow is not None:
            await self._run(step, where)
        elif step.play is not None:
            await self.do(self._parts[step.play], f"{where}, {step.play}")
        elif step.kill is not None:
            self.kill(step.kill)
        elif step.restart is not None:
            await self.restart(step.restart)
        else:
            self._edit(step)

    async def _called(self, step: Step) -> Call:
        tool, arguments = step.call or "", self.filled(step.arguments)
        made = await (self.crash(tool, arguments) if step.crash else self.call(step.as_role, tool, arguments))
        for name, path in step.capture.items():
            found = look(made.body, path)
            if found is not None:
                self.captured[name] = found
        return made

    def _check(self, step: Step, where: str, made: Call) -> None:
        wanted = "lost" if step.crash else step.refused
        if made.refused != wanted:
            self.fail(f"{where}: {made.tool} was {_said(made.refused)} and should be {_said(wanted)}")
        if step.passes is not None and made.passes is not step.passes:
            self.fail(f"{where}: the observation should {'pass' if step.passes else 'fail'}")

    async def _run(self, step: Step, where: str) -> None:
        if step.shell is not None:
            code = await self.space.shell(self.filled(step.shell))
        elif step.types:
            code = await typed(self.space, self.filled(step.flow), step.types)
        else:
            code, _ = await self.space.run([str(FLOW), *self.filled(step.flow)])
        if code != step.exit_code:
            self.fail(f"{where}: it ended with {code} and should end with {step.exit_code}")

    def _edit(self, step: Step) -> None:
        for name, text in (step.write or {}).items():
            self.space.write(name, self.filled(text))
        for name, text in (step.append or {}).items():
            self.space.append(name, self.filled(text))
        for name in step.remove or ():
            self.space.remove(name)
        if step.document is not None:
            plan_id, value = list(self.space.documents().items())[-1]
            for path, new in step.document.items():
                put(value, path, self.filled(new))
            self.space.edit(plan_id, value)


async def _until(is_true: Callable[[], bool]) -> None:
    """Wait for something to be true, so long as is sensible."""
    for _ in range(PATIENCE_S * 100):
        if is_true():
            return
        await asyncio.sleep(0.01)


def _said(refused: str | None) -> str:
    if refused == "lost":
        return "lost with its server"
    return "accepted" if refused is None else f"refused by {refused}"
