"""What commands do in a fabricated world, and what the runner would record of them."""

from dataclasses import dataclass, replace

from flow_mcp.domain.case_names import names_case
from flow_mcp.domain.model import (
    DeclaredCase,
    Ended,
    Ineligible,
    Observation,
    PendingCheck,
    ProofFacts,
    Report,
    Sandbox,
    Scope,
)
from flow_mcp.domain.plan import Plan, Platform


@dataclass(frozen=True)
class Result:
    """What a command does when it is observed; ``passing`` is the whole suite where it is absent."""

    code: int | None = 0
    passing: tuple[str, ...] | None = None
    failed: int = 0
    ended: Ended = "exited"
    complete: bool | None = True
    ineligible: Ineligible | None = None
    reason: str | None = None
    report: bool = True
    outcome: str = "failed"
    tests_changed: bool = True
    control: str | None = None
    approved: str | None = None
    host_success: bool | None = None
    contained: bool = True


GREEN = Result()
RED = Result(code=1, failed=1)
CRASHED = Result(code=2, reason="missing")
CANCELLED = Result(code=None, ended="cancelled", ineligible="cancelled", report=False)


@dataclass(frozen=True)
class Event:
    """One observation as the world saw it, apart from what the document says of it."""

    scope: Scope
    command: str
    platform: Platform
    source: str
    feature: str | None
    result: Result
    passing: frozenset[str]
    approved: str | None


def passing_of(plan: Plan, pending: PendingCheck, result: Result, suite: tuple[str, ...]) -> tuple[str, ...]:
    """Give the cases that a report of this command names as passed."""
    command = plan.command(pending.command)
    if command is None or command.report is None or not result.report or result.reason is not None:
        return ()
    return suite if result.passing is None else result.passing


def _report(plan: Plan, pending: PendingCheck, result: Result, passing: tuple[str, ...]) -> Report | None:
    command = plan.command(pending.command)
    if command is None or command.report is None or not result.report:
        return None
    named = [feature.proof.case for feature in plan.features if feature.proof and feature.proof.case]
    named += [case for entry in plan.external_evidence or () for case in entry.cases]
    cases = tuple(
        DeclaredCase(case=name, outcome="passed" if any(names_case(case, name) for case in passing) else "absent")
        for name in dict.fromkeys(named)
    )
    return Report(
        path=command.report, reason=result.reason, passed=len(passing), failed=result.failed, skipped=0, cases=cases
    )


def _proof(pending: PendingCheck, result: Result, approved: str | None) -> ProofFacts | None:
    if pending.scope != "proof" or approved is None or result.outcome == "untried":
        return None
    words = {"outcome": result.outcome, "tests_changed": result.tests_changed, "control": result.control}
    return ProofFacts.model_validate({"approved": result.approved or approved, **words})


def observation_of(
    plan: Plan, pending: PendingCheck, result: Result, passing: tuple[str, ...], approved: str | None
) -> Observation:
    """Make what the runner would record of a pending check; ``approved`` is the approved source."""
    return Observation(
        id="",
        scope=pending.scope,
        command=pending.command,
        attested_by="runner",
        ended=result.ended,
        exit_code=result.code,
        host_success=result.host_success,
        output_digest="sha256:output",
        output_bytes=6,
        complete=result.complete,
        platform=pending.platform,
        source=pending.source,
        report=_report(plan, pending, result, passing),
        sandbox=Sandbox(tier="bwrap", proven=("write",)) if result.contained else Sandbox(tier="none"),
        proof=_proof(pending, result, approved),
        ineligible=result.ineligible,
        started_revision=0,
        revision=0,
    )


def but(result: Result, **changes: object) -> Result:
    """Give a result with something else about it."""
    return replace(result, **changes)  # type: ignore[arg-type]
