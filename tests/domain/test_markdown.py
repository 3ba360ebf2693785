from flow_mcp.domain.commands import Close
from flow_mcp.domain.markdown import OBSERVATIONS_SHOWN, page, plain
from flow_mcp.domain.model import blank
from tests.histories import CHAIN, ONE, approved, closed, drafted, reviewed, running
from tests.simulator import World


def shown(world: World) -> str:
    return page(world.document, world.lines)


def test_a_document_without_a_plan_is_a_page_too() -> None:
    assert "**planning**" in page(blank("p", "w"), {})


def test_a_draft_says_that_nobody_approved_it() -> None:
    text = shown(drafted())
    assert "Not approved." in text
    assert "## Evidence" not in text
    assert "Gate: " in text


def test_a_plan_without_its_gate_is_shown_without_one() -> None:
    world = drafted()
    world.document = world.document.model_copy(update={"plan": ONE.model_copy(update={"gate": None})})
    assert "Gate: " not in shown(world)


def test_an_approved_plan_shows_whose_yes_it_was_and_its_graph() -> None:
    text = shown(approved(plan=CHAIN))
    assert "Approved by a person" in text
    assert "f0 --> f1" in text


def test_a_review_that_waits_and_one_that_was_reset_are_told_apart() -> None:
    world = reviewed()
    assert "no answer yet" in shown(world)
    world.reset("a")
    assert "no answer before the reset" in shown(world)


def test_a_closed_goal_shows_its_evidence_its_findings_and_its_end() -> None:
    text = shown(closed("completed"))
    assert "**completed** at revision" in text
    assert "Cases that must keep passing: " in text
    assert "without the change" in text


def test_what_stood_open_is_listed_when_a_person_accepted() -> None:
    text = shown(closed("accepted"))
    assert "Stood open: `" in text


def test_only_the_newest_observations_are_shown_and_the_rest_counted() -> None:
    world = running()
    for _ in range(OBSERVATIONS_SHOWN + 3):
        world.check("broad", world.plan.gate.run if world.plan.gate else "")
    assert "3 earlier observations are in the document." in shown(world)


def test_a_lost_listing_is_said() -> None:
    world = closed("completed")
    document = world.document.model_copy(update={"listings": ()})
    assert "unknown, a listing is missing" in page(document, {})


def test_no_text_of_a_document_acts_or_hides() -> None:
    assert plain("<b>`x`</b>") == r"\<b\>\`x\`\</b\>"
    assert plain("a\u202eb") == "a(U+202E)b"
    world = drafted()
    world.document = world.document.model_copy(update={"goal": "# One\n[two](x)\n\u200bthree"})
    text = shown(world)
    assert "# \\# One" in text
    assert "> \\[two\\]\\(x\\)" in text
    assert "(U+200B)three" in text


def test_a_goal_is_closed_by_whom_the_page_says() -> None:
    world = approved()
    world.ask(Close(kind="abandoned", summary="not wanted"))
    assert "by the caller" in shown(world)
