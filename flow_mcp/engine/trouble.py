"""Which promise a broken world touches, so that every refusal names a rule."""

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.store.documents import Damaged
from flow_mcp.store.lock import Busy


def rule_of(error: BrokenWorld) -> tuple[str, bool]:
    """Name the rule behind a broken world, and say whether trying again could help."""
    if isinstance(error, Damaged):
        return ("write.chain-intact" if error.fault == "chain" else "write.whole-schema"), False
    if isinstance(error, Busy):
        return "write.atomic-locked", True
    module = type(error).__module__
    if module.startswith("flow_mcp.workspace"):
        return "attest.source", True
    if module.startswith("flow_mcp.settings"):
        return "policy.unmoved", False
    return "write.atomic-locked", True
