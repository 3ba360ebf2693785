"""The nine tools as clients see them, a row each, and the words that go with them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from flow_mcp.server import requests
from flow_mcp.server.desk import ToolRow
from flow_mcp.server.schema import input_schema

Role = Literal["manager", "reviewer"]

INSTRUCTIONS = """\
Flow lets you say "done" only when the evidence supports it. A goal is planned as features, a person approves it, \
one feature runs at a time, Flow itself runs the listed commands, a reserved reviewer judges, and the goal closes.
Loop: plan_save, plan_approve, then per feature: run_start, do the work inside its targets, validate, review_start, \
let the reviewer answer (review_submit), and at the end close.
Every answer names `next`: the exact next call (fill in what `fill` names), or whom to wait for. A refusal names the \
rule, what was seen, and the remedy: do that. status says where you are at any time.
You cannot report a result: no call takes an exit code. validate runs the command and records what was seen.
The baseline (validate scope baseline) is the gate on the approved source; red is fine. Scope broad is the gate on \
current source. Any edit after a pass means: validate again.
Do not review your own work: dispatch a fresh agent flow-reviewer, or say that a person can run `flow-mcp review`.
Stuck? close as deferred says so honestly and is always open; a new plan takes over what is owed.
Every mutation may carry operation_id (the same id and request replay the same answer) and expected_revision (refused \
unless the plan is at it); plan_id is needed only when several plans are open."""

EXAMPLE_PLAN = (
    '{"summary":"Add slugify","features":[{"id":"slugify","title":"slugify(text)","targets":["app.py",'
    '"tests/test_slug.py"],"checks":["python -m pytest -q tests/test_slug.py"],"proof":{"kind":"command",'
    '"run":"python -m pytest -q tests/test_slug.py"}}],"gate":{"run":"python -m pytest -q '
    '--junitxml=.flow/reports/junit.xml","report":".flow/reports/junit.xml"},"external_evidence":[]}'
)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its request, its words, and what it does to the world."""

    name: str
    title: str
    words: str
    request: type[requests.Request]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


TOOLS: tuple[Tool, ...] = (
    Tool(
        "status",
        "Where are we",
        "Where the goal stands and the exact next call. view review is the reviewer's packet.",
        requests.Status,
        read_only=True,
        idempotent=True,
    ),
    Tool(
        "plan_save",
        "Save the plan",
        "Create or replace the draft plan of a goal. A check is a command string or {run, report, timeout_s, network}; "
        "commands are simple, joined by && or |. proof: which check fails without the change (kind case or command), "
        f"or {{kind: none, because}}. Smallest valid plan: {EXAMPLE_PLAN}",
        requests.PlanSave,
    ),
    Tool("plan_approve", "Ask for approval", "Ask the person to approve this exact plan.", requests.PlanApprove),
    Tool("run_start", "Start a feature", "Start the named feature, or the first that is ready.", requests.RunStart),
    Tool(
        "validate",
        "Observe a command",
        "Run a listed command and record what was seen. scope: focused (a check), broad (the gate), baseline (the gate "
        "on the approved source), proof (a feature's check on the approved source with today's tests), external. A "
        "long one answers with a check_id: call again with it.",
        requests.Validate,
    ),
    Tool(
        "review_start",
        "Begin the review",
        "Create the one review assignment of the active run, once its checks pass.",
        requests.ReviewStart,
    ),
    Tool(
        "review_submit",
        "Hand in the verdict",
        "Reviewer only: judge an assignment. failed needs a blocking finding with evidence and repeats every live "
        "finding by its finding_id.",
        requests.ReviewSubmit,
    ),
    Tool(
        "run_reset",
        "Reset a run",
        "Supersede a feature's run and its dependents' runs; work in the tree stays.",
        requests.RunReset,
    ),
    Tool(
        "close",
        "End the goal",
        "completed needs all evidence; accepted asks the person; deferred and abandoned are always open.",
        requests.Close,
        destructive=True,
    ),
)

LISTED: Mapping[str | None, frozenset[str]] = {
    None: frozenset(tool.name for tool in TOOLS),
    "manager": frozenset(tool.name for tool in TOOLS if tool.name != "review_submit"),
    "reviewer": frozenset({"status", "review_submit"}),
}
"""Which tools each role is shown. The others can be called and refuse, with what to do."""


def rows(role: Role | None) -> tuple[ToolRow, ...]:
    """Give the tool rows for a role, in a stable order."""
    return tuple(
        ToolRow(
            name=tool.name,
            title=tool.title,
            description=tool.words,
            schema=_schema(tool),
            read_only=tool.read_only,
            destructive=tool.destructive,
            idempotent=tool.idempotent,
            listed=tool.name in LISTED[role],
        )
        for tool in TOOLS
    )


def _schema(tool: Tool) -> dict[str, Any]:
    return input_schema(tool.request)
