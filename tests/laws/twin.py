"""A dumb twin of the kernel: it judges a completed goal by what the world saw, and shares no rule with it."""

from collections.abc import Iterator

from flow_mcp.domain.model import Allowance, Document, Run
from flow_mcp.domain.plan import Feature
from flow_mcp.domain.policy import loosened
from tests.fabricated import Event
from tests.simulator import World


def lies(world: World) -> list[str]:
    """Say what a goal that was closed as completed just now claims without ground."""
    closure = world.document.closure
    if closure is None or not closure.kind.startswith("completed"):
        return []
    found = [*_runs(world), *_evidence(world), *_proofs(world), *_cases(world), *_verifiers(world), *_waivers(world)]
    if closure.source != world.source:
        found.append("it is closed on another source")
    if world.document.pending is not None:
        found.append("a check is pending")
    if world.outward or any(one.present for one in world.hidden):
        found.append("it rests on what no digest covers")
    if loosened(world.document.approvals[-1].policy, world.policy):
        found.append("the policy is looser than the approved one")
    return found


def _runs(world: World) -> Iterator[str]:
    finals = []
    for feature in world.plan.features:
        runs = [run for run in world.document.runs if run.feature_id == feature.id and run.state != "superseded"]
        good = [run for run in runs if run.state == "passed" and _judged(run)]
        if len(runs) != 1 or len(good) != 1:
            yield f"{feature.id} has no passed run"
        finals += [run.review.source for run in good if run.review is not None and run.review.kind == "final"]
    if world.source not in finals:
        yield "no final review saw this source"


def _judged(run: Run) -> bool:
    result = None if run.review is None else run.review.result
    if run.review is None or result is None:
        return False
    clean = not any(finding.severity == "blocking" for finding in result.findings)
    known = result.reviewer.by == "person" or result.reviewer.name in {"reviewer", "flow-reviewer"}
    return result.verdict == "passed" and result.source == run.review.source and clean and known


def _passes(event: Event) -> bool:
    result = event.result
    ended = result.code == 0 or (result.code is None and result.host_success is True)
    whole = result.complete is True and result.ineligible is None
    return ended and whole and result.reason is None and result.failed == 0 and event.passing != frozenset()


def _last(world: World, command: str, platform: str) -> Event | None:
    """Give the last event of these bytes on a platform, or on any."""
    wanted = [one for one in world.events if one.command == command and one.scope != "proof"]
    found = [one for one in wanted if platform in {"any", one.platform}]
    return found[-1] if found else None


def _evidence(world: World) -> Iterator[str]:
    for run in {world.gate, *(check.run for feature in world.plan.features for check in feature.checks)}:
        last = _last(world, run, world.platform)
        if last is None or not _passes(last) or last.source != world.source:
            yield f"{run} does not pass"
    broad = [one for one in world.events if one.scope == "broad" and one.source == world.source and _passes(one)]
    if not any(one.platform == world.platform for one in broad):
        yield "the gate was not seen broad"
    for entry in world.plan.external_evidence or ():
        last = _last(world, entry.command.run, entry.platform)
        if last is None or not _passes(last) or last.source != world.source:
            yield f"external evidence on {entry.platform} is missing"
        elif not all(any(case.endswith(name) for case in last.passing) for name in entry.cases):
            yield f"external evidence on {entry.platform} lacks a case"


def _proofs(world: World) -> Iterator[str]:
    waived = {entry.value for entry in _since(world.document) if entry.kind == "proof"}
    for feature in world.plan.features:
        claims = feature.proof is not None and feature.proof.kind != "none"
        if claims and feature.id not in waived and not _shown(world, feature):
            yield f"the proof of {feature.id} is missing"


def _shown(world: World, feature: Feature) -> bool:
    here = (feature.id, world.source, world.document.approvals[-1].source)
    seen = [one for one in world.events if one.scope == "proof" and (one.feature, one.source, one.approved) == here]
    last = seen[-1].result if seen else None
    if last is None or last.ended != "exited" or last.ineligible in {"source-drift", "path-dependent"}:
        return False
    uncollected = last.outcome == "uncollected" and last.tests_changed and last.control == "ended"
    return last.outcome == "failed" or uncollected


def _cases(world: World) -> Iterator[str]:
    taken = [one for one in world.events if one.scope == "baseline" and one.platform == world.platform]
    ended = [one for one in taken if one.result.ended not in {"cancelled", "runner-lost", "not-run"}]
    if not ended:
        yield "no baseline was taken"
    apart = [one for one in ended if one.result.ineligible not in {"source-drift", "path-dependent"}]
    waived = {entry.value for entry in _since(world.document) if entry.kind == "case"}
    dropped = tuple(entry.case for entry in world.plan.dropped_cases)
    needed = {(world.gate, case) for one in apart for case in one.passing}
    for kept in (kept for entry in world.plan.inherits for kept in entry.kept if kept.platform == world.platform):
        listed = {check.run for feature in world.plan.features for check in feature.checks}
        needed |= {(kept.run if kept.run in listed else world.gate, case) for case in world.lines[kept.listing]}
    for run, case in needed:
        last = _last(world, run, world.platform)
        gone = last is None or case not in last.passing
        if gone and case not in waived and not case.endswith(dropped):
            yield f"{case} is lost in {run}"


def _verifiers(world: World) -> Iterator[str]:
    targets = {target for feature in world.plan.features for target in feature.targets}
    waived = {(entry.value, entry.digest) for entry in _since(world.document) if entry.kind == "path"}
    frozen = set(world.frozen.items())
    for entry in world.plan.inherits:
        frozen |= {(line.partition(" ")[2], line.partition(" ")[0]) for line in entry.protected}
    now = {**world.configuration, **world.protected}
    frozen |= {(path, "") for path in world.configuration if world.frozen and path not in world.frozen}
    for path, digest in frozen:
        if now.get(path) != digest and path not in targets and (path, now.get(path)) not in waived:
            yield f"{path} is not as it was frozen"


def _since(document: Document) -> Iterator[Allowance]:
    floor = max((reseal.revision for reseal in document.reseals), default=0)
    return iter([entry for entry in document.allowances if entry.revision > floor])


def _waivers(world: World) -> Iterator[str]:
    closure = world.document.closure
    count = len(list(_since(world.document)))
    if closure is not None and (closure.kind == "completed-with-waivers") != (count > 0):
        yield "waivers are not told"
    if closure is not None and len(closure.waivers) != count:
        yield "waivers are missing from the closure"
