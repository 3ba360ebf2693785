"""Cleaning up after runners that were killed: what their commands left running, their copies, their tickets."""

from flow_mcp.engine.core import Engine
from flow_mcp.engine.keeper import opened_ticket
from flow_mcp.runner.lost import end_lost
from flow_mcp.runner.order import is_token
from flow_mcp.workspace.disposal import clear_disposed, own_mark
from flow_mcp.workspace.folders import private_folder, remove_tree


def clean_up(engine: Engine, *, spared: bool) -> int:
    """End what lost runners left, and forget what was asked of them; say how many processes were ended.

    Whoever calls holds the slot, so that no check runs that it could be meant for. ``spared`` leaves the copy that the
    next check can use.

    Raises:
        BrokenWorld: where a link stands in place of a private folder, or something cannot be removed.
    """
    folder = private_folder(engine.space.private, "checks")
    engine.cancels.clear()
    ended, own = 0, own_mark(engine.space.private)
    for path in sorted(folder.glob("*.ticket")):
        ticket = opened_ticket(path)
        # What runs elsewhere under a ticket that was copied with the workspace is another one's.
        if ticket is not None and ticket.place == own and is_token(ticket.token):
            ended += end_lost(ticket.token)
        remove_tree(path)
    clear_disposed(engine.space.private, spared=spared)
    return ended
