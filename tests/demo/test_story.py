import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import StdioServerParameters

from flow_mcp.demo.project import NoTool, Project, environment
from flow_mcp.demo.story import StoryDiffers, Told, play
from flow_mcp.domain.rule import ALL_RULES
from flow_mcp.store.documents import PlansFolder

WEAK = Path(__file__).with_name("weak_server.py")

# The rules that refuse in the story, those of the first two acts before the slow ones.
EARLY = ("plan.commands-whole", "plan.gate-whole", "plan.approved-first", "plan.frozen", "review.baseline-taken")
LATE = (
    "review.checks-passed",
    "review.reserved-identity",
    "run.not-blocked",
    "review.findings-carried",
    "close.every-feature-passed",
    "review.cases-kept",
    "close.source-unmoved",
)


def played(folder: Path, *out: str) -> list[Told]:
    def launch(role: str) -> StdioServerParameters:
        arguments = [str(WEAK), role, *out]
        return StdioServerParameters(command=sys.executable, args=arguments, cwd=str(folder), env=environment())

    return asyncio.run(play(folder, launch, lambda _told: None))


def test_the_demo_is_refused_when_it_lies_and_closes_when_it_has_worked(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "flow_mcp", "demo", str(tmp_path / "words")],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    for rule in (*EARLY, *LATE):
        assert f"Refused by {rule}" in done.stdout.replace("\n", " "), rule
    folder = PlansFolder(tmp_path / "words" / "plans", ALL_RULES)
    (name,) = folder.names()
    held = folder.load(name)
    assert held is not None
    closure = held.document.closure
    assert closure is not None
    assert closure.kind == "completed"
    assert "Reviewer: unattested." in closure.notes
    page = (tmp_path / "words" / "plans" / f"{name}.md").read_text()
    assert "**completed**" in page
    assert "blocking" in page


@pytest.mark.parametrize("rule", EARLY)
def test_with_one_rule_out_the_story_differs(tmp_path: Path, rule: str) -> None:
    with pytest.raises(StoryDiffers, match="should be"):
        played(tmp_path, rule)


@pytest.mark.long
@pytest.mark.parametrize("rule", LATE)
def test_with_a_late_rule_out_the_story_differs(tmp_path: Path, rule: str) -> None:
    with pytest.raises(StoryDiffers, match="should be"):
        played(tmp_path, rule)


def test_the_demo_says_which_tool_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoTool) as caught:
        Project(tmp_path).make()
    assert "git" in caught.value.seen


def test_every_line_that_is_told_comes_from_an_answer(tmp_path: Path) -> None:
    told: list[Told] = []

    def launch(role: str) -> StdioServerParameters:
        arguments = [str(WEAK), role, "plan.frozen"]
        return StdioServerParameters(command=sys.executable, args=arguments, cwd=str(tmp_path), env=environment())

    with pytest.raises(StoryDiffers):
        asyncio.run(play(tmp_path, launch, told.append))
    assert told
    assert all(entry.answer["summary"] and json.dumps(dict(entry.answer)) for entry in told)
