"""What each tool takes: closed, flat, and without any field through which a caller could report a fact itself."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from flow_mcp.domain.base import Line, Text
from flow_mcp.domain.model import Scope
from flow_mcp.domain.plan import (
    TIMEOUT_DEFAULT_S,
    Command,
    DroppedCase,
    ExternalEvidence,
    Feature,
    Gate,
    Network,
    Plan,
    Proof,
    Requirement,
    WantedPlatform,
)

WAIT_MAX_S = 45

# Not a pattern in the schema: a model pays for each of those in every session.
_OPERATION_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")


class _In(BaseModel):
    """A closed part of a request."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Request(_In):
    """What every request may say beside its own fields."""

    plan_id: Line | None = None


def _operation_id(value: str) -> str:
    if not _OPERATION_ID.fullmatch(value):
        message = (
            "an operation id has 1 to 128 letters, digits, '.', '_', ':' and '-', and begins with a letter or digit"
        )
        raise ValueError(message)
    return value


class Mutation(Request):
    """What every mutation may say beside its own fields."""

    operation_id: Annotated[str, AfterValidator(_operation_id)] | None = None
    expected_revision: int | None = None


class CommandIn(_In):
    """A command in full."""

    run: Line
    report: Line | None = None
    timeout_s: int | None = None
    network: Network | None = None

    def as_command(self) -> Command:
        """Give the plan's command."""
        return Command(
            run=self.run,
            report=self.report,
            timeout_s=TIMEOUT_DEFAULT_S if self.timeout_s is None else self.timeout_s,
            network=self.network or "deny",
        )


class GateIn(CommandIn):
    """The gate."""

    no_report_because: Text | None = None
    narrowed_because: Text | None = None

    def as_gate(self) -> Gate:
        """Give the plan's gate."""
        command = self.as_command()
        return Gate(
            run=command.run,
            report=command.report,
            timeout_s=command.timeout_s,
            network=command.network,
            no_report_because=self.no_report_because,
            narrowed_because=self.narrowed_because,
        )


class ProofIn(_In):
    """How a feature shows that its change matters."""

    kind: Literal["case", "command", "none"]
    run: Line | None = None
    case: Line | None = None
    because: Text | None = None


class FeatureIn(_In):
    """One feature."""

    id: Line
    title: Line
    summary: Text | None = None
    targets: list[Line] = Field(description="paths or globs it may change")
    checks: list[Line | CommandIn] | None = None
    depends_on: list[Line] | None = None
    proof: ProofIn | None = Field(
        None, description="run: one of its checks or the gate, exactly; case: a test name in that run's report"
    )


class RequirementIn(_In):
    """One requirement."""

    id: Line
    text: Text


class ExternalIn(_In):
    """A command that must pass on a platform."""

    requirement: Line
    command: Line | CommandIn
    platform: WantedPlatform
    cases: list[Line]


class DroppedIn(_In):
    """A test case that the plan gives up."""

    case: Line
    because: Text


class PlanIn(_In):
    """A plan as a model writes it."""

    summary: Text
    requirements: list[RequirementIn] | None = None
    decisions: list[Text] | None = None
    features: list[FeatureIn]
    gate: GateIn | None = Field(None, description="the whole suite; report: JUnit file below .flow/reports/")
    external_evidence: list[ExternalIn] | None = Field(
        None, description="required; [] if none; cases: test names, may be []"
    )
    protected: list[Line] | None = Field(None, description="verifier files to freeze; default: tests and their config")
    inputs: list[Line] | None = Field(
        None, description="ignored folders that exist and commands read (.venv, node_modules)"
    )
    artifacts: list[Line] | None = None
    dropped_cases: list[DroppedIn] | None = None
    continues: Line | None = None

    def as_plan(self) -> Plan:
        """Give the plan; a check written as a bare string is the command of these bytes that is written in full."""
        full = self._full()
        features = tuple(
            Feature(
                id=feature.id,
                title=feature.title,
                summary=feature.summary,
                targets=tuple(feature.targets),
                checks=tuple(_command(check, full) for check in feature.checks or ()),
                depends_on=tuple(feature.depends_on or ()),
                proof=None if feature.proof is None else Proof(**feature.proof.model_dump()),
            )
            for feature in self.features
        )
        return Plan(
            summary=self.summary,
            requirements=tuple(Requirement(id=entry.id, text=entry.text) for entry in self.requirements or ()),
            decisions=tuple(self.decisions or ()),
            features=features,
            gate=None if self.gate is None else self.gate.as_gate(),
            external_evidence=None if self.external_evidence is None else self._external(full),
            protected=None if self.protected is None else tuple(self.protected),
            inputs=tuple(self.inputs or ()),
            artifacts=tuple(self.artifacts or ()),
            dropped_cases=tuple(DroppedCase(case=one.case, because=one.because) for one in self.dropped_cases or ()),
            continues=self.continues,
        )

    def _full(self) -> dict[str, Command]:
        written = [check for feature in self.features for check in feature.checks or ()]
        written += [entry.command for entry in self.external_evidence or ()]
        found = {} if self.gate is None else {self.gate.run: self.gate.as_command()}
        for command in written:
            if isinstance(command, CommandIn):
                found.setdefault(command.run, command.as_command())
        return found

    def _external(self, full: dict[str, Command]) -> tuple[ExternalEvidence, ...]:
        return tuple(
            ExternalEvidence(
                requirement=entry.requirement,
                command=_command(entry.command, full),
                platform=entry.platform,
                cases=tuple(entry.cases),
            )
            for entry in self.external_evidence or ()
        )


def _command(given: str | CommandIn, full: dict[str, Command]) -> Command:
    if isinstance(given, CommandIn):
        return given.as_command()
    return full.get(given, Command(run=given))


class Status(Request):
    """Ask where the goal is."""

    view: Literal["next", "plan", "run", "review", "evidence", "full"] = "next"
    check_source: bool = Field(default=True, description="look at the source too")
    path: Line | None = Field(default=None, description="view review: one file's whole difference, from offset on")
    offset: int | None = None


class PlanSave(Mutation):
    """Save the draft."""

    goal: Text = Field(description="the person's goal, verbatim")
    plan: PlanIn


class PlanApprove(Mutation):
    """Ask for approval."""


class RunStart(Mutation):
    """Start a feature."""

    feature_id: Line | None = None


class Validate(Mutation):
    """Observe a listed command, or wait for a check."""

    scope: Scope | None = None
    command: Line | None = Field(None, description="default: the gate, or the focused check")
    feature_id: Line | None = Field(None, description="for scope proof")
    requirement: Line | None = Field(None, description="for scope external")
    via: Literal["runner", "host"] = "runner"
    check_id: Line | None = Field(None, description="a check that runs: wait for it")
    wait_s: int | None = Field(None, ge=0, le=WAIT_MAX_S)
    cancel: bool = Field(default=False, description="with check_id: end it")


class ReviewStart(Mutation):
    """Create the assignment."""

    summary: Text
    risks: list[Text] | None = None


class FindingIn(_In):
    """A finding."""

    severity: Literal["blocking", "advisory"]
    summary: Text
    evidence: Text | None = None
    finding_id: Line | None = Field(None, description="of a prior finding, to repeat it")
    scope_blocker: bool = Field(default=False, description="only a person or a new plan can answer it")


class ReviewSubmit(Mutation):
    """Hand in a verdict."""

    assignment_id: Line
    verdict: Literal["passed", "failed"]
    summary: Text
    findings: list[FindingIn] | None = None


class RunReset(Mutation):
    """Supersede a run."""

    feature_id: Line
    reason: Text
    next_feature_id: Line | None = Field(None, description="start this one at once")


class Close(Mutation):
    """End the goal."""

    kind: Literal["completed", "accepted", "deferred", "abandoned"]
    summary: Text
