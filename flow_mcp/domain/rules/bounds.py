"""How large a plan and its document may grow."""

from collections.abc import Iterator

from pydantic import BaseModel

from flow_mcp.domain.commands import CheckStart, Close, PlanSave, ReviewStart, ReviewSubmit, RunReset, RunStart
from flow_mcp.domain.decision import Objection, Step, call, person
from flow_mcp.domain.digest import canonical
from flow_mcp.domain.history import active_run
from flow_mcp.domain.plan import Plan
from flow_mcp.domain.rule import Question, rule
from flow_mcp.domain.rules.steps import defer, reset, save_again, submit, together

FEATURES_MAX = 64
PLAN_BYTES_MAX = 256 * 1024
TEXT_BYTES_MAX = 32 * 1024
RUNS_MAX = 512
OBSERVATIONS_MAX = 128
PLAN_OBSERVATIONS_MAX = 256
FINDINGS_MAX = 100
CASES_MAX = 32
TIMEOUT_MAX_S = 14_400


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _texts(getattr(value, name))
    elif isinstance(value, tuple):
        for inner in value:
            yield from _texts(inner)


def _over(what: str, seen: int, limit: int, unit: str) -> str:
    return f"{what}: {seen} {unit}, and {limit} are allowed."


def _commands_over(plan: Plan) -> Iterator[str]:
    for command in plan.commands():
        if not 1 <= command.timeout_s <= TIMEOUT_MAX_S:
            yield f"timeout_s of {command.run!r} is {command.timeout_s}; 1 to {TIMEOUT_MAX_S} seconds are allowed."
    for entry in plan.external_evidence or ():
        if len(entry.cases) > CASES_MAX:
            yield _over(f"cases of external evidence for {entry.requirement}", len(entry.cases), CASES_MAX, "cases")


def _paths_over(plan: Plan) -> Iterator[tuple[str, str]]:
    """Give each path that is no plain one inside the workspace: what is wrong with it, and how it is written."""
    targets = [target for feature in plan.features for target in feature.targets]
    # A leading "/" anchors a glob; a target without a wildcard is one path anyway.
    globs = [glob.removeprefix("/") for glob in (*(plan.protected or ()), *plan.inputs, *plan.artifacts)]
    for path in (*targets, *globs):
        if not path or path.startswith(("/", "~")) or ".." in path.split("/") or "\\" in path:
            fault = f"{path!r} is not a path or glob inside the workspace (relative, with forward slashes)."
            yield fault, "Write the path as seen from the workspace's top, such as 'src/app.py'."
        elif path != _plain(path):
            yield f"{path!r} is spelled round about: write it as {_plain(path)!r}.", f"Write it as {_plain(path)!r}."


def _plain(path: str) -> str:
    """Spell a path without steps that lead nowhere; what is left of the top itself is everything in it."""
    parts = [part for part in path.split("/") if part not in {"", "."}]
    return "/".join(parts) + ("/" if parts and path.endswith("/") else "") or "**"


def _plan_over(plan: Plan) -> Iterator[tuple[str, str]]:
    """Give each bound that a plan goes over, and what helps."""
    say = "Save a plan within the limit; a goal that needs more is two goals, one after the other."
    yield from ((fault, say) for fault in _sizes_over(plan))
    yield from ((fault, "Write a number within the limit.") for fault in _commands_over(plan))
    yield from _paths_over(plan)


def _sizes_over(plan: Plan) -> Iterator[str]:
    if not 1 <= len(plan.features) <= FEATURES_MAX:
        yield f"A plan has 1 to {FEATURES_MAX} features; this one has {len(plan.features)}."
    size = len(canonical(plan.as_json()))
    if size > PLAN_BYTES_MAX:
        yield _over("The plan is too large", size, PLAN_BYTES_MAX, "bytes")


def _of_plan(ask: CheckStart) -> bool:
    return ask.scope in {"baseline", "external"}


def _state_over(question: Question) -> Iterator[tuple[str, Step]]:
    document, ask = question.document, question.ask
    starts = isinstance(ask, RunStart) or (isinstance(ask, RunReset) and ask.next_feature_id is not None)
    if starts and len(document.runs) >= RUNS_MAX:
        say = "This plan has no room for another run: defer it and plan what is left."
        yield _over("Runs of this plan", len(document.runs) + 1, RUNS_MAX, "runs"), defer(say)
    run = active_run(document)
    if isinstance(ask, CheckStart) and not _of_plan(ask) and run and len(run.observations) >= OBSERVATIONS_MAX:
        fault = _over("Observations of this run", len(run.observations) + 1, OBSERVATIONS_MAX, "observations")
        yield fault, reset(run.feature_id, "Reset the run; the next attempt has room.")
    seen = len(document.baselines) + len(document.externals)
    if isinstance(ask, CheckStart) and _of_plan(ask) and seen >= PLAN_OBSERVATIONS_MAX:
        fault = _over("Baseline and external observations", seen + 1, PLAN_OBSERVATIONS_MAX, "observations")
        yield fault, defer("This plan has no room for another one: defer it and plan what is left.")
    if isinstance(ask, ReviewSubmit) and len(ask.findings) > FINDINGS_MAX and _names_new(ask):
        fault = _over("Findings of one review", len(ask.findings), FINDINGS_MAX, "findings")
        yield fault, submit(document, ("verdict", "summary", "findings"), "Join findings, or only repeat live ones.")


def _names_new(ask: ReviewSubmit) -> bool:
    """Say whether a review brings findings of its own: one that only repeats what others left is never too long."""
    return any(finding.finding_id is None for finding in ask.findings)


def _faults(question: Question) -> Iterator[tuple[str, Step]]:
    for text in _texts(question.ask):
        size = len(text.encode())
        if size > TEXT_BYTES_MAX:
            yield _over(f"A text that begins {text[:40]!r}", size, TEXT_BYTES_MAX, "bytes"), _shorter(question)
    if isinstance(question.ask, PlanSave):
        yield from ((fault, save_again(say)) for fault, say in _plan_over(question.ask.plan))
    yield from _state_over(question)


def _shorter(question: Question) -> Step:
    ask, say = question.ask, "Send it again with a shorter text."
    if isinstance(ask, PlanSave):
        return save_again(say)
    if isinstance(ask, ReviewStart):
        return call("review_start", {}, ("summary", "risks"), say)
    if isinstance(ask, ReviewSubmit):
        return submit(question.document, ("verdict", "summary", "findings"), say)
    if isinstance(ask, RunReset):
        following = {} if ask.next_feature_id is None else {"next_feature_id": ask.next_feature_id}
        return call("run_reset", {"feature_id": ask.feature_id, **following}, ("reason",), say)
    if isinstance(ask, Close) and ask.kind != "accepted":
        return call("close", {"kind": ask.kind}, ("summary",), say)
    return person("Say it again in fewer words.")


@rule(
    "plan.bounded",
    claim="A plan and its document are bounded.",
    limits="64 features, 256 KiB plan, 32 KiB text, 512 runs, 128 observations a run and 256 beside the runs, 100 "
    "findings (a review that only repeats live ones may be longer), 4 MiB document; the limit itself is accepted. "
    "256 KiB are kept free for reset and closing.",
)
def bounded(question: Question) -> Objection | None:
    """Object to what goes over a limit, by name (row plan.bounded)."""
    found = tuple(_faults(question))
    if isinstance(question.ask, PlanSave) and found:
        say = together(step.say for _, step in found)
        return Objection(together(seen for seen, _ in found), save_again(say), retryable=False)
    return Objection(found[0][0], found[0][1], retryable=False) if found else None
