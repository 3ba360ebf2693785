"""What helps a record that cannot be read: what git has of it, or a person's own hand where git has nothing."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.store.documents import SUFFIX, Damaged
from flow_mcp.workspace.git import open_repository


def fitting(folder: Path, damaged: Mapping[str, BrokenWorld]) -> dict[str, BrokenWorld]:
    """Give each damage with a remedy that fits: git is named only where git has the file.

    Args:
        folder: the plans folder.
        damaged: what is wrong with each document that does not load, by plan id.
    """
    known = _in_git(folder, [name + SUFFIX for name in damaged]) if damaged else frozenset[str]()
    return {name: error if name + SUFFIX in known else _by_hand(error) for name, error in damaged.items()}


def _by_hand(error: BrokenWorld) -> BrokenWorld:
    if not isinstance(error, Damaged) or "git" not in error.remedy:
        return error
    reseal = f"a person takes it over with `flow-mcp reseal {error.plan_id} --because …`."
    remedy = (
        f"Git has no earlier state of it. Mend it by hand until `flow-mcp verify` names its chain alone; then {reseal}"
    )
    if error.fault in {"chain", "invariant"}:
        remedy = f"Git has no earlier state of it. Undo the edit, or, where it is meant, {reseal}"
    return Damaged(error.plan_id, error.fault, error.seen.partition(": ")[2], remedy)


def _in_git(folder: Path, names: Iterable[str]) -> frozenset[str]:
    """Give those of the files of a folder that its repository keeps; none without a repository, or git."""
    top = next((one for one in (folder, *folder.parents) if os.path.lexists(one / ".git")), None)
    repository = None if top is None else open_repository(top)
    if top is None or repository is None:
        return frozenset()
    way = folder.relative_to(top).as_posix()
    listed = repository.answer("ls-files", "-z", "--", *(f"{way}/{name}" for name in names)) or b""
    return frozenset(path.rpartition("/")[2] for path in listed.decode("utf-8", "surrogateescape").split("\0") if path)
