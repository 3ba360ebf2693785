"""What a refusal names really helps."""

import pytest

from flow_mcp.domain.commands import KINDS, Ask
from tests.laws.follower import leads_on
from tests.refusals.cells import CELLS
from tests.refusals.test_refusals import REGISTERED

assert REGISTERED


@pytest.mark.parametrize(("kind", "rule_id"), list(CELLS), ids=[f"{KINDS[kind]}-{rule}" for kind, rule in CELLS])
def test_following_a_remedy_is_accepted_or_leads_on(kind: type[Ask], rule_id: str) -> None:
    world, act = CELLS[kind, rule_id]()
    refused = world.refusal(act)
    assert len(leads_on(world, refused, hops=4)) < 4
