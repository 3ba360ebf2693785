"""The plan of a goal: what will change, which commands speak for it, what is frozen at approval.

Fields that a plan must answer are optional here, so that the rule can say which question is open.
"""

from typing import Literal

from pydantic import Field

from flow_mcp.domain.base import Closed, Line, Text
from flow_mcp.domain.digest import digest_json

Network = Literal["deny", "host"]
Platform = Literal["linux", "darwin", "win32", "other"]
WantedPlatform = Literal["linux", "darwin", "win32", "any"]

TIMEOUT_DEFAULT_S = 900


class Command(Closed):
    """One command that Flow may run: its bytes, its JUnit report, its limits."""

    run: Line
    report: Line | None = None
    timeout_s: int = TIMEOUT_DEFAULT_S
    network: Network = "deny"


class Gate(Command):
    """The one command that speaks for the whole goal."""

    no_report_because: Text | None = None
    narrowed_because: Text | None = None

    def as_command(self) -> Command:
        """Give the part that every other command has too."""
        return Command(run=self.run, report=self.report, timeout_s=self.timeout_s, network=self.network)


class Proof(Closed):
    """How a feature shows that its change matters: a case, a command, or none with a reason."""

    kind: Literal["case", "command", "none"]
    run: Line | None = None
    case: Line | None = None
    because: Text | None = None


class Feature(Closed):
    """One step of the plan: what it may change and which checks it must pass."""

    id: Line
    title: Line
    summary: Text | None = None
    targets: tuple[Line, ...] = ()
    checks: tuple[Command, ...] = ()
    depends_on: tuple[Line, ...] = ()
    proof: Proof | None = None


class Requirement(Closed):
    """One thing the goal asks for, by id."""

    id: Line
    text: Text


class ExternalEvidence(Closed):
    """A command that must pass on a named platform, with named cases."""

    requirement: Line
    command: Command
    platform: WantedPlatform
    cases: tuple[Line, ...]


class DroppedCase(Closed):
    """A test case that this plan gives up, with the reason that a person approves."""

    case: Line
    because: Text


class Finding(Closed):
    """What a reviewer found. The id is given by Flow: ``<feature>.R<revision>-NN``."""

    id: Line
    severity: Literal["blocking", "advisory"]
    summary: Text
    evidence: Text | None = None
    scope_blocker: bool = False


class KeptCases(Closed):
    """Cases that passed before, by command and platform; ``listing`` names the list by digest."""

    run: Line
    platform: Platform
    listing: Line


class Inherited(Closed):
    """What a deferred or abandoned plan still owes, taken over by this one."""

    plan_id: Line
    plan_digest: Line
    kept: tuple[KeptCases, ...]
    protected: tuple[Line, ...]
    findings: tuple[Finding, ...]


class Plan(Closed):
    """The graph of features of one goal, with everything that is decided before work starts."""

    summary: Text
    requirements: tuple[Requirement, ...] = ()
    decisions: tuple[Text, ...] = ()
    features: tuple[Feature, ...]
    gate: Gate | None = None
    external_evidence: tuple[ExternalEvidence, ...] | None = None
    protected: tuple[Line, ...] | None = None
    inputs: tuple[Line, ...] = ()
    artifacts: tuple[Line, ...] = ()
    dropped_cases: tuple[DroppedCase, ...] = ()
    continues: Line | None = None
    inherits: tuple[Inherited, ...] = Field(default=())

    def digest(self) -> str:
        """Name this exact plan."""
        return digest_json(self.as_json())

    def feature(self, feature_id: str) -> Feature | None:
        """Find a feature by its id."""
        return next((feature for feature in self.features if feature.id == feature_id), None)

    def commands(self) -> tuple[Command, ...]:
        """List every command that Flow may run for this plan, the gate first, duplicates included."""
        gate = () if self.gate is None else (self.gate.as_command(),)
        checks = tuple(check for feature in self.features for check in feature.checks)
        return gate + checks + tuple(entry.command for entry in self.external_evidence or ())

    def command(self, run: str) -> Command | None:
        """Find the listed command with exactly these bytes."""
        return next((command for command in self.commands() if command.run == run), None)
