import pytest

from flow_mcp.engine.core import Engine
from tests.cli.conftest import Flow
from tests.cli.rig import CONFIRM, Project

YES = ((CONFIRM, "yes\n"),)


def test_a_person_accepts_and_the_open_rules_are_recorded(worked: Project, typed: Flow) -> None:
    ended = typed("accept", "--because", "Good enough for now.", script=YES)
    assert ended.code == 0
    closure = worked.document.closure
    assert closure is not None
    assert (closure.kind, closure.by, closure.channel) == ("accepted", "person", "terminal-unverified")
    assert closure.summary == "Good enough for now."
    assert "close.every-feature-passed" in closure.open_rules
    assert sum(line.startswith("- ") for line in ended.err.splitlines()) >= 2
    assert ended.err.count("close.every-feature-passed") == ended.out.count("close.every-feature-passed") == 1
    for shown in ("close.every-feature-passed", closure.source or "", "Good enough for now."):
        assert shown in ended.err


def test_the_answer_is_one_json_value(worked: Project, typed: Flow) -> None:
    ended = typed("accept", "--because", "Good enough.", "--json", script=YES)
    assert ended.body["closure"]["kind"] == "accepted"
    assert worked.document.closure is not None


def test_a_source_that_moves_while_the_person_reads_is_not_accepted(
    worked: Project, typed: Flow, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask = Engine.ask

    def late(self: Engine, *arguments: object) -> object:
        worked.write("app.py", "broken\n")
        return ask(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Engine, "ask", late)
    ended = typed("accept", "--because", "Good enough.", script=YES)
    assert (ended.code, worked.document.closure) == (3, None)
    assert "approve.exact" in ended.err


def test_a_caller_never_accepts(worked: Project, flow: Flow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOW_APPROVE", "caller")
    ended = flow("accept", "--because", "Trust me.", "--yes", "--json")
    assert (ended.code, ended.body["refused"]["rule"]) == (3, "close.accepted-by-person")
    assert worked.document.closure is None


def test_without_a_plan_or_with_an_unknown_one_nothing_is_accepted(started: Project, typed: Flow) -> None:
    for arguments in ((), ("nope",)):
        assert typed("accept", *arguments, "--because", "Fine.", script=()).code == 3
    assert not (started.root / "plans").exists()
