from tests.cli.conftest import Flow
from tests.cli.rig import GATE, SLUG, Project, run_flow


def test_each_rule_that_objects_is_named_with_its_remedy(worked: Project, flow: Flow) -> None:
    ended = flow("why")
    assert ended.code == 0
    assert "review.checks-passed" in ended.out
    assert ended.out.count("remedy") >= 2
    assert ended.out.splitlines()[-2].startswith("next")
    assert run_flow(worked, "why").out == ended.out


def test_json_has_rule_seen_and_remedy(worked: Project, flow: Flow) -> None:
    body = flow("why", "--json").body
    assert body["plan_id"] == worked.document.plan_id
    rules = {one["rule"] for one in body["refusals"]}
    assert {"review.checks-passed", "review.proof-shown"} <= rules
    assert all(one["remedy"]["say"] for one in body["refusals"])
    assert body["next"] == body["refusals"][0]["remedy"]
    assert body["summary"] == f"{len(rules)} rules stand before the next step."


def test_where_no_rule_objects_the_next_step_is_named(pending: Project, flow: Flow) -> None:
    ended = flow("why", pending.document.plan_id)
    assert "No rule stands" in ended.out
    assert "review_submit" in ended.out


def test_one_rule_is_one_rule(worked: Project, flow: Flow) -> None:
    worked.observe("focused", SLUG)
    worked.observe("broad", GATE)
    body = flow("why", "--json").body
    assert [one["rule"] for one in body["refusals"]] == ["review.proof-shown"]
    assert body["summary"] == "1 rule stands before the next step."


def test_an_unknown_plan_is_refused(drafted: Project, flow: Flow) -> None:
    assert drafted.document.plan_id in flow("why", "nope").text
    assert flow("why", "nope").code == 3
