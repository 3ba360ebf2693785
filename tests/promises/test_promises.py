"""Every promise of ``flow_mcp.promises`` that is built has its test, and every test stands for one that is there."""

from flow_mcp.promises import ATTESTED, OPEN
from tests.promises import test_attested, test_open
from tests.promises.rig import promised

UNBUILT = {"attest.write-scope"}
"""Nothing of these is built; the page says so."""


def test_every_attested_fact_is_one_that_the_model_tried_to_supply() -> None:
    assert promised(test_attested) == {row.id for row in ATTESTED} - UNBUILT
    assert all(row.deferred for row in ATTESTED if row.id in UNBUILT)


def test_every_gap_that_can_be_shown_is_shown_open() -> None:
    assert promised(test_open) == {row.id for row in OPEN if row.note is None}
