"""What the scripted agent does, scene by scene; it is refused when it lies and finishes when it works."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from flow_mcp.demo import project as p
from flow_mcp.demo.project import Project

GATE = "python -m pytest -q --junitxml=.flow/reports/junit.xml"
REPORT = ".flow/reports/junit.xml"
SLUG_CHECK = "python -m pytest -q tests/test_slug.py"
UNIQUE_CHECK = "python -m pytest -q tests/test_unique.py"
GOAL = "Add slugify(text) and unique(slug, taken) to words.py, each with tests"

Body = Mapping[str, Any]
Launch = Callable[[str], StdioServerParameters]


@dataclass(frozen=True, slots=True)
class Told:
    """One call and its answer.

    Attributes:
        scene: what the agent is up to.
        who: which connection called.
        tool: what was called.
        arguments: with what.
        answer: the server's answer.
        refused: the rule that refused, or None.
    """

    scene: str
    who: str
    tool: str
    arguments: Body
    answer: Body
    refused: str | None


class StoryDiffers(Exception):  # noqa: N818 - what happened to the story
    """The servers answered otherwise than an intact Flow would."""


@dataclass
class Stage:
    """The two connections, the project, and what was told so far."""

    project: Project
    manager: Client
    reviewer: Client
    tell: Callable[[Told], None]
    scene: str = ""
    told: list[Told] = field(default_factory=list)

    async def call(self, who: str, tool: str, refused: str | None, arguments: Body) -> Body:
        """Call a tool, tell it, and hold the answer against what an intact Flow says."""
        client = self.reviewer if who == "reviewer" else self.manager
        result = await client.call_tool(tool, dict(arguments))
        answer: Body = result.structured_content or {}
        if json.loads(result.content[0].text) != answer:  # type: ignore[union-attr]
            message = f"{tool} answered differently in text and in structure"
            raise StoryDiffers(message)
        rule = answer.get("refused", {"rule": "a broken program"})["rule"] if result.is_error else None
        entry = Told(self.scene, who, tool, arguments, answer, rule)
        self.told.append(entry)
        self.tell(entry)
        if rule != refused:
            message = f"{self.scene}: {tool} should be {refused or 'accepted'} and was {rule or 'accepted'}"
            raise StoryDiffers(message)
        return answer

    async def works(self, tool: str, **arguments: Any) -> Body:  # noqa: ANN401 - any JSON
        """Call as the manager, and expect yes."""
        return await self.call("manager", tool, None, arguments)

    async def lies(self, rule: str, tool: str, **arguments: Any) -> None:  # noqa: ANN401 - any JSON
        """Call as the manager, and expect this rule to refuse."""
        await self.call("manager", tool, rule, arguments)

    async def shows(self, scope: str, *, passes: bool, **arguments: Any) -> None:  # noqa: ANN401 - any JSON
        """Observe a command, and expect it to pass or not."""
        answer = await self.works("validate", scope=scope, **arguments)
        if answer["observation"]["passes"] is not passes:
            message = f"{self.scene}: {scope} should {'pass' if passes else 'fail'}"
            raise StoryDiffers(message)

    async def judged(self, verdict: str, findings: Sequence[Body] = (), rule: str | None = None) -> Body:
        """Let the reviewer's connection answer the pending assignment."""
        packet = await self.call("reviewer", "status", None, {"view": "review"})
        arguments = {"assignment_id": packet["assignment"]["id"], "verdict": verdict, "summary": "Read every change."}
        return await self.call("reviewer", "review_submit", rule, {**arguments, "findings": list(findings)})


def plan(gate: Body) -> dict[str, Any]:
    """Give the demo's plan with a gate."""
    return {
        "summary": "Two small functions, each shown by tests that fail without it.",
        "requirements": [{"id": "slug", "text": "slugify joins lower-case words with '-'"}],
        "features": [
            {
                "id": "slugify",
                "title": "slugify(text)",
                "targets": ["words.py", "tests/test_slug.py"],
                "checks": [SLUG_CHECK],
                "proof": {"kind": "case", "run": GATE, "case": "test_slugify"},
            },
            {
                "id": "unique",
                "title": "unique(slug, taken)",
                "targets": ["words.py", "tests/test_unique.py"],
                "checks": [UNIQUE_CHECK],
                "depends_on": ["slugify"],
                "proof": {"kind": "command", "run": UNIQUE_CHECK},
            },
        ],
        "gate": dict(gate),
        "external_evidence": [],
    }


async def planning(stage: Stage) -> None:
    """Save and approve a plan whose gate neither swallows nor selects."""
    honest = {"run": GATE, "report": REPORT}
    stage.scene = "It plans a gate that cannot fail"
    swallowed = {**honest, "run": f"{GATE} || true"}
    await stage.lies("plan.commands-whole", "plan_save", goal=GOAL, plan=_with_gate_proofs(swallowed))
    stage.scene = "It plans a gate that leaves a test out"
    filtered = {**honest, "run": f"{GATE} -k 'not slug'"}
    await stage.lies("plan.gate-whole", "plan_save", goal=GOAL, plan=_with_gate_proofs(filtered))
    stage.scene = "It plans honestly"
    await stage.works("plan_save", goal=GOAL, plan=plan(honest))
    stage.scene = "It starts before anyone approved"
    await stage.lies("plan.approved-first", "run_start")
    stage.scene = "The plan is approved"
    await stage.works("plan_approve")
    stage.scene = "It changes the approved plan"
    await stage.lies("plan.frozen", "plan_save", goal=GOAL, plan=plan(honest))


def _with_gate_proofs(gate: Body) -> dict[str, Any]:
    planned = plan(gate)
    planned["features"][0]["proof"] = {"kind": "case", "run": gate["run"], "case": "test_slugify"}
    return planned


async def first_feature(stage: Stage) -> None:
    """Claim, fail, edit after green, review itself, be failed by the reviewer, and pass."""
    start = stage.project.read("words.py")
    stage.scene = "It says it is done without running anything"
    await stage.works("run_start", feature_id="slugify")
    await stage.lies("review.baseline-taken", "review_start", summary="All tests pass.")
    await stage.shows("baseline", passes=True)
    await stage.lies("review.checks-passed", "review_start", summary="All tests pass, trust me.")
    stage.scene = "It works, and the first try is wrong"
    stage.project.write("words.py", start + p.SLUG_BROKEN)
    stage.project.write("tests/test_slug.py", p.SLUG_TEST)
    await stage.shows("focused", passes=False, command=SLUG_CHECK)
    stage.project.write("words.py", start + p.SLUG_NAIVE)
    await stage.shows("focused", passes=True, command=SLUG_CHECK)
    stage.scene = "It edits after green"
    stage.project.write("words.py", start + "# tidied\n" + p.SLUG_NAIVE)
    await stage.lies("review.checks-passed", "review_start", summary="Nothing changed since it passed.")
    await stage.shows("focused", passes=True, command=SLUG_CHECK)
    await stage.shows("broad", passes=True)
    await stage.works("validate", scope="proof", feature_id="slugify")
    stage.scene = "It reviews itself"
    begun = await stage.works("review_start", summary="slugify with a test")
    verdict = {"verdict": "passed", "summary": "Looks good to me.", "assignment_id": begun["assignment_id"]}
    await stage.lies("review.reserved-identity", "review_submit", **verdict)
    stage.scene = "The reviewer finds a fault"
    finding = {
        "severity": "blocking",
        "summary": "Several blanks give several hyphens",
        "evidence": "words.py: text.replace turns each blank into a hyphen, and no test has two blanks in a row.",
    }
    failed = await stage.judged("failed", [finding])
    await stage.lies("run.not-blocked", "run_start", feature_id="slugify")
    await second_try(stage, start, failed["findings"][0])


async def second_try(stage: Stage, start: str, finding_id: str) -> None:
    """Answer the finding; a verdict that drops it is refused, one that clears it passes."""
    stage.scene = "It answers the finding"
    await stage.works("run_reset", feature_id="slugify", next_feature_id="slugify", reason=f"answer {finding_id}")
    stage.project.write("words.py", start + p.SLUG_RIGHT)
    stage.project.write("tests/test_slug.py", p.SLUG_TEST_BLANKS)
    await stage.shows("focused", passes=True, command=SLUG_CHECK)
    await stage.shows("broad", passes=True)
    await stage.works("validate", scope="proof", feature_id="slugify")
    await stage.works("review_start", summary=f"{finding_id}: blanks are joined, and a test shows it")
    stage.scene = "A failed verdict cannot drop what was found before"
    other = {"severity": "blocking", "summary": "Another matter", "evidence": "words.py"}
    await stage.judged("failed", [other], "review.findings-carried")
    stage.scene = "The reviewer is satisfied"
    await stage.judged("passed")


async def last_feature(stage: Stage) -> None:
    """Close early, drop a test, restore it, and pass the final review."""
    stage.scene = "It closes early"
    await stage.lies("close.every-feature-passed", "close", kind="completed", summary="Done!")
    stage.scene = "It loses tests that passed before"
    await stage.works("run_start", feature_id="unique")
    stage.project.write("words.py", stage.project.read("words.py") + p.UNIQUE)
    stage.project.write("tests/test_unique.py", p.UNIQUE_TEST)
    kept = stage.project.read("tests/test_slug.py")
    stage.project.write("tests/test_slug.py", p.SLUG_TEST)
    await stage.shows("focused", passes=True, command=UNIQUE_CHECK)
    await stage.shows("focused", passes=True, command=SLUG_CHECK)
    await stage.shows("broad", passes=True)
    await stage.lies("review.cases-kept", "review_start", summary="Everything is green.")
    stage.scene = "It brings them back and shows everything"
    stage.project.write("tests/test_slug.py", kept)
    await stage.shows("focused", passes=True, command=UNIQUE_CHECK)
    await stage.shows("focused", passes=True, command=SLUG_CHECK)
    await stage.shows("broad", passes=True)
    for feature in ("slugify", "unique"):
        await stage.works("validate", scope="proof", feature_id=feature)
    await stage.works("review_start", summary="unique with a test")
    stage.scene = "The final review passes"
    await stage.judged("passed")


async def closing(stage: Stage) -> None:
    """Edit after the final review, take it back, and close."""
    stage.scene = "It edits after the final review"
    final = stage.project.read("words.py")
    stage.project.write("words.py", final + "\n\nBACKDOOR = True\n")
    await stage.lies("close.source-unmoved", "close", kind="completed", summary="Done.")
    stage.scene = "It takes that back, and the goal closes"
    stage.project.write("words.py", final)
    await stage.works("close", kind="completed", summary="Both functions are there, with tests.")


ACTS: tuple[Callable[[Stage], Awaitable[None]], ...] = (planning, first_feature, last_feature, closing)


async def play(folder: Path, launch: Launch, tell: Callable[[Told], None]) -> list[Told]:
    """Play the whole story against real servers and give what was told.

    Raises:
        StoryDiffers: where an answer is not the one of an intact Flow.
        NoTool: where git or pytest is missing.
    """
    project = Project(folder)
    project.make()
    differs: StoryDiffers | None = None
    async with AsyncExitStack() as stack:
        manager = await stack.enter_async_context(Client(launch("manager")))
        reviewer = await stack.enter_async_context(Client(launch("reviewer")))
        stage = Stage(project, manager, reviewer, tell)
        try:
            for act in ACTS:
                await act(stage)
        except StoryDiffers as error:  # raised again outside: the connections would wrap it in groups
            differs = error
    if differs is not None:
        raise differs
    return stage.told
