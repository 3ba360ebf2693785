"""A model at the nine tools of a real workspace, and whether the host asks anybody."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from flow_mcp.domain.plan import Plan
from flow_mcp.server.desk import Answer, Question, Reply
from flow_mcp.server.flow_desk import FlowDesk
from flow_mcp.server.table import Role
from tests.engine.place import Place


@dataclass
class Host:
    """The client of a call; ``answers`` is what it says that its person answered, and None where it cannot ask."""

    answers: list[Answer | None] | None = None
    asked: list[Question] = field(default_factory=list)
    client_name: str | None = "model"
    protocol: str = "2025-11-25"
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def can_ask(self) -> bool:
        """Say whether it can show a form."""
        return self.answers is not None

    async def ask(self, question: Question) -> Answer | None:
        """Answer as it was told to."""
        self.asked.append(question)
        return (self.answers or [None]).pop(0)

    async def progress(self, done: float, total: float | None, message: str) -> None:
        """Hear how far a call is."""


YES = Answer("accept", {"approve": True})


class Model:
    """Calls tools on one connection."""

    def __init__(self, place: Place, role: Role | None = None) -> None:
        self.place = place
        self._desk = FlowDesk(place.engine, role, lambda: "")

    def call(self, tool: str, host: Host | None = None, /, **arguments: Any) -> Reply:  # noqa: ANN401 - any JSON
        """Call a tool, whatever comes of it."""
        return asyncio.run(self._desk.call(tool, arguments, host or Host()))

    def does(self, tool: str, host: Host | None = None, /, **arguments: Any) -> Mapping[str, Any]:  # noqa: ANN401
        """Call a tool and expect yes."""
        reply = self.call(tool, host, **arguments)
        assert not reply.is_error, reply.body
        return reply.body

    def fails(self, rule: str, tool: str, host: Host | None = None, /, **arguments: Any) -> str:  # noqa: ANN401
        """Call a tool and expect a rule to refuse, with nothing written; give what was seen."""
        before = self.place.bytes()
        reply = self.call(tool, host, **arguments)
        assert reply.is_error, reply.body
        assert reply.body["refused"]["rule"] == rule, reply.body
        assert self.place.bytes() == before
        return str(reply.body["refused"]["seen"])

    def sees(self, scope: str, command: str, **more: str) -> Mapping[str, Any]:
        """Have a command observed; give the observation as the answer shows it."""
        seen: Mapping[str, Any] = self.does("validate", scope=scope, command=command, **more)["observation"]
        return seen


def planned(plan: Plan) -> dict[str, Any]:
    """Give a plan as a model writes it."""
    fields = plan.as_json()
    fields.pop("inherits")
    return fields


def promised(module: ModuleType) -> set[str]:
    """Name every promise that a test of a module stands for."""
    found: set[str] = set()
    for name, test in vars(module).items():
        if name.startswith("test_"):
            found |= {given for mark in getattr(test, "pytestmark", []) for given in _promises(mark)}
    return found


def _promises(mark: pytest.Mark) -> set[str]:
    if mark.name == "promise":
        return {str(mark.args[0])}
    cases = mark.args[1] if mark.name == "parametrize" else ()
    return {given for case in cases for inner in getattr(case, "marks", ()) for given in _promises(inner.mark)}
