"""Documents for those who only read: nothing is written, not even the private folder."""

import os
from dataclasses import dataclass
from pathlib import Path

from flow_mcp.cli.options import start
from flow_mcp.domain.decision import Refused, call
from flow_mcp.domain.rule import ALL_RULES
from flow_mcp.settings import Settings, load_settings
from flow_mcp.store.documents import PlansFolder, Stored
from flow_mcp.workspace.root import find_root, worktree_id


@dataclass(frozen=True, slots=True)
class Records:
    """The documents of a workspace.

    Attributes:
        root: the workspace.
        settings: what is in force there.
        plans: its plans folder.
    """

    root: Path
    settings: Settings
    plans: PlansFolder

    @property
    def worktree(self) -> str:
        """The id of this worktree, or nothing where Flow never worked in it."""
        private = self.root / ".flow"
        return worktree_id(private) if os.path.lexists(private / "worktree") else ""


def records(workspace: Path | None) -> Records:
    """Find the documents.

    Raises:
        BrokenWorld: where the workspace or its settings cannot be used.
    """
    root = find_root(start(workspace))
    settings = load_settings(root, dict(os.environ), {}, None)
    return Records(root, settings, PlansFolder(root / settings.plans, ALL_RULES))


def read_plan(held: Records, plan_id: str | None) -> Stored | Refused:
    """Read the document that is meant, the one in force here where none is named.

    Raises:
        BrokenWorld: where it cannot be read.
    """
    from flow_mcp.engine.folder import choose, read_folder  # noqa: PLC0415 - `verify` needs no engine

    found = choose(read_folder(held.plans), held.worktree, plan_id, None, "")
    if isinstance(found, Refused) or found.document.revision:
        return found
    remedy = call("plan_save", {}, ("goal", "plan"), "An agent saves one, through the server.")
    return Refused("plan.approved-first", "There is no plan yet.", remedy, retryable=False)
