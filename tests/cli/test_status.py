import json

import pytest

from flow_mcp.domain.model import Actor
from flow_mcp.server.views import status_body
from flow_mcp.workspace.folders import remove_tree
from tests.cli.conftest import Flow
from tests.cli.rig import Project, run_flow


def test_a_person_reads_where_the_goal_stands(worked: Project, flow: Flow) -> None:
    ended = flow("status")
    assert ended.code == 0
    assert ended.err == ""
    lines = ended.out.splitlines()
    assert lines[0] == "Add slug: running, 0 of 1 features passed."
    assert f"{worked.document.plan_id}, revision {worked.document.revision}" in lines[1]
    assert "run_id slug.1, feature_id slug, attempt 1" in ended.out
    assert any(line.startswith("next") and "validate" in line for line in lines)


@pytest.mark.parametrize("state", ["started", "drafted", "approved", "worked", "pending"])
def test_json_has_the_facts_of_the_tool(state: str, request: pytest.FixtureRequest, flow: Flow) -> None:
    project: Project = request.getfixturevalue(state)
    ended = flow("status", "--json")
    seen = project.engine().read(Actor(role="manager"), None, look=True)
    assert ended.code == 0
    assert ended.body == json.loads(json.dumps(status_body(seen, "next")))  # type: ignore[arg-type]


def test_the_installed_command_says_the_same(drafted: Project, flow: Flow) -> None:
    ended = run_flow(drafted, "status")
    assert (ended.code, ended.out) == (0, flow("status").out)


def test_the_verb_that_a_person_has_for_the_next_tool_is_named(drafted: Project, flow: Flow) -> None:
    assert "plan_approve; for a person: `flow-mcp approve`" in flow("status").out
    assert flow("status", "--json").body["next"]["tool"] == "plan_approve"
    assert drafted.document.approvals == ()


def test_before_the_first_plan_there_is_none(started: Project, flow: Flow) -> None:
    assert "There is no plan here yet." in flow("status").out
    assert not (started.root / "plans").exists()


def test_the_workspace_is_named_and_that_it_lies_above_the_folder_in_which_somebody_stands(
    started: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(started.root.resolve())
    assert flow("status", "--json").body["workspace"] == {"root": root}
    monkeypatch.chdir(started.root / "tests")
    told = flow("status", "--json").body["workspace"]
    assert (told["root"], told["started_in"]) == (root, "tests")
    assert told["say"] == (
        "Flow was started in tests/, and the workspace is the whole repository around it: paths, globs and commands "
        "count from its top; a command for that folder begins with cd."
    )
    assert "the whole repository around it" in " ".join(flow("status").out.split())
    started.drafted()
    assert flow("status", "--json").body["workspace"] == told


def test_where_several_are_open_each_is_told_with_its_goal(drafted: Project, flow: Flow) -> None:
    first = drafted.document.plan_id
    remove_tree(drafted.root / ".flow")
    drafted.path.rename(drafted.root / "kept")
    drafted.drafted("Another goal")
    second = drafted.document.plan_id
    (drafted.root / "kept").rename(drafted.root / "plans" / f"{first}.json")
    assert [one["driven_from"] for one in flow("status", "--json").body["open_plans"]] == ["another worktree", "here"]
    remove_tree(drafted.root / ".flow")
    ended = flow("status")
    assert (ended.code, ended.err) == (0, "")
    assert "2 plans are open, and none of them is driven from here" in ended.out
    told = flow("status", "--json").body
    assert [(one["plan_id"], one["goal"]) for one in told["open_plans"]] == [
        (first, "Add slug"),
        (second, "Another goal"),
    ]
    assert told["next"]["arguments"]["plan_id"] in {first, second}
    assert flow("status", second).out.startswith("Another goal")


def test_a_plan_can_be_named_and_an_unknown_one_is_refused(drafted: Project, flow: Flow) -> None:
    name = drafted.document.plan_id
    assert flow("status", name).out == flow("status", "--plan", name).out == flow("status").out
    ended = flow("status", "nope", "--json")
    assert (ended.code, ended.body["refused"]["seen"]) == (3, f"There is no plan 'nope'; there are: {name}.")


def test_a_document_that_cannot_be_read_is_told_in_two_sentences(drafted: Project, flow: Flow) -> None:
    drafted.path.write_text("{")
    ended = flow("status")
    assert (ended.code, ended.out, len(ended.err.splitlines())) == (4, "", 2)
    told = flow("status", "--json")
    assert (told.code, set(told.body["error"])) == (4, {"seen", "remedy"})


def test_a_damaged_document_beside_a_whole_one_is_named(drafted: Project, flow: Flow) -> None:
    drafted.write("plans/other.json", "{")
    ended = flow("status")
    assert (ended.code, "other" in ended.out) == (0, True)
