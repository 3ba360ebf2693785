import shutil
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.commands import KINDS
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Document
from flow_mcp.domain.plan import Plan, Proof
from flow_mcp.engine.asked import Asked, Done
from flow_mcp.engine.gather import AtHand, Gathered, at_hand, gather
from flow_mcp.workspace import facts as workspace_facts
from flow_mcp.workspace.facts import Gathered as Seen
from flow_mcp.workspace.memory import Memory
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.source import Manifest, take_manifest
from flow_mcp.workspace.sources import has_copy
from tests.engine.place import CHECK, GATE, REVIEWER, Place, feature, lone, plan


def look(place: Place, wanted: Plan | None = None) -> Gathered:
    """Look at the source for the document as it is, or for a plan that is about to be saved."""
    document = stored(place)
    chosen = wanted or document.plan
    assert chosen is not None
    return gather(place.engine.space, place.engine.records(document), document, chosen, anew=False)


def stored(place: Place) -> Document:
    """Read the document without a look at anything else."""
    found = place.engine.pending(None)
    assert not isinstance(found, Refused)
    return found[0]


def manifest(place: Place) -> Manifest:
    return take_manifest(place.root, place.engine.records(place.document), ())


def hands(place: Place, document: Document, now: Manifest | None) -> AtHand:
    return at_hand(place.engine.space, place.engine.records(document), document, now)


def test_the_source_is_what_the_digest_covers_and_plans_and_private_files_are_not(place: Place) -> None:
    seen = look(place, plan())
    assert seen.facts.digest == seen.manifest.digest == manifest(place).digest
    place.approved()
    assert look(place).facts.digest == seen.facts.digest


def test_frozen_files_are_the_usual_ones_unless_the_plan_names_others(place: Place) -> None:
    assert list(look(place, plan()).facts.protected) == ["tests/old.sh"]
    assert list(look(place, plan(protected=("run.sh",))).facts.protected) == ["run.sh"]
    assert look(place, plan(protected=())).facts.protected == {}


def test_a_clean_tree_names_its_commit_and_a_dirty_one_its_dirty_frozen_files(place: Place) -> None:
    clean = look(place, plan()).facts
    assert (clean.commit, clean.protected_dirty) == (place.git("rev-parse", "HEAD"), ())
    place.write("tests/old.sh", "true\n")
    place.write("tests/new.sh", "true\n")
    dirty = look(place, plan()).facts
    assert (dirty.commit, dirty.protected_dirty) == (None, ("tests/new.sh", "tests/old.sh"))


def test_without_git_nothing_is_called_dirty_and_before_the_first_commit_every_frozen_file(place: Place) -> None:
    shutil.rmtree(place.root / ".git")
    assert look(place, plan()).facts.protected_dirty == ()
    place.git("init", "--quiet")
    facts = look(place, plan()).facts
    assert (facts.commit, facts.protected_dirty) == (None, ("tests/old.sh",))


NONE = Proof(kind="none", because="It is about the paths.")


def passing(place: Place) -> None:
    """Bring the active run to a passing review."""
    place.observe("baseline", GATE.run)
    place.observe("focused", CHECK.run)
    place.observe("broad", GATE.run)
    place.reviewed()


def test_what_artifacts_inputs_and_targets_would_hide_is_named(place: Place) -> None:
    wanted = lone("./run.sh x").model_copy(update={"artifacts": ("*.txt",), "inputs": ("tests",)})
    hidden = look(place, wanted).facts.hidden
    assert {(entry.glob, entry.path) for entry in hidden} >= {("*.txt", "greeting.txt"), ("tests", "tests/old.sh")}


def test_changed_paths_are_counted_from_the_start_of_the_run_and_others_than_targets_are_marked(place: Place) -> None:
    place.write("before.txt", "already there\n")
    place.approved()
    assert look(place).facts.changed == ()
    place.done(c.RunStart())
    place.work()
    place.write("tests/other.sh", "true\n")
    facts = look(place).facts
    assert facts.changed == ("greeting.txt", "tests/new.sh", "tests/other.sh")
    assert facts.outside == ("tests/other.sh",)


def test_what_an_earlier_attempt_left_in_the_tree_is_part_of_the_features_change(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    place.work()
    place.write("tests/other.sh", "true\n")
    place.done(c.RunReset(feature_id="bye", reason="again", next_feature_id="bye"))
    facts = look(place).facts
    assert facts.changed == ("greeting.txt", "tests/new.sh", "tests/other.sh")
    assert facts.outside == ("tests/other.sh",)
    first, second = (run.started_source for run in place.document.runs)
    place.write("more.txt", "more\n")
    place.forget_sources(first)
    assert look(place).facts.changed == ("more.txt",), "where the first start is lost, its own start is what is left"
    place.forget_sources(second)
    assert look(place).facts.changed == ()


def test_what_another_feature_may_change_that_ran_in_between_is_outside_only_where_this_attempt_changed_it(
    place: Place,
) -> None:
    wanted = plan(
        feature("base", targets=("base.txt",), proof=NONE),
        feature("top", targets=("top.txt",), proof=NONE, depends_on=("base",)),
    )
    place.approved(wanted)
    place.done(c.RunStart())
    place.write("base.txt", "1\n")
    place.work()
    passing(place)
    place.done(c.RunStart())
    place.write("top.txt", "1\n")
    place.write("stray.txt", "1\n")
    place.done(c.RunReset(feature_id="base", reason="again", next_feature_id="base"))
    place.write("base.txt", "2\n")
    passing(place)
    place.done(c.RunStart())
    facts = look(place).facts
    assert facts.changed == ("base.txt", "stray.txt", "top.txt")
    assert facts.outside == ("stray.txt",)
    place.write("base.txt", "3\n")
    assert look(place).facts.outside == ("base.txt", "stray.txt")


def test_where_the_start_of_the_run_is_lost_no_change_is_claimed(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    place.forget_sources()
    place.work()
    assert look(place).facts.changed == ()


def test_test_configuration_counts_where_the_approved_source_has_it_not(place: Place) -> None:
    place.write("pytest.ini", "[pytest]\n")
    assert look(place, plan()).facts.test_configuration == {}
    place.approved()
    assert look(place).facts.test_configuration == {}
    place.write("tox.ini", "[tox]\n")
    place.write("pytest.ini", "[pytest]\naddopts = -x\n")
    assert sorted(look(place).facts.test_configuration) == ["pytest.ini", "tox.ini"]


def test_where_the_approved_source_is_lost_every_test_configuration_counts_as_new(place: Place) -> None:
    place.write("pytest.ini", "[pytest]\n")
    place.approved()
    place.forget_sources()
    assert list(look(place).facts.test_configuration) == ["pytest.ini"]


# What is at hand.


def test_before_an_approval_nothing_is_missing(place: Place) -> None:
    assert hands(place, place.document, None) == AtHand(copy=True, start=True)


def test_what_is_kept_is_at_hand(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    assert hands(place, place.document, None) == AtHand(copy=True, start=True)


def test_lost_copies_are_made_anew_from_a_tree_that_is_still_the_same(place: Place) -> None:
    place.write("greeting.txt", "hello you\n")
    document = place.approved()
    place.write("greeting.txt", "hello all\n")
    place.done(c.RunStart())
    document = place.document
    place.forget_sources()
    started = manifest(place)
    assert hands(place, document, started) == AtHand(copy=False, start=True)
    assert has_copy(place.engine.space.private, document.runs[0].started_source)
    place.write("greeting.txt", "hello you\n")
    assert hands(place, document, manifest(place)) == AtHand(copy=True, start=True)


def test_a_lost_copy_is_made_anew_from_its_commit_and_serves_the_run_too(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    document = place.document
    place.forget_sources()
    place.work()
    assert hands(place, document, manifest(place)) == AtHand(copy=True, start=True)


@pytest.mark.parametrize("lost", ["commit", "tree"])
def test_what_neither_the_tree_nor_a_commit_gives_is_not_at_hand(place: Place, lost: str, tmp_path: Path) -> None:
    if lost == "tree":
        place.write("greeting.txt", "hello you\n")
    document = place.approved()
    assert (document.approvals[0].commit is None) == (lost == "tree")
    place.forget_sources()
    if lost == "commit":
        (place.root / ".git").rename(tmp_path / "git")
    place.work()
    assert hands(place, document, manifest(place)) == AtHand(copy=False, start=True)


def test_artifacts_of_the_plan_are_left_out_of_the_copy_that_is_made_anew(place: Place) -> None:
    place.write("made/out.bin", "made\n")
    place.git("add", ".")
    place.git("commit", "--quiet", "--message=with what is made")
    place.git("rm", "--quiet", "--cached", "made/out.bin")
    place.git("commit", "--quiet", "--message=without")
    place.approved(plan(feature(), artifacts=("made/**",)))
    document = place.document
    assert document.approvals[0].commit is not None
    place.forget_sources()
    place.work()
    assert hands(place, document, None).copy


def test_the_last_word_on_a_source_rests_on_nothing_remembered(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    remembered: list[tuple[str, bool]] = []
    real = workspace_facts.gather

    def noted(root: Path, records: Records, globs: workspace_facts.Globs, memory: Memory | None = None) -> Seen:
        remembered.append((asked[-1], memory is not None and memory.latest() is not None))
        return real(root, records, globs, memory)

    asked = ["plan_save"]
    monkeypatch.setattr(workspace_facts, "gather", noted)
    real_ask = place.engine.ask

    def named(ask: c.Ask, by: Asked, *, alone: bool = False) -> Done | Refused:
        asked.append(KINDS[type(ask)])
        return real_ask(ask, by, alone=alone)

    monkeypatch.setattr(place.engine, "ask", named)
    place.finished()
    place.done(c.Close(kind="completed", summary="It says bye."))
    by_kind = {kind: [memory for of, memory in remembered if of == kind] for kind, _ in remembered}
    last_words = {kind for kind, memories in by_kind.items() if not memories[0]} - {"plan_save"}
    assert last_words == {"plan_approve", "review_start", "review_submit", "close"}
    assert all(memories[0] for kind, memories in by_kind.items() if kind in {"run_start", "check_start"})


def test_test_configuration_counts_where_it_steers_a_frozen_test(place: Place) -> None:
    place.write("tests/deep/one.sh", "true\n")
    place.git("add", ".")
    place.git("commit", "--quiet", "--message=more")
    place.approved(plan(protected=("tests/deep/**",)))
    for path in (
        "conftest.py",
        "tests/conftest.py",
        "tests/deep/conftest.py",
        "tests/other/conftest.py",
        "src/pytest.ini",
    ):
        place.write(path, "")
    assert set(look(place).facts.test_configuration) == {"conftest.py", "tests/conftest.py", "tests/deep/conftest.py"}
    (place.root / "tests" / "deep" / "one.sh").unlink()
    assert "tests/conftest.py" in look(place).facts.test_configuration


def test_what_moved_since_a_source_was_judged_is_named_in_the_refusals(place: Place) -> None:
    place.approved()
    place.done(c.RunStart())
    place.work()
    place.evidence()
    assert look(place).facts.since_judged == ()
    review = str(place.done(c.ReviewStart(summary="done")).answer["assignment_id"])
    place.write("more.txt", "more\n")
    ask = c.ReviewSubmit(assignment_id=review, verdict="passed", summary="read")
    assert place.refused("review.source-unmoved", ask, REVIEWER).seen.endswith("was made: more.txt.")
    assert place.state().step.say.startswith("The source moved since the assignment: more.txt. Reset the run")
    (place.root / "more.txt").unlink()
    place.done(ask, REVIEWER)
    (place.root / "run.sh").chmod(0o644)
    place.write("tests/old.sh", "true\n")
    close = c.Close(kind="completed", summary="done")
    assert place.refused("close.source-unmoved", close).seen.endswith(": run.sh, tests/old.sh.")
    assert look(place).facts.since_judged == ("run.sh", "tests/old.sh")
    judged = place.document.runs[-1].review
    assert judged is not None
    place.forget_sources(judged.source)
    assert "not kept on this machine" in place.refused("close.source-unmoved", close).seen
