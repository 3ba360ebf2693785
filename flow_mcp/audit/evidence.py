"""Whether the commands that speak for a goal were seen to pass, there and then."""

from collections.abc import Iterator

from flow_mcp.audit.record import ELSEWHERE, Record, Said, readable, shows_cases
from flow_mcp.domain.model import Observation, ProofFacts
from flow_mcp.domain.plan import ExternalEvidence, Feature, Proof

_NEVER_RAN = frozenset({"cancelled", "runner-lost", "not-run"})
_NO_TOOL = frozenset({126, 127})


def gate_never_observed(record: Record) -> Said:
    """Say so where the gate never ran as the gate."""
    gate = record.plan.gate
    if gate is None or not any(one.scope == "broad" and one.command == gate.run for one in record.seen):
        yield "the gate was never observed"


def gate_not_passing(record: Record) -> Said:
    """Say so where the gate's last word is not a pass on the source that was judged."""
    gate = record.plan.gate
    broad = [one for one in record.seen if gate is not None and one.scope == "broad" and one.command == gate.run]
    if gate is None or not broad:
        return
    here = [one for one in broad if (one.source, one.platform) == (record.source, record.platform)]
    if not any(record.passes(one) for one in here) or not record.holds(gate.run):
        yield "the gate does not stand passed on the source that was judged"


def check_not_passing(record: Record) -> Said:
    """Name checks whose last word is not a pass on the source that was judged."""
    gate = record.plan.gate
    for run in record.listed():
        if (gate is None or run != gate.run) and not record.holds(run):
            yield f"{run!r} does not stand passed on the source that was judged"


def failure_stands(record: Record) -> Said:
    """Name checks that failed somewhere and were not seen passing here after it."""
    of_runs = {one.id for run in record.document.runs for one in run.observations}
    for run in record.listed():
        every = [one for one in record.seen if one.command == run]
        good = [one.revision for one in every if one.platform == record.platform and record.passes(one)]
        bad = [one for one in every if one.id in of_runs and not record.passes(one)]
        if good and bad and bad[-1].revision > good[-1] and bad[-1].platform != record.platform:
            yield f"{run!r} failed on {bad[-1].platform} and was not seen passing after that"


def _of_entry(record: Record, entry: ExternalEvidence) -> list[Observation]:
    return [one for one in record.seen if one.command == entry.command.run and entry.platform in {"any", one.platform}]


def external_unmet(record: Record) -> Said:
    """Name external entries that were never shown, or not with their cases, or on another source."""
    for entry in record.plan.external_evidence or ():
        seen = _of_entry(record, entry)
        last = seen[-1] if seen else None
        if last is None or not any(record.passes(one) for one in seen):
            yield f"{entry.requirement} on {entry.platform} was never shown"
        elif record.passes(last):
            named = {} if last.report is None else {case.case: case.outcome for case in last.report.cases}
            if last.source != record.source or any(named.get(case) != "passed" for case in entry.cases):
                yield f"{entry.requirement} on {entry.platform} was not shown with its cases on this source"


def external_revoked(record: Record) -> Said:
    """Name external entries that failed after they had passed."""
    for entry in record.plan.external_evidence or ():
        seen = _of_entry(record, entry)
        if seen and not record.passes(seen[-1]) and any(record.passes(one) for one in seen):
            yield f"{entry.requirement} on {entry.platform} failed after it had passed"


def baseline_missing(record: Record) -> Said:
    """Say so where the gate was not seen on the approved source, or only before it could report any case."""
    gate = record.plan.gate
    of_gate = [one for one in record.seen if gate is not None and one.command == gate.run]
    here = [one for one in of_gate if one.platform == record.platform]
    later = [one for one in here if one.scope in {"focused", "broad"}]
    with_cases = min((one.revision for one in later if shows_cases(one)), default=None)
    taken = [one for one in here if one.scope == "baseline" and _counts(one, later)]
    if not taken:
        yield "the gate was not observed on the approved source"
    elif with_cases is not None and not any(_has_kept(one) or one.revision > with_cases for one in taken):
        yield "the gate was observed on the approved source only before it reported any case"


def _counts(baseline: Observation, later: list[Observation]) -> bool:
    """Say whether a baseline tells of the source; one without its tool does where it is newer than the tool."""
    if baseline.ended in _NEVER_RAN:
        return False
    there = [one.revision for one in later if one.ended == "exited" and one.exit_code not in _NO_TOOL]
    return baseline.exit_code not in _NO_TOOL or not there or baseline.revision > min(there)


def _has_kept(baseline: Observation) -> bool:
    return shows_cases(baseline) and baseline.ineligible not in ELSEWHERE


def proof_missing(record: Record) -> Said:
    """Name features whose proof does not pass with the change, or was not seen failing without it."""
    for feature in record.plan.features:
        proof = feature.proof
        if proof is None:
            yield f"feature {feature.id} does not say how it is proved"
        elif proof.kind != "none" and feature.id not in record.waived("proof"):
            if not _green(record, proof):
                yield f"the proof of feature {feature.id} does not pass on the source that was judged"
            elif not any(_red(record, facts) for facts in _latest_proof(record, feature)):
                yield f"the proof of feature {feature.id} was not seen failing without the change"


def _green(record: Record, proof: Proof) -> bool:
    run = proof.run or ""
    if proof.kind == "command":
        return record.holds(run)
    one = record.last(run, record.platform)
    if one is None or one.source != record.source or one.ineligible is not None or not readable(one):
        return False
    return one.report is not None and any(
        each.case == proof.case and each.outcome == "passed" for each in one.report.cases
    )


def _latest_proof(record: Record, feature: Feature) -> Iterator[ProofFacts]:
    """Give what the latest proof run of a feature on the judged source showed, where it showed anything."""
    runs = [one for one in record.everything if one.scope == "proof" and one.feature_id == feature.id]
    here = [one for one in runs if one.source == record.source]
    if here and here[-1].proof is not None and here[-1].ended == "exited" and here[-1].ineligible not in ELSEWHERE:
        yield here[-1].proof


def _red(record: Record, facts: ProofFacts) -> bool:
    given = record.approval
    if given is None or facts.approved != given.source or given.source == record.source:
        return False
    new_test = facts.tests_changed and facts.control in {"ended", "passed-with-change"}
    return facts.outcome == "failed" or (facts.outcome == "uncollected" and new_test)
