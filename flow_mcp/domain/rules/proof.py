"""What final reviews ask of verifiers, proofs and other platforms."""

import shlex
from collections.abc import Iterator

from flow_mcp.domain.cases import case_outcome, case_passes, lines_of
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
    runs_of,
)
from flow_mcp.domain.model import Document, Observation
from flow_mcp.domain.plan import ExternalEvidence, Feature, Plan
from flow_mcp.domain.rule import Question, rule
from flow_mcp.domain.rules.review import again, is_final, judged, observe, why_not
from flow_mcp.domain.rules.steps import reset
from flow_mcp.domain.spoken import DEFER, doubts, not_shown, unseen_end


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
        say = "Observe it here, on current source."
        say += doubts(question.document, question.facts.platform, entry.command.run)
        return call("validate", dict(arguments), (), say)
    observing = f"flow-mcp observe {shlex.quote(entry.requirement)}"
    say = (
        f"On a {entry.platform} machine, in a clone at this source: `{observing}`; "
        "commit the plan document there and merge it here. Where there is no such machine, a person takes the goal as "
        f"it is (`flow-mcp accept --because …`), or {DEFER} that asks for what can be seen."
    )
    return person(say + doubts(question.document, entry.platform, entry.command.run))


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
    limits="A frozen file whose bytes changed or that is gone, or new test configuration in force for frozen tests, "
    "unless a literal path in an approved target names it or a person waived it with these bytes. Whether a file can "
    "be executed is no part of its bytes: a change of that alone moves the source and is shown to the reviewer.",
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
    return Objection(seen, person(restoring(changed[0])), retryable=True)


def restoring(path: str) -> str:
    """Name the ways out for a frozen file that is not as it was approved."""
    return (
        f"Restore {path} as it was approved. Where the change is meant, a person waives it "
        f'(`flow-mcp waive path {path}`), or this plan is deferred (close with {{"kind": "deferred"}}) and the next '
        f"one names {path} among its targets, letter by letter."
    )


def _proofs_seen(document: Document, feature: Feature) -> Iterator[Observation]:
    since = floor(document)
    for seen in run_observations(document):
        if seen.scope == "proof" and seen.feature_id == feature.id and seen.revision > since:
            yield seen


def _tried(question: Question, feature: Feature) -> Observation | None:
    """Give the latest proof run of a feature on current source, against the source that is approved now."""
    given = approval(question.document)
    seen = [one for one in _proofs_seen(question.document, feature) if one.source == question.facts.digest]
    last = max(seen, key=lambda one: one.revision, default=None)
    asked = last is not None and given is not None and last.proof is not None and last.proof.approved == given.source
    return last if asked else None


def _red_fault(question: Question, feature: Feature) -> str | None:
    """Say why the approved source was not seen failing without the change; None when it was."""
    given, last = approval(question.document), _tried(question, feature)
    if last is None or given is None:
        return "was not tried on the approved source with today's test files"
    if given.source == question.facts.digest:
        return "was tried on the very source that it must differ from: nothing of the digest has changed"
    return not_shown(last)


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
        say = again(question, proof.run) or "Make it pass."
        return f"does not pass with the change: {what}", observe(question, proof.run, say)
    red = _red_fault(question, feature)
    return None if red is None else (red, _show(question, plan, feature, proof.run))


def _settled(last: Observation) -> bool:
    """Say whether another proof run on this source could show nothing else."""
    facts = last.proof
    return facts is not None and last.ineligible is None and last.ended == "exited" and facts.outcome != "timed-out"


def _untouched(question: Question, feature: Feature) -> bool:
    """Say whether nothing changed yet: neither since the approval nor since the feature's first run began."""
    given, runs = approval(question.document), runs_of(question.document, feature.id)
    starts = {run.started_source for run in runs[:1]} | ({given.source} if given is not None else set())
    return question.facts.digest in starts


def _show(question: Question, plan: Plan, feature: Feature, run: str) -> Step:
    if isinstance(question.ask, Close) and active_run(question.document) is None:
        return reset(plan.features[-1].id, "Show the proof again in a new run.")
    last = _tried(question, feature)
    if last is not None and _settled(last):
        return person(_elsewise(question, last, feature))
    say = _show_words(question, feature, last)
    return call("validate", {"scope": "proof", "command": run, "feature_id": feature.id}, (), say)


def _show_words(question: Question, feature: Feature, last: Observation | None) -> str:
    """Say what to do for a proof; a waiver is named only where the proof was seen to show nothing here."""
    waiver = f"a person waives it: `flow-mcp waive proof {feature.id}`."
    if _untouched(question, feature):
        say = f"Do the work on {feature.id}, then observe the proof."
        return say if last is None else f"{say} Where nothing has to change, {waiver}"
    if last is None:
        return "Observe the proof: Flow runs it on the approved source with today's test files."
    return unseen_end(last) or f"Observe it again. Where it can show nothing, {waiver}"


def _elsewise(question: Question, last: Observation, feature: Feature) -> str:
    """Say what helps where the same proof on the same source would show the same."""
    waiver = f"a person waives it: `flow-mcp waive proof {feature.id}`."
    if _untouched(question, feature):
        return (
            f"Do the work on {feature.id}, then observe the proof: nothing has changed yet, and running it again on "
            f"this source shows the same. Where the work was there before, {waiver} Or {DEFER}, with "
            f'{{"kind": "none", "because": "…"}} as the proof of {feature.id}.'
        )
    if last.proof is not None and last.proof.outcome in {"usage", "missing-tool"}:
        return (
            "Running it again on this source shows the same. If it names a file that is no test file, or the command "
            f"or the plan's inputs are wrong, {DEFER} (with the file in protected); or {waiver}"
        )
    return (
        "Running it again on this source shows the same. Change the source or its tests so that they fail without the "
        f"change, or {waiver} Or {DEFER}, with another proof for {feature.id}, or none and why."
    )


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
