import json
from pathlib import Path

import pytest

from tests.cli.conftest import Flow
from tests.cli.held import Held, held_plan
from tests.cli.rig import GATE, PLAN, SLUG, Project, run_flow


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


@pytest.mark.usefixtures("worked")
def test_a_long_command_is_told_once_and_named_from_there_on(flow: Flow) -> None:
    ended = flow("why")
    assert len(GATE) > 48
    assert ended.out.count(GATE) == 1
    assert "<gate>" in ended.out
    assert flow("why", "--json").out.count(GATE) > 1


def test_without_a_plan_and_after_the_end_it_says_so(started: Project, flow: Flow) -> None:
    assert flow("why").out.startswith("There is no plan here yet")
    started.drafted()
    assert flow("call", "close", '{"kind": "abandoned", "summary": "no"}').code == 0
    assert flow("why").out.startswith("The goal is closed as abandoned")


def test_while_a_check_runs_it_says_that_nothing_is_decided(started: Project, flow: Flow, tmp_path: Path) -> None:
    held = Held(tmp_path / "held")
    held.install(started)
    started.drafted(plan=held_plan()).approved()
    begun = flow("call", "validate", '{"scope": "baseline", "wait_s": 0}')
    assert begun.code == 0, begun.text
    held.begun()
    assert " runs, and nothing is decided before its end." in flow("why").out
    held.release()
    assert flow("call", "validate", json.dumps({"check_id": begun.body["check"]["id"]})).code == 0


def test_an_approval_that_will_be_refused_is_foretold(
    started: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    feature = PLAN.features[0].model_copy(update={"targets": ("app.py", "tests/check.py")})
    started.drafted(plan=PLAN.model_copy(update={"features": (feature,)}))
    assert "No rule stands" in flow("why").out
    monkeypatch.setenv("FLOW_APPROVE", "caller")
    for ended in (flow("why"), flow("status")):
        assert "tests/check.py" in ended.out
        assert "`flow-mcp approve`" in ended.out
        assert "`--caller-scope trusted`" in ended.out
    assert flow("why").out.startswith("1 rule stands before the approval.")
    assert flow("why", "--json").body["next"]["who"] == "person"
    monkeypatch.setenv("FLOW_CALLER_SCOPE", "trusted")
    assert "No rule stands" in flow("why").out
    assert "plan_approve" in flow("status").out
