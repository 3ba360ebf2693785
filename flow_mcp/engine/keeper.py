"""The process of one check: it runs the command, records what was seen, and depends on no server (row observe.*).

It holds the slot for checks from before the command starts until the end is recorded, so that every other process
sees whether the check still has a runner. What a later process needs if this one is killed is written down first: the
word that the command's descendants bear.
"""

import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict

from flow_mcp.domain.commands import CheckEnd
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.model import Actor
from flow_mcp.domain.policy import Policy
from flow_mcp.domain.rule import Rulebook
from flow_mcp.engine.asked import Asked, Done
from flow_mcp.engine.core import Engine
from flow_mcp.engine.gather import Workspace
from flow_mcp.engine.job import Job, Seen
from flow_mcp.engine.observing import observe, without_report
from flow_mcp.engine.tail import keep_tail
from flow_mcp.runner.redaction import Redactor
from flow_mcp.settings import Settings
from flow_mcp.store.lock import Busy
from flow_mcp.workspace.disposal import own_mark
from flow_mcp.workspace.folders import read_private

RECORD_S = 300.0
"""How long a finished check tries to be recorded while others hold the lock or its document is away."""
AGAIN_S = 0.1

TICKET_BYTES_MAX = 4096

_FLOW = Actor(role="flow")


@dataclass(frozen=True, slots=True)
class Spec:
    """What a keeper is told, by the process that started the check. A path or a value may hold any bytes.

    Attributes:
        root: the workspace.
        plans: its plans folder.
        policy: the policy in force.
        environment: all of the command's environment.
        secrets: the variables in it whose values are hidden in what is kept.
        without: rules that are out.
        plan_id: the plan.
        check_id: its pending check.
        output: the file that is to keep the output.
        token: the word that the command's descendants bear.
    """

    root: str
    plans: str
    policy: Mapping[str, str]
    environment: Mapping[str, str]
    secrets: Sequence[str]
    without: tuple[str, ...]
    plan_id: str
    check_id: str
    output: str
    token: str

    def dumps(self) -> bytes:
        """Write it as JSON; what is no valid text stays what it is."""
        return json.dumps(asdict(self)).encode("ascii")

    @classmethod
    def loads(cls, data: bytes) -> Self:
        """Read what ``dumps`` wrote."""
        return cls(**json.loads(data))

    def engine(self) -> Engine:
        """Give an engine on the same workspace under the same policy."""
        settings = Settings(Policy.model_validate(self.policy), self.plans, (), {}, ())
        return Engine(Workspace(Path(self.root), self.plans), settings, Rulebook(frozenset(self.without)))


@dataclass(frozen=True, slots=True)
class Keeper:
    """What runs one check to its recorded end.

    Attributes:
        engine: on the workspace.
        spec: which check.
        cancel: set to end the command.
        alone: whether this process is the check's own, and has one thread.
    """

    engine: Engine
    spec: Spec
    cancel: threading.Event
    alone: bool

    def keep(self) -> None:
        """Run the check and record it, however long others hold the lock (row observe.always-recorded)."""
        spec, engine = self.spec, self.engine
        found = engine.pending(spec.plan_id)
        if isinstance(found, Refused) or found[0].pending is None or found[0].pending.id != spec.check_id:
            return  # it was settled before it began
        document, pending = found[0], found[0].pending
        job = Job(
            space=engine.space,
            records=engine.records(document),
            document=document,
            pending=pending,
            environment=spec.environment,
            redactor=Redactor({name: spec.environment[name] for name in spec.secrets}),
            output=Path(spec.output),
            token=spec.token,
            alone=self.alone,
            cancel=self.cancel,
        )
        seen = observe(job)
        with suppress(BrokenWorld):  # it is for showing; what counts is recorded
            keep_tail(job.output, seen.tail)
        self._record(seen)

    def _record(self, seen: Seen) -> None:
        deadline_s = time.monotonic() + RECORD_S
        done = self._told(seen, deadline_s)
        if isinstance(done, Refused) and done.rule == "plan.bounded" and seen.passing:
            # Its cases do not fit: that is recorded instead of them.
            self._told(without_report(seen), deadline_s)

    def _told(self, seen: Seen, deadline_s: float) -> Done | Refused:
        ask = CheckEnd(check_id=self.spec.check_id, observation=seen.observation, passing=seen.passing)
        while True:
            is_late = time.monotonic() > deadline_s
            try:
                done = self.engine.ask(ask, Asked(_FLOW, plan_id=self.spec.plan_id))
            except BrokenWorld as error:
                # The lock is busy, or the document is away for a moment: stashed, or on another branch.
                if is_late:
                    raise
                time.sleep(0 if isinstance(error, Busy) else AGAIN_S)
            else:
                if isinstance(done, Done) or is_late or not (done.retryable or self._is_away()):
                    return done
                time.sleep(AGAIN_S)

    def _is_away(self) -> bool:
        """Say whether there is no document for the check just now."""
        return isinstance(self.engine.pending(self.spec.plan_id), Refused)


class Ticket(BaseModel):
    """What is written down of a check under way, for whoever must wait for it, or clean up after its runner."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    token: str
    began_at_s: float
    pid: int
    place: str


def ticket_path(folder: Path, plan_id: str, check_id: str) -> Path:
    """Name the ticket's file."""
    return folder / f"{plan_id}.{check_id}.ticket"


def new_ticket(token: str, private: Path) -> Ticket:
    """Write down this process, this moment, and the workspace, which may be copied with all of its tickets.

    Raises:
        BrokenWorld: where the private folder cannot be read.
    """
    return Ticket(token=token, began_at_s=time.time(), pid=os.getpid(), place=own_mark(private))


def read_ticket(folder: Path, plan_id: str, check_id: str) -> Ticket | None:
    """Give what is written down of a check under way; None where there is nothing, or nothing that can be read."""
    return opened_ticket(ticket_path(folder, plan_id, check_id))


def opened_ticket(path: Path) -> Ticket | None:
    """Read a ticket's file; None where it is none."""
    try:
        data = read_private(path, bytes_max=TICKET_BYTES_MAX)
        return None if data is None else Ticket.model_validate_json(data)
    except (BrokenWorld, ValueError):
        return None
