"""What came under an artifact, or behind a link, since the approval: no evidence becomes final over it."""

from pathlib import Path

from flow_mcp.domain import commands as c
from flow_mcp.domain.decision import SourceFacts
from flow_mcp.domain.rule import Rulebook
from tests.engine.place import GATE, REVIEWER, Place, make, plan

HIDING = "plan.artifacts-narrow"
LINKED = "review.links-inside"


def shown(place: Place, **more: object) -> Place:
    """Bring the usual goal to where its review can begin."""
    place.approved(plan(**more))
    place.done(c.RunStart())
    place.work()
    place.evidence()
    return place


def look(place: Place) -> SourceFacts:
    source = place.state().facts.source
    assert source is not None
    return source


def asked_for(place: Place) -> c.ReviewSubmit:
    review = place.done(c.ReviewStart(summary="done")).answer["assignment_id"]
    return c.ReviewSubmit(assignment_id=str(review), verdict="passed", summary="read")


def test_what_becomes_tracked_under_an_artifact_is_refused_at_each_moment_and_untracked_goes_on(place: Place) -> None:
    shown(place, artifacts=("notes/",))
    place.write("notes/override", "nothing\n")

    def refused(rule_ask: c.Ask, *actor: object) -> None:
        place.git("add", "notes/override")
        said = place.refused(HIDING, rule_ask, *actor)  # type: ignore[arg-type]
        assert "'notes/' hides 'notes/override': it is tracked." in said.seen
        place.git("rm", "--quiet", "--cached", "notes/override")

    refused(c.ReviewStart(summary="done"))
    submit = asked_for(place)
    refused(submit, REVIEWER)
    place.done(submit, REVIEWER)
    refused(c.Close(kind="completed", summary="done"))
    place.done(c.Close(kind="completed", summary="done"))


def test_what_is_moved_out_of_the_artifact_is_shown_and_goes_on(place: Place) -> None:
    shown(place, artifacts=("notes/",))
    place.write("notes/override", "nothing\n")
    place.git("add", "notes/override")
    said = place.refused(HIDING, c.ReviewStart(summary="done"))
    place.git("mv", "notes/override", "override")
    assert (said.remedy.tool, said.remedy.arguments) == ("validate", {"scope": "broad", "command": GATE.run})
    place.evidence()
    place.reviewed()
    place.done(c.Close(kind="completed", summary="done"))


def test_a_tracked_file_in_an_input_is_refused_too(place: Place) -> None:
    shown(place, inputs=("cache",))
    place.write("cache/helper.sh", "true\n")
    place.git("add", "--force", "cache/helper.sh")
    place.evidence()
    assert "'cache' hides 'cache/helper.sh'" in place.refused(HIDING, c.ReviewStart(summary="done")).seen


def test_a_target_that_goes_and_is_ignored_from_then_on_is_honest_work(place: Place) -> None:
    place.write("tool", "made\n")
    place.git("add", "tool")
    place.git("commit", "--quiet", "--message=made")
    usual = plan().features[0]
    wanted = usual.model_copy(update={"targets": (*usual.targets, "tool", ".gitignore")})
    place.approved(plan(wanted, artifacts=("*.log",)))
    place.done(c.RunStart())
    place.work()
    place.git("rm", "--quiet", "tool")
    place.write(".gitignore", ".flow/\ncache/\ntool\n")
    assert look(place).hidden != ()
    place.evidence()
    place.reviewed()


def test_without_git_what_is_generated_under_an_artifact_is_no_source(tmp_path: Path) -> None:
    root = tmp_path / "bare"
    root.mkdir()
    (make(root) / ".git").rename(tmp_path / "git")
    place = shown(Place(root), artifacts=("report.html",))
    place.write("report.html", "<p>made</p>\n")
    assert look(place).hidden != ()
    place.reviewed()


# Links.


def outside(place: Place, tmp_path: Path) -> None:
    """Put the work behind a link."""
    (place.root / "greeting.txt").rename(tmp_path / "greeting.txt")
    (place.root / "greeting.txt").symlink_to(tmp_path / "greeting.txt")


def test_work_behind_a_new_link_is_refused_and_the_file_itself_goes_on(place: Place, tmp_path: Path) -> None:
    shown(place)
    outside(place, tmp_path)
    place.evidence()
    said = place.refused(LINKED, c.ReviewStart(summary="done"))
    assert f"The link 'greeting.txt' leads out of the source, to '{tmp_path}/greeting.txt'." in said.seen
    (place.root / "greeting.txt").unlink()
    place.work()
    place.evidence()
    place.reviewed()


def test_a_pass_and_a_closing_over_a_link_are_refused(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    blind = Place(make(tmp_path / "repo"), book=Rulebook(frozenset({LINKED})))
    shown(blind)
    outside(blind, tmp_path)
    blind.evidence()
    submit = asked_for(blind)
    seeing = Place(blind.root)
    assert seeing.refused(LINKED, submit, REVIEWER).remedy.tool == "run_reset"
    blind.done(submit, REVIEWER)
    assert seeing.refused(LINKED, c.Close(kind="completed", summary="done")).remedy.arguments["feature_id"] == "bye"


def test_a_link_is_approved_with_a_new_plan(place: Place, tmp_path: Path) -> None:
    shown(place)
    outside(place, tmp_path)
    place.evidence()
    place.refused(LINKED, c.ReviewStart(summary="done"))
    place.done(c.Close(kind="deferred", summary="the link is meant"))
    place.approved(plan(), goal="Again")
    assert look(place).outward == ()


def test_before_an_approval_and_among_old_links_there_is_no_new_one(place: Place) -> None:
    (place.root / "old").symlink_to("/elsewhere")
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    assert look(place).outward == ()
    place.approve()
    assert look(place).outward == ()
    (place.root / "new").symlink_to("greeting.txt")
    (place.root / "bad").symlink_to("cache/word")
    assert [one.path for one in look(place).outward] == ["bad"]


def test_where_the_approved_source_is_lost_every_link_counts_as_new(place: Place) -> None:
    (place.root / "old").symlink_to("/elsewhere")
    place.approved()
    place.write("more.txt", "more\n")
    place.forget_sources()
    assert [one.path for one in look(place).outward] == ["old"]
