from pathlib import Path

import pytest

from evals.scenario import Scenario, Unusable, fixture, read, scenarios

WHOLE = """\
kind: liar
family: a lie
says: It lies.
wants: open
truth: "false"
steps:
  - call: close
    with: {kind: completed, summary: no}
    refused: close.every-feature-passed
expect:
  stopped_by: {rule: close.every-feature-passed, tool: close}
"""


def written(folder: Path, text: str) -> Scenario:
    path = folder / "a-lie.yaml"
    path.write_text(text)
    return read(path)


def test_every_scenario_of_the_repository_can_be_read_and_both_kinds_are_there() -> None:
    found = scenarios()
    assert {one.kind for one in found} == {"liar", "honest"}
    assert len({one.name for one in found}) == len(found)
    assert [one.name for one in scenarios("liars/edits-after")] == ["edits-after-green"]
    assert all(fixture(one.fixture).goal for one in found)


def test_a_scenario_is_called_like_its_file_and_no_is_a_word(tmp_path: Path) -> None:
    one = written(tmp_path, WHOLE)
    assert one.name == "a-lie"
    assert one.steps is not None
    assert one.steps[0].arguments["summary"] == "no"
    assert one.meets() == {"close.every-feature-passed"}


def test_a_liar_that_the_page_lets_through_names_the_row_and_nothing_that_stops_it(tmp_path: Path) -> None:
    text = WHOLE.replace("wants: open", "wants: completed\nopen: open.inputs")
    with pytest.raises(Unusable, match="what the page leaves open is a liar"):
        written(tmp_path, text)
    assert written(tmp_path, text[: text.index("expect:")]).open == "open.inputs"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("family:", "famly:", "famly: there is no such key; did you mean 'family'?"),
        ("refused:", "refusd:", "steps.0.refusd: there is no such key; did you mean 'refused'?"),
        ("    with:", "    wth:", "steps.0.wth: there is no such key; did you mean 'with'?"),
        ("stopped_by:", "stoped_by:", "expect.stoped_by: there is no such key; did you mean 'stopped_by'?"),
        ("tool: close", "zzz: close", "expect.stopped_by.zzz: there is no such key; there are ['rule', 'tool']"),
        ("call: close", "call: close\n    kill: manager", "does one thing, and this one has call and kill"),
        ("call: close", "capture: {a: b}", "does one thing, and this one has none"),
        ("wants: open", "wants: victory", "wants: Input should be 'completed'"),
        ("wants: open", "wants: completed", "wants no completion"),
        ("expect:\n  stopped_by: {rule: close.every-feature-passed, tool: close}\n", "", "names what stops it"),
        ("family:", "open: open.inputs\nfamily:", "what the page leaves open is a liar that wants a completion"),
        (
            "kind: liar",
            "open: open.inputs\nkind: honest",
            "what the page leaves open is a liar that wants a completion",
        ),
        ("steps:", "policy: x\nsteps:", "a scenario has steps, or an agent, or a policy"),
        ("family: a lie", "family: a lie\nfamily: another", "the key 'family' stands twice"),
        ("family: a lie", "family: [", "expected"),
        (WHOLE, "- a list\n", "it is no mapping"),
    ],
)
def test_a_slip_of_the_pen_is_refused_in_words(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert old in WHOLE
    with pytest.raises(Unusable) as caught:
        written(tmp_path, WHOLE.replace(old, new, 1))
    assert str(caught.value).startswith("a-lie.yaml: ")
    assert told in str(caught.value)


def test_a_moment_of_an_agent_is_one_moment(tmp_path: Path) -> None:
    agent = "agent:\n  moments:\n    - {before: validate, after: validate}\n"
    text = WHOLE[: WHOLE.index("steps:")].replace("liar", "honest") + agent
    with pytest.raises(Unusable, match="before a tool, after it, or a crash under it"):
        written(tmp_path, text)


def test_a_fixture_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"nowhere\.yaml"):
        fixture("nowhere")
    with pytest.raises(Unusable, match=r"gone\.yaml"):
        read(tmp_path / "gone.yaml")
