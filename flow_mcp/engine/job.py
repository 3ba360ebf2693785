"""One check to run, as the process that runs it knows it."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flow_mcp.domain.model import Document, Observation, PendingCheck
from flow_mcp.domain.plan import Command, Plan
from flow_mcp.engine.gather import Workspace
from flow_mcp.runner.redaction import Redactor
from flow_mcp.workspace.records import Records


@dataclass(frozen=True, slots=True)
class Job:
    """One check to run.

    Attributes:
        space: the workspace.
        records: the files of the plans folder that are no part of the source.
        document: the plan's document when the check began.
        pending: the check.
        environment: all of the command's environment.
        redactor: what is hidden in everything that is kept of the check.
        output: the file that keeps the output.
        token: the word that the command's descendants bear.
        alone: whether this process is the check's own, so that the command may be bound to its life.
        cancel: set to end the whole tree.
    """

    space: Workspace
    records: Records
    document: Document
    pending: PendingCheck
    environment: Mapping[str, str]
    redactor: Redactor
    output: Path
    token: str
    alone: bool
    cancel: threading.Event

    @property
    def plan(self) -> Plan:
        """The approved plan."""
        assert self.document.plan is not None, "a check belongs to a plan"  # noqa: S101 - a broken program
        return self.document.plan

    @property
    def command(self) -> Command:
        """The listed command."""
        found = self.plan.command(self.pending.command)
        assert found is not None, "observe.listed-only asked for a listed command"  # noqa: S101 - a broken program
        return found


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of one check: the observation, the passing cases, and the output's end for the caller."""

    observation: Observation
    passing: tuple[str, ...]
    tail: str
