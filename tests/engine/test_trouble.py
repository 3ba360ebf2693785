import pytest

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.engine.trouble import rule_of
from flow_mcp.settings import SettingsFault
from flow_mcp.store.documents import Damaged
from flow_mcp.store.files import Unwritable
from flow_mcp.store.lock import Busy
from flow_mcp.workspace.paths import Inaccessible


@pytest.mark.parametrize(
    ("error", "rule", "retryable"),
    [
        (Damaged("p", "chain", "seen", "remedy"), "write.chain-intact", False),
        (Damaged("p", "shape", "seen", "remedy"), "write.whole-schema", False),
        (Busy("seen", "remedy"), "write.atomic-locked", True),
        (Unwritable("seen", "remedy"), "write.atomic-locked", True),
        (Inaccessible("seen", "remedy"), "attest.source", True),
        (SettingsFault.__new__(SettingsFault), "policy.unmoved", False),
    ],
)
def test_every_trouble_names_the_promise_that_it_touches(error: BrokenWorld, rule: str, *, retryable: bool) -> None:
    assert rule_of(error) == (rule, retryable)
