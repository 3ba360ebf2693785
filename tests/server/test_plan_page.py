"""The page on the format of a plan: its example is saved by the real desk, and it names every field and test file."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from flow_mcp.cli.call import _Shell
from flow_mcp.guarantees import rendered_page
from flow_mcp.server import requests
from flow_mcp.server.flow_desk import FlowDesk
from flow_mcp.workspace.patterns import CI_FILES, TEST_CONFIGURATION, TEST_FILES
from tests.cli.rig import Project

PAGE = (Path(__file__).parents[2] / "docs" / "plan-format.md").read_text()
(EXAMPLE,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
PARTS: dict[str, type[BaseModel]] = {
    name: getattr(requests, name)
    for name in ("PlanIn", "FeatureIn", "ProofIn", "CommandIn", "GateIn", "RequirementIn", "ExternalIn", "DroppedIn")
}


def fields(value: object) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {name for item in value.values() for name in fields(item)}
    return {name for item in value for name in fields(item)} if isinstance(value, list) else set()


def test_the_example_is_saved_by_the_real_desk(tmp_path: Path) -> None:
    project = Project(tmp_path / "project").started()
    project.write(".gitignore", ".flow/\n.venv/\n")
    project.write(".venv/pyvenv.cfg", "")
    given: dict[str, Any] = json.loads(EXAMPLE)
    desk = FlowDesk(project.engine(), None, rendered_page)
    reply = asyncio.run(desk.call("plan_save", given, _Shell()))
    assert not reply.is_error, reply.body
    assert reply.body["order"] == ["slugify", "command"]
    assert reply.body["next"]["tool"] == "plan_approve"


@pytest.mark.parametrize("part", [*PARTS, "FindingIn"])
def test_the_page_names_every_field(part: str) -> None:
    for name in getattr(requests, part).model_fields:
        assert f"`{name}`" in PAGE or f"{{{name}" in PAGE or f", {name}}}" in PAGE, name


def test_the_example_has_every_field_of_a_plan_but_those_that_exclude_another() -> None:
    every = {name for model in PARTS.values() for name in model.model_fields}
    assert every - fields(json.loads(EXAMPLE)) == {"no_report_because", "narrowed_because", "continues"}


def test_the_page_lists_what_counts_as_a_test_file() -> None:
    for glob in (*TEST_FILES, *TEST_CONFIGURATION, *CI_FILES):
        assert f"`{glob}`" in PAGE, glob
