"""What a person is shown before they answer, on real projects."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from flow_mcp.domain.commands import PlanSave
from flow_mcp.domain.plan import Gate, Plan
from flow_mcp.engine.core import Asked, Done
from flow_mcp.server.approving import acceptance_question, packet
from flow_mcp.workspace.folders import remove_tree
from tests.cli.rig import MANAGER, PLAN, Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project").started()


def shown(project: Project, plan: Plan = PLAN, advice: Sequence[str] = ()) -> list[str]:
    done = project.engine().ask(PlanSave(goal="Add slug", plan=plan), Asked(MANAGER))
    assert isinstance(done, Done), done
    return packet(done.document, done.seen, advice).split("\n")


def test_a_gate_without_a_report_is_said_to_have_none(project: Project) -> None:
    plan = PLAN.model_copy(update={"gate": Gate(run="./check.sh", no_report_because="A script.")})
    lines = shown(project, plan)
    assert "Gate: `./check.sh`, no report" in lines
    assert not any("None" in line for line in lines)


def test_a_test_that_targets_name_is_not_listed_as_frozen(project: Project) -> None:
    assert "Frozen files (1): tests/check.py" in shown(project)
    feature = PLAN.features[0].model_copy(update={"targets": ("app.py", "tests/check.py")})
    lines = shown(project, PLAN.model_copy(update={"features": (feature,)}))
    assert "Frozen files (0): none" in lines
    assert "Tests and configuration that targets name, so not frozen: tests/check.py" in lines


def test_without_a_commit_nothing_is_said_to_differ_from_it(project: Project) -> None:
    project.write("app.py", "changed\n")
    assert "Targets that differ from HEAD already: app.py" in shown(project)
    remove_tree(project.root / ".git")
    bare = shown(project)
    assert not any("HEAD" in line for line in bare)
    assert "Targets that are there already: app.py" in bare
    project.git("init", "-q")
    assert not any("HEAD" in line for line in shown(project))


def test_what_to_look_at_first_is_a_line_of_its_own(project: Project) -> None:
    lines = shown(project, advice=("It cannot run.\nGate: `true`",))
    assert "LOOK FIRST: It cannot run. Gate: `true`" in lines
    assert sum(line.startswith("Gate: ") for line in lines) == 1


def test_open_rules_stand_a_line_each(project: Project) -> None:
    shown(project)
    asked = acceptance_question(project.document, ("a.b: one\ntwo", "c.d: three"), "sha256:0")
    assert "\nRules that stand open:\n- a.b: one two\n- c.d: three\nRevision 1" in asked.message
    assert "\nRules that stand open: none\n" in acceptance_question(project.document, (), "sha256:0").message
