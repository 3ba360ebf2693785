"""What final reviews ask of verifiers, proofs and other platforms."""

from collections.abc import Iterator

from flow_mcp.domain.cases import NOT_APART, case_outcome, case_passes, lines_of
from flow_mcp.domain.commands import Close
from flow_mcp.domain.decision import Objection, Step, call, person
from flow_mcp.domain.history import (
    active_run,
    allowances,
    approval,
    counted,
    floor,
    passes,
    passes_now,
    run_observations,
)
from flow_mcp.domain.model import Document, Observation, ProofFacts
from flow_mcp.domain.plan import ExternalEvidence, Feature, Plan
from flow_mcp.domain.rule import Question, rule
from flow_mcp.domain.rules.review import is_final, judged, observe, why_not
from flow_mcp.domain.rules.steps import reset


def _observed(question: Question, entry: ExternalEvidence) -> tuple[Observation, ...]:
    seen = [one for one in counted(question.document) if one.command == entry.command.run]
    return tuple(one for one in seen if entry.platform in {"any", one.platform})


def external_fault(question: Question, plan: Plan, entry: ExternalEvidence) -> str | None:
    """Say why an external entry is unmet: never run, wrong platform, failed since, moved source, or a case."""
    seen = _observed(question, entry)
    if not seen:
        elsewhere = any(one.command == entry.command.run for one in counted(question.document))
        return "was only seen on another platform" if elsewhere else "was never observed"
    last = seen[-1]
    if not passes(plan, last):
        earlier = any(passes(plan, one) for one in seen[:-1])
        return ("passed once and was revoked by a later failure: " if earlier else "did not pass: ") + why_not(last)
    if last.source != question.facts.digest:
        return "passed on another source than the current one"
    missing = [f"{case} ({case_outcome(last, case)})" for case in entry.cases if case_outcome(last, case) != "passed"]
    return f"did not show these cases passing: {'; '.join(missing[:5])}" if missing else None


@rule(
    "review.final-external",
    claim="Final review needs every external entry satisfied.",
    limits="The latest observation with the entry's bytes and platform passes, is current, and reports each named case "
    "passed. Feature reviews are never refused for it.",
)
def final_external(question: Question) -> Objection | None:
    """Object to a final review while an external entry is unmet (row review.final-external)."""
    asked = judged(question)
    if asked is None or not is_final(question):
        return None
    for entry in asked[0].external_evidence or ():
        fault = external_fault(question, asked[0], entry)
        if fault is not None:
            seen = f"External evidence for {entry.requirement!r} on {entry.platform} {fault}."
            return Objection(seen, _observe_there(question, entry), retryable=True)
    return None


def _observe_there(question: Question, entry: ExternalEvidence) -> Step:
    arguments = {"scope": "external", "command": entry.command.run, "requirement": entry.requirement}
    if entry.platform in {"any", question.facts.platform}:
        return call("validate", dict(arguments), (), "Observe it here, on current source.")
    say = (
        f"On a {entry.platform} machine, in a clone at this source: `flow-mcp call validate` with scope external and "
        f"requirement {entry.requirement!r}; commit the plan document there and merge it."
    )
    return person(say)


def frozen_files(question: Question) -> dict[str, frozenset[str]] | None:
    """Give the verifier files that were frozen, each with its digests; None when the list is lost.

    Inherited ones are among them: a file that an owed plan froze with other bytes has two digests, so that deferring
    and approving anew launders no change.
    """
    given, plan = approval(question.document), question.document.plan
    if given is None or plan is None:
        return {}
    lines = lines_of(question.document, question.facts.lines, given.protected)
    if lines is None:
        return None
    frozen: dict[str, frozenset[str]] = {}
    for line in (*lines, *(line for owed in plan.inherits for line in owed.protected)):
        digest, _, path = line.partition(" ")
        frozen[path] = frozen.get(path, frozenset()) | {digest}
    return frozen


def changed_verifiers(question: Question) -> tuple[str, ...] | None:
    """Name frozen files that changed or are gone, and new test configuration; None when the list is lost."""
    source, frozen = question.facts.source, frozen_files(question)
    if frozen is None or source is None:
        return None if frozen is None else ()
    changed = [path for path, digests in frozen.items() if digests != {source.protected.get(path)}]
    new = [path for path in source.test_configuration if path not in frozen] if frozen else []
    return tuple(sorted(path for path in {*changed, *new} if not _allowed(question, path)))


def _allowed(question: Question, path: str) -> bool:
    plan, source = question.document.plan, question.facts.source
    targets = () if plan is None else tuple(target for feature in plan.features for target in feature.targets)
    if path in targets:
        return True
    now = "" if source is None else source.protected.get(path, source.test_configuration.get(path, ""))
    return any(entry.value == path and (entry.digest or "") == now for entry in allowances(question.document, "path"))


@rule(
    "review.protected-kept",
    claim="No final review accepts changed verifiers.",
    limits="A frozen file changed or gone, or new test configuration in force for frozen tests, unless a literal path "
    "in an approved target names it or a person waived it with these bytes.",
)
def protected_kept(question: Question) -> Objection | None:
    """Object to a final review over changed verifiers (row review.protected-kept)."""
    if judged(question) is None or not is_final(question):
        return None
    changed = changed_verifiers(question)
    if changed is None:
        seen = "The list of frozen files that belongs to this plan is missing beside its document."
        say = "Restore the plan's sidecar files from git, or defer this plan."
        return Objection(seen, call("close", {"kind": "deferred"}, ("summary",), say), retryable=True)
    if not changed:
        return None
    seen = f"Frozen verifier files changed: {'; '.join(changed[:5])}."
    say = f"Restore {changed[0]} as it was approved, or a person waives it: `flow-mcp waive path {changed[0]}`."
    return Objection(seen, person(say), retryable=True)


def _proofs_seen(document: Document, feature: Feature) -> Iterator[Observation]:
    since = floor(document)
    for seen in run_observations(document):
        if seen.scope == "proof" and seen.feature_id == feature.id and seen.revision > since:
            yield seen


_CONTROLLED = {"ended", "passed-with-change"}


def _red_fault(question: Question, feature: Feature) -> str | None:
    """Say why the approved source was not seen failing without the change; None when it was."""
    given = approval(question.document)
    seen = [one for one in _proofs_seen(question.document, feature) if one.source == question.facts.digest]
    last = max(seen, key=lambda one: one.revision, default=None)
    if last is None or last.proof is None or given is None or last.proof.approved != given.source:
        return "was not tried on the approved source with today's test files"
    if given.source == question.facts.digest:
        return "was tried on the very source that it must differ from: nothing of the digest has changed"
    return _not_red(last, last.proof)


def _not_red(last: Observation, facts: ProofFacts) -> str | None:
    """Say why a proof run shows nothing; None where it failed as it must."""
    if last.ineligible in NOT_APART:
        return f"was not tried in a copy that stands apart ({last.ineligible})"
    if last.ended != "exited" or facts.outcome in {"usage", "missing-tool", "timed-out", "no-result"}:
        return f"ended there as {facts.outcome if last.ended == 'exited' else last.ended}, which shows nothing"
    if facts.outcome == "passed":
        return "passes without the change, so it does not show that the change matters"
    if facts.outcome == "uncollected" and not (facts.tests_changed and facts.control in _CONTROLLED):
        return "could not be collected there for another reason than a new or changed test file"
    return None


def _proof_fault(question: Question, plan: Plan, feature: Feature) -> tuple[str, Step] | None:
    proof, facts, document = feature.proof, question.facts, question.document
    if proof is None or proof.kind == "none" or proof.run is None:
        return None
    if any(entry.value == feature.id for entry in allowances(document, "proof")):
        return None
    if proof.kind == "case":
        green = case_passes(document, proof.run, proof.case or "", facts.platform, facts.digest)
    else:
        green = passes_now(document, proof.run, facts.platform, facts.digest)
    if not green:
        what = proof.run if proof.kind == "command" else f"case {proof.case}"
        return f"does not pass with the change: {what}", observe(question, proof.run, "Make it pass.")
    red = _red_fault(question, feature)
    return None if red is None else (red, _show(question, plan, feature, proof.run))


def _settled(question: Question, feature: Feature) -> bool:
    """Say whether another proof run on this source could show nothing else."""
    given, digest = approval(question.document), question.facts.digest
    if given is None or given.source == digest:
        return given is not None
    seen = [one for one in _proofs_seen(question.document, feature) if one.source == digest and one.proof is not None]
    last = seen[-1].proof if seen and seen[-1].ineligible is None and seen[-1].ended == "exited" else None
    return last is not None and last.approved == given.source and last.outcome != "timed-out"


def _show(question: Question, plan: Plan, feature: Feature, run: str) -> Step:
    if isinstance(question.ask, Close) and active_run(question.document) is None:
        return reset(plan.features[-1].id, "Show the proof again in a new run.")
    if _settled(question, feature):
        return person(
            "Running it again on this source shows the same. Change the source or its tests so that they fail without "
            f"the change, or a person waives it: `flow-mcp waive proof {feature.id}`."
        )
    say = (
        "Observe the proof: Flow runs it on the approved source with today's test files. Where no test can show the "
        f"change, a person waives it: `flow-mcp waive proof {feature.id}`."
    )
    return call("validate", {"scope": "proof", "command": run, "feature_id": feature.id}, (), say)


@rule(
    "review.proof-shown",
    claim="A feature that claims a proof shows it, at its own review and again at final.",
    limits="On the approved source with today's test files the check does not pass, on current source it does. A "
    "collection failure counts only through a new or changed test file. A person may waive one feature's proof.",
)
def proof_shown(question: Question) -> Objection | None:
    """Object to a review of a feature whose proof was not shown (row review.proof-shown)."""
    asked = judged(question)
    for feature in () if asked is None else asked[1]:
        fault = None if asked is None else _proof_fault(question, asked[0], feature)
        if fault is not None:
            return Objection(f"The proof of feature {feature.id!r} {fault[0]}.", fault[1], retryable=True)
    return None
