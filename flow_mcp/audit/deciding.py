"""Whether a person decided what only a person may decide."""

from flow_mcp.audit.record import Record, Said


def approval_missing(record: Record) -> Said:
    """Say so where this plan was not approved before its work, by whom the policy asks."""
    given, runs = record.approval, record.document.runs
    if given is None or given.plan_digest != record.plan.digest():
        yield "no approval of this plan is in force"
    elif runs and record.document.approvals[0].revision > min(run.started_revision for run in runs):
        yield "work began before anyone approved"
    elif given.by == "caller" and given.policy.approve == "person":
        yield "the caller approved, and the policy asks for a person"


def narrowed_by_caller(record: Record) -> Said:
    """Name what a caller approved away."""
    given, plan = record.approval, record.plan
    if given is None or given.by == "person":
        return
    if plan.gate is not None and (plan.gate.no_report_because or plan.gate.narrowed_because):
        yield "a caller approved a gate that is narrowed or writes no report"
    if given.policy.caller_scope == "bounded":
        frozen = {line.partition(" ")[2] for line in record.lines.get(given.protected, ())}
        targets = {target for feature in plan.features for target in feature.targets}
        yield from (f"a caller approved giving up the case {one.case}" for one in plan.dropped_cases)
        yield from (f"a caller approved leaving the verifier {path} unfrozen" for path in given.unfrozen or ())
        yield from (f"a caller approved changing the verifier {path}" for path in sorted(frozen & targets))


def waiver_without_person(record: Record) -> Said:
    """Name what was waived by anyone but a person."""
    roles = {one.revision: one.actor.role for one in record.document.operations}
    for entry in record.document.allowances:
        if entry.channel == "caller" or roles.get(entry.revision, "person") != "person":
            yield f"{entry.kind} {entry.value} was waived by no person"


def waivers_untold(record: Record) -> Said:
    """Name what was waived and is not told by the closure."""
    closure = record.document.closure
    entries = [one for one in record.document.allowances if one.revision > record.since]
    for entry in entries:
        told = closure is not None and any(one.startswith(f"{entry.kind} {entry.value}: ") for one in closure.waivers)
        if closure is None or closure.kind == "completed" or not told:
            yield f"the closure does not tell that {entry.kind} {entry.value} was waived"
