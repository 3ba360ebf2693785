"""What goes into the engine and what comes out of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from flow_mcp.domain.decision import Facts, Step
from flow_mcp.domain.model import Actor, Document
from flow_mcp.engine.folder import Folder
from flow_mcp.engine.gather import Gathered, Workspace


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks, and how the request names itself.

    Attributes:
        actor: what the connection or host attests of the caller.
        plan_id: the plan that is meant, where it is named.
        operation_id: the caller's name for this mutation; Flow makes one where it is absent.
        expected_revision: the revision that the caller thinks it is at.
        input: what the operation id stands for; the request itself where it is absent.
    """

    actor: Actor
    plan_id: str | None = None
    operation_id: str | None = None
    expected_revision: int | None = None
    input: JsonValue = None


@dataclass(frozen=True, slots=True)
class Done:
    """An accepted mutation, or the replay of one; ``seen`` is the source that it was decided on."""

    document: Document
    answer: Mapping[str, JsonValue]
    step: Step
    operation_id: str
    replayed: bool
    seen: Gathered | None


@dataclass(frozen=True, slots=True)
class State:
    """A document as it was read, with the facts of this moment, and where it was read."""

    document: Document
    facts: Facts
    step: Step
    folder: Folder
    seen: Gathered | None
    space: Workspace
