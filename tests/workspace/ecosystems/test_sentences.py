from dataclasses import replace
from typing import get_args

import pytest

from flow_mcp.workspace.ecosystems.sentences import (
    Told,
    counted,
    frozen_words,
    listed,
    of_folders,
    of_history,
    of_suggestions,
    of_tests,
)
from flow_mcp.workspace.ecosystems.source import History, SourceState
from flow_mcp.workspace.ecosystems.suggestion import reporting, reportless
from flow_mcp.workspace.ecosystems.survey import NOTHING

FINE = SourceState("clean", None, 3, ("tests/test_a.py",), (), has_tests=True)
STATES: tuple[str, ...] = get_args(History)


def test_long_lists_and_long_names_are_cut() -> None:
    assert listed(["a", "b"]) == "a, b"
    assert listed(list("abcdef")) == "a, b, c, d and 2 more"
    assert listed(["x" * 81]) == "x" * 80 + "…"
    assert (counted(1, "file"), counted(2, "file")) == ("1 file", "2 files")


def test_the_likeliest_gate_is_told_with_its_report_or_why_there_is_none() -> None:
    one = reporting("pytest", "api", "pytest --junitxml={report}", "x")
    told = of_suggestions(replace(NOTHING, suggestions=(one,)))
    assert told.sentence == (
        "Found `cd api && pytest --junitxml=../.flow/reports/gate.xml` with report .flow/reports/gate.xml "
        "(pytest in api/)."
    )
    other = reportless("go", "", "go test ./...", "It writes none.", "x")
    told = of_suggestions(replace(NOTHING, suggestions=(other, one)))
    assert told.sentence == (
        "Found `go test ./...` without a report (go). It writes none. `no_report_because` says so."
    )
    assert of_suggestions(NOTHING).remedy.startswith("Name the command")


def test_folders_are_told_unless_the_plan_lists_them() -> None:
    found = replace(NOTHING, inputs=(".venv", "web/node_modules"), self_ignored=("venv",), unignored=(".tox",))
    assert [told.seen.partition(":")[0] for told in of_folders(found, ())] == [
        ".venv, web/node_modules",
        "venv",
        ".tox",
    ]
    for inputs in (("/.venv/", "**/node_modules"), (".venv", "web/node_modules"), (".venv", "*/node_modules/")):
        assert [told.what for told in of_folders(found, inputs)] == ["inputs", "ignore rules"]
    assert next(of_folders(found, (".venv", "node_modules"))).seen.startswith("web/node_modules: ignored")


def test_a_missing_ignore_file_is_told_unless_something_unignored_says_it_already() -> None:
    bare = replace(NOTHING, has_ignore_file=False)
    assert [told.seen for told in of_folders(bare, ())] == [
        "There is no .gitignore, so whatever tools leave in the folder will count as source."
    ]
    assert len(tuple(of_folders(replace(bare, unignored=(".tox",)), ()))) == 1


@pytest.mark.parametrize("history", STATES)
def test_each_history_but_a_clean_one_has_a_next_step(history: History) -> None:
    told = tuple(of_history(replace(FINE, history=history)))
    assert bool(told) == (history != "clean")
    for one in told:
        assert one.seen.endswith(".")
        assert one.remedy.endswith(".")


def test_an_outer_repository_is_told() -> None:
    (told,) = of_history(replace(FINE, outer="outer"))
    assert told.seen == "This repository lies inside the repository outer; Flow covers only this one."


def test_tests_that_are_missing_or_uncommitted_are_told() -> None:
    assert tuple(of_tests(FINE)) == ()
    (told,) = of_tests(replace(FINE, frozen_changed=("tests/test_a.py",)))
    assert told.seen == "Approval would freeze 1 test or configuration file with uncommitted changes: tests/test_a.py."
    (told,) = of_tests(replace(FINE, frozen=(), has_tests=False))
    assert told.what == "tests"
    assert tuple(of_tests(replace(FINE, has_tests=False))) == ()


def test_what_is_frozen_is_counted() -> None:
    assert "freezes 1 file at approval now: tests/test_a.py." in frozen_words(FINE)
    assert "no file yet" in frozen_words(replace(FINE, frozen=()))


def test_a_sentence_without_a_next_step_ends_with_what_was_seen() -> None:
    assert Told("a", "It is so.", "").sentence == "It is so."
