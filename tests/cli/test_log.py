from flow_mcp.cli.log import who
from flow_mcp.domain.model import Actor
from flow_mcp.workspace.folders import remove_tree
from tests.cli.conftest import Flow
from tests.cli.rig import Project, run_flow


def test_each_operation_is_a_line(approved: Project, flow: Flow) -> None:
    ended = flow("log")
    head, *lines = ended.out.splitlines()
    assert head.split() == ["revision", "time", "kind", "actor", "entity"]
    assert [int(line.split()[0]) for line in lines] == [*range(1, approved.document.revision + 1)]
    assert [line.split()[2] for line in lines] == ["plan_save", "plan_approve"]
    assert "person (dialog)" in lines[1]


def test_json_lists_revision_kind_actor_time_and_entity(worked: Project, flow: Flow) -> None:
    body = flow("log", "--json").body
    assert body["plan_id"] == worked.document.plan_id
    assert [one["revision"] for one in body["operations"]] == [1, 2, 3, 4, 5]
    third = body["operations"][2]
    assert (third["kind"], third["entity"], third["actor"]["role"]) == ("run_start", "slug.1", "manager")
    assert third["at"].endswith("Z")


def test_reading_leaves_nothing_behind_in_a_fresh_clone(drafted: Project, flow: Flow) -> None:
    remove_tree(drafted.root / ".flow")
    assert flow("log").code == flow("show").code == flow("verify").code == 0
    assert not (drafted.root / ".flow").exists()


def test_without_a_plan_or_with_an_unknown_one_it_is_refused(started: Project, flow: Flow) -> None:
    for arguments in ((), ("nope",)):
        ended = flow("log", *arguments)
        assert (ended.code, ended.out) == (3, "")
    assert run_flow(started, "log").code == 3


def test_who_asked_is_named_with_everything_that_is_known() -> None:
    assert who(Actor(role="manager")) == "manager"
    known = Actor(role="reviewer", agent="flow-reviewer", host="h", channel="dialog")
    assert who(known) == "reviewer (flow-reviewer, h, dialog)"
