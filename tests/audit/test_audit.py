import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from flow_mcp import audit as package
from flow_mcp.audit import FINDERS, RESEALED, Gap, WorkspaceFacts, audit
from flow_mcp.cli.app import run as flow
from flow_mcp.domain import commands as c
from flow_mcp.domain.decision import HiddenPath
from flow_mcp.domain.model import Scope
from flow_mcp.domain.plan import DroppedCase, Gate, Plan, Proof
from flow_mcp.domain.rule import ALL_RULES, Rulebook
from flow_mcp.store.documents import PlansFolder
from tests.audit.doctored import HARMLESS, KNIVES, MORE, Closed, Knife, closed, finished_well
from tests.engine.place import CHECK, GATE, PERSON, Place, feature, make, plan
from tests.histories import ONE, approved
from tests.laws.follower import to_the_end
from tests.laws.moves import MOVES
from tests.laws.test_walks import STATES
from tests.simulator import Broken, No, World

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Closed:
    return closed(finished_well(tmp_path_factory.mktemp("audit") / "repo"))


@pytest.mark.parametrize(("gap", "knife"), [*KNIVES, *MORE])
def test_a_doctored_document_has_exactly_the_gap_that_was_cut(done: Closed, gap: str, knife: Knife) -> None:
    assert (set(done.names()), set(knife(done).names())) == (set(), {gap})


@pytest.mark.parametrize("knife", HARMLESS)
def test_what_may_be_otherwise_is_no_gap(done: Closed, knife: Knife) -> None:
    assert knife(done).names() == ()


def test_every_gap_has_its_knife() -> None:
    assert {gap for gap, _ in KNIVES} == {*FINDERS, RESEALED}


def test_a_gap_says_what_was_seen(done: Closed) -> None:
    for _, knife in KNIVES:
        assert all(gap.seen for gap in knife(done).gaps())


def test_the_audit_knows_the_model_alone() -> None:
    for path in sorted(Path(package.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("flow_mcp"):
                allowed = {"flow_mcp.audit", "flow_mcp.audit.record", "flow_mcp.domain.model", "flow_mcp.domain.plan"}
                assert node.module in allowed, (
                    f"{path.name} may not import {node.module}: it judges apart from the rules"
                )


# What honest work leaves has no gap.


def test_golden_documents_have_no_gap() -> None:
    for folder in sorted(GOLDEN.iterdir()):
        plans = PlansFolder(folder, ALL_RULES)
        for name in plans.names():
            held = plans.load(name)
            assert held is not None
            assert audit(held.document, held.lines, None) == ()


def lines_of(world: World) -> dict[str, tuple[str, ...]]:
    inline = {entry.digest: entry.lines for entry in world.document.listings if entry.lines is not None}
    return inline | world.lines


def there(world: World) -> WorkspaceFacts:
    files = world.protected | world.configuration
    hidden = {one.path: one.glob for one in world.hidden if one.present}
    return WorkspaceFacts(world.source, files, frozenset(world.configuration), hidden)


def closures(seed: int) -> list[World]:
    """Walk anywhere, and give every goal that could be closed as completed on the way, and the honest end."""
    random, found = Random(seed), []  # noqa: S311 - a walk that can be walked again
    world = random.choice(STATES)()
    for _ in range(random.randrange(25)):
        with suppress(No, Broken):
            MOVES[random.choice(sorted(MOVES))](world, random.randrange(1000))
        if world.document.closure is not None:
            break
        bold = world.clone()
        with suppress(No, Broken):
            bold.close()
            found.append(bold)
    if world.document.closure is None:
        to_the_end(world, 80)
    return [*found, world] if world.document.closure is not None else found


def judged(seeds: range) -> Counter[str]:
    """Walk from every seed, hold each closure against the audit, and count the kinds."""
    kinds: Counter[str] = Counter()
    for seed in seeds:
        for world in closures(seed):
            assert world.document.closure is not None
            kinds[world.document.closure.kind] += 1
            assert audit(world.document, lines_of(world), there(world)) == (), seed
    return kinds


def test_wherever_a_walk_leads_what_the_rules_let_close_has_no_gap() -> None:
    kinds = judged(range(60))
    assert kinds["completed"] > 20
    assert kinds["completed-with-waivers"] > 10


@pytest.mark.long
def test_no_gap_in_the_closures_of_thousands_of_walks() -> None:
    assert judged(range(60, 3000)).total() > 2000


@pytest.mark.long
def test_the_goal_of_the_demo_has_no_gap(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "flow_mcp", "demo", str(tmp_path / "words")], check=True, capture_output=True)
    told = flow(["verify", "--audit", "--workspace", str(tmp_path / "words")])
    assert told == 0


def _finished(rule: str, left_out: Scope | None, wanted: Plan = ONE) -> World:
    """Do everything for a feature with one rule out, but for one scope."""
    world = approved(Rulebook(frozenset({rule})), wanted)
    world.start()
    world.edit()
    for scope, what in world.wanted():
        if scope != left_out:
            world.observe(scope, what)
    return world


def _closed_world(world: World) -> tuple[Gap, ...]:
    world.review()
    world.verdict()
    world.close()
    return audit(world.document, lines_of(world), there(world))


def test_a_tracked_file_under_an_artifact_speaks_only_while_the_source_is_the_closed_one() -> None:
    world = _finished("plan.artifacts-narrow", None)
    world.hidden = (
        HiddenPath("out/", "out/b.py", "it is tracked", present=True),
        HiddenPath("out/", "out/conftest.py", "it could come", present=False),
    )
    (gap,) = _closed_world(world)
    assert gap == Gap("artifact-hides-source", "out/b.py is tracked and the artifact 'out/' hides it")
    moved = WorkspaceFacts("later", {}, frozenset(), {"out/b.py": "out/"})
    assert audit(world.document, lines_of(world), moved) == ()


@pytest.mark.parametrize(("rule", "scope"), [("review.baseline-taken", "baseline"), ("review.proof-shown", "proof")])
def test_with_a_rule_out_the_audit_sees_what_the_rule_would_have_refused(rule: str, scope: Scope) -> None:
    (gap,) = _closed_world(_finished(rule, scope))
    assert gap.id == f"{scope}-missing"


def test_a_workspace_that_is_still_the_closed_one_shows_changed_verifiers() -> None:
    world = _finished("review.protected-kept", None)
    world.protected, world.configuration = {"tests/test_kept.py": "sha256:weak"}, {"conftest.py": "sha256:new"}
    assert [gap.seen.split()[2] for gap in _closed_world(world)] == ["conftest.py", "tests/test_kept.py"]
    moved = WorkspaceFacts("later", {}, frozenset({"conftest.py"}), {})
    assert audit(world.document, lines_of(world), moved) == ()
    assert audit(world.document, lines_of(world), None) == ()


def test_where_a_plan_names_its_verifiers_new_test_configuration_is_not_judged() -> None:
    world = _finished("review.protected-kept", None, ONE.model_copy(update={"protected": ("tests/test_kept.py",)}))
    world.configuration = {"conftest.py": "sha256:known before"}
    assert _closed_world(world) == ()


def _place(root: Path) -> Place:
    root.mkdir()
    return Place(make(root))


def _waived(root: Path) -> Closed:
    """A test goes, a verifier is changed, and a proof is shown by hand; a person says yes to each."""
    place = _place(root)
    place.approved()
    place.done(c.RunStart())
    place.observe("baseline", GATE.run)
    place.work()
    (place.root / "tests/old.sh").unlink()
    place.observe("focused", CHECK.run)
    place.observe("broad", GATE.run)
    for kind, value in (("proof", "bye"), ("path", "tests/old.sh"), ("case", "old")):
        shown = {"because": "known", "shown_source": place.state().facts.digest}
        place.done(c.Waive.model_validate({"kind": kind, "value": value, **shown}), PERSON)
    place.reviewed()
    return closed(place)


def _greenfield(root: Path) -> Closed:
    place = _place(root)
    for name in ("tests/old.sh", "run.sh"):
        (place.root / name).unlink()
    place.git("commit", "--quiet", "--all", "--message=nothing yet")
    bare = Proof(kind="none", because="Nothing can be run without the change.")
    runner = plan(feature(targets=("greeting.txt", "run.sh", "tests/new.sh"), proof=bare))
    place.approved(runner)
    place.done(c.RunStart())
    place.observe("baseline", GATE.run)
    place.script("run.sh", "mkdir -p .flow/reports", *_runner())
    place.work()
    for scope, run in (("focused", CHECK.run), ("broad", GATE.run), ("baseline", GATE.run), ("broad", GATE.run)):
        place.observe(scope, run)  # type: ignore[arg-type]
    place.reviewed()
    return closed(place)


def _runner() -> list[str]:
    report = "<testsuite name='sh'><testcase classname='sh' name='new'/></testsuite>"
    return ["[ -f tests/new.sh ] && sh tests/new.sh || exit 1", f'echo "{report}" >"$1"']


def _documentation(root: Path) -> Closed:
    place = _place(root)
    shown = Proof(kind="none", because="Words only.")
    place.approved(plan(feature("words", targets=("README.md",), checks=(), proof=shown)))
    place.done(c.RunStart())
    place.write("README.md", "# Greetings\n")
    place.observe("baseline", GATE.run)
    place.observe("broad", GATE.run)
    place.reviewed()
    return closed(place)


def _mode_changed(root: Path) -> Closed:
    """A frozen test can be executed now; its bytes, which are what is frozen, are as they were."""
    place = _place(root)
    place.approved()
    place.done(c.RunStart())
    place.work()
    (place.root / "tests/old.sh").chmod(0o755)
    place.evidence()
    place.reviewed()
    one = closed(place)
    (review,) = (run.review for run in one.document.runs)
    assert review is not None
    assert (review.modes_changed, "tests/old.sh" in review.changed_paths) == (("tests/old.sh",), True)
    return one


def _dropping(root: Path) -> Closed:
    place = _place(root)
    given_up: Plan = plan(
        feature(targets=("greeting.txt", "tests/new.sh", "tests/old.sh")),
        dropped_cases=(DroppedCase(case="old", because="It goes."),),
    )
    place.approved(given_up)
    place.done(c.RunStart())
    place.observe("baseline", GATE.run)
    place.work()
    (place.root / "tests/old.sh").unlink()
    place.evidence()
    place.reviewed()
    return closed(place)


def _no_report(root: Path) -> Closed:
    place = _place(root)
    gate = Gate(run="sh tests/old.sh", no_report_because="It is one line.")
    shown = Proof(kind="none", because="Words only.")
    place.approved(plan(feature("words", targets=("README.md",), checks=(), proof=shown), gate=gate))
    place.done(c.RunStart())
    place.write("README.md", "# Greetings\n")
    place.observe("baseline", gate.run)
    place.observe("broad", gate.run)
    place.reviewed()
    return closed(place)


def _resealed(root: Path) -> Closed:
    place = _place(root)
    place.finished()
    document = place.document
    path = place.root / "plans" / f"{document.plan_id}.json"
    path.write_bytes(path.read_bytes().replace(b"Say good-bye too.", b"Say bye too."))
    edited = place.engine.edited(document.plan_id)
    from flow_mcp.engine.core import Asked, Done  # noqa: PLC0415 - used here alone
    from flow_mcp.engine.resealing import whole_digest  # noqa: PLC0415 - the same

    shown = whole_digest(edited.document)  # type: ignore[union-attr]
    done = place.engine.reseal(Asked(PERSON), document.plan_id, "mended by hand", shown)
    assert isinstance(done, Done), done
    place.approve()
    place.done(c.RunStart())
    place.evidence()
    place.observe("baseline", GATE.run)
    place.observe("broad", GATE.run)
    place.reviewed()
    return closed(place)


@pytest.mark.parametrize(
    "work", [_waived, _greenfield, _documentation, _mode_changed, _dropping, _no_report, _resealed]
)
def test_honest_work_of_every_kind_has_no_gap(tmp_path: Path, work: Callable[[Path], Closed]) -> None:
    one = work(tmp_path / "repo")
    assert one.closure.kind.startswith("completed")
    assert one.gaps() == ()


@pytest.mark.parametrize("kind", ["deferred", "abandoned", "accepted"])
def test_what_claims_no_completion_is_not_judged(done: Closed, kind: str) -> None:
    bare = done.but(closure=done.closure.model_copy(update={"kind": kind}), runs=(), approvals=(), baselines=())
    assert bare.gaps() == ()
    assert done.but(closure=None, runs=()).gaps() == ()
