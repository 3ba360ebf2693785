from flow_mcp.domain.digest import digest_json
from flow_mcp.domain.listing import LINES_MAX, listing_of, manifest_lines, with_listings
from tests.fabricated import RED, Result, but
from tests.histories import approved, running
from tests.simulator import World

MANY = tuple(f"unit :: case {number:05}" for number in range(LINES_MAX + 1))


def test_a_listing_is_sorted_each_line_once_and_named_by_its_digest() -> None:
    listing = listing_of(["b", "a", "b"])
    assert listing.lines == ("a", "b")
    assert (listing.count, listing.digest) == (2, digest_json(["a", "b"]))


def test_a_manifest_is_written_as_digest_and_path() -> None:
    assert manifest_lines({"b c": "sha256:2", "a": "sha256:1"}) == ("sha256:1 a", "sha256:2 b c")


def test_the_longest_list_stands_in_the_document_and_a_longer_one_beside_it() -> None:
    assert listing_of(MANY[:-1]).lines == MANY[:-1]
    beside = listing_of(MANY)
    assert (beside.lines, beside.count) == (None, LINES_MAX + 1)


def test_a_list_of_long_lines_stands_beside_the_document_too() -> None:
    long = tuple(f"{number} " + "x" * 1_000 for number in range(140))
    assert listing_of(long[:100]).lines is not None
    assert listing_of(long).lines is None


def test_cases_in_a_sidecar_are_kept_as_others_are() -> None:
    world = running()
    world.suite = MANY
    world.check("baseline")
    assert [entry.lines for entry in world.document.listings if entry.count > LINES_MAX] == [None]
    world.suite = MANY[1:]
    world.show()
    assert world.refusal(world.review).rule == "review.cases-kept"


def test_without_its_sidecar_no_review_is_accepted() -> None:
    world = running()
    world.suite = MANY
    world.check("baseline")
    world.lines = {}
    world.suite = ("unit :: other",)
    world.show()
    refused = world.refusal(world.review)
    assert refused.rule == "review.cases-kept"
    assert "missing beside its document" in refused.seen


def test_what_no_rule_asks_for_any_more_is_dropped() -> None:
    world = running()
    for number in range(5):
        world.check("broad", result=Result(passing=(f"unit :: {number}",)))
    assert len([entry for entry in world.document.listings if entry.lines == ("unit :: 4",)]) == 1
    assert len(world.document.listings) == 2


def test_an_unreadable_report_brings_no_list() -> None:
    world = approved()
    world.check("baseline", result=but(RED, reason="malformed"))
    assert [entry.lines for entry in world.document.listings] == [("sha256:kept tests/test_kept.py",)]


def test_a_document_without_a_plan_refers_to_no_list() -> None:
    assert with_listings(World().document, (listing_of(["a"]),)).listings == ()
