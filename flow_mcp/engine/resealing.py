"""Which documents a person can take over that were edited outside Flow (row write.chain-intact)."""

from flow_mcp.domain.decision import Refused, call
from flow_mcp.domain.digest import digest_json
from flow_mcp.domain.model import Document
from flow_mcp.engine.folder import choose, read_folder
from flow_mcp.store.documents import Damaged, PlansFolder, Stored


def edited(plans: PlansFolder, worktree: str, plan_id: str) -> Stored | Refused:
    """Give a document that was edited outside Flow; refuse one that holds.

    Raises:
        Damaged: where no reseal can help, because the text or the shape of the document is broken.
    """
    try:
        held = plans.load_edited(plan_id)
    except Damaged as error:
        raise beyond_reseal(plan_id, error.seen.partition(": ")[2]) from error
    folder = read_folder(plans)
    if held is None or plan_id in folder.stored:
        found = choose(folder, worktree, plan_id, None, "")
        return found if isinstance(found, Refused) else _not_edited(plan_id)
    if held.lost():
        raise beyond_reseal(plan_id, f"the list {held.lost()[0]} that it names is missing or was edited too.")
    return held


def whole_digest(document: Document) -> str:
    """Name a document with its operations, which its body digest leaves out."""
    return digest_json(document.as_json())


def beyond_reseal(plan_id: str, why: str) -> Damaged:
    """Say what a person does where no reseal helps."""
    remedy = (
        "Restore it from git, read it with the version of flow-mcp that wrote it, or mend it by hand until "
        "`flow-mcp verify` names its chain alone; then a person can reseal it."
    )
    return Damaged(plan_id, "shape", f"no reseal can help: {why}", remedy)


def _not_edited(plan_id: str) -> Refused:
    seen = f"{plan_id} was not edited outside Flow, so a reseal would only throw its evidence away."
    remedy = call("status", {"plan_id": plan_id}, (), "Go on with it; status names the next call.")
    return Refused("write.chain-intact", seen, remedy, retryable=False)
