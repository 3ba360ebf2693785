"""What a first plan tends to miss, said once when it is saved; nothing of it refuses."""

from pathlib import Path

from flow_mcp.domain.model import Document
from flow_mcp.engine.gather import Gathered

LISTED_MAX = 8

_CACHES = (".venv", "venv", "node_modules", "target", "build", ".tox")


def advise(root: Path, document: Document, seen: Gathered | None) -> list[str]:
    """Give sentences on inputs, frozen files and uncommitted changes."""
    plan = document.plan
    if plan is None or seen is None:
        return []
    found: list[str] = []
    missing = [name for name in _CACHES if (root / name).is_dir() and name not in plan.inputs]
    if missing:
        found.append(f"Commands on the approved source see ignored folders only as inputs: {missing} are there.")
    if seen.seen.commit is None:
        found.append("There is no commit yet: commit first, so that the approved source can be rebuilt later.")
    elif not seen.seen.clean:
        found.append("The tree differs from HEAD: commit first, so that the approved source can be rebuilt later.")
    dirty = seen.facts.protected_dirty
    if dirty:
        found.append(f"Test files that differ from HEAD would be frozen as they are now: {list(dirty[:LISTED_MAX])}.")
    frozen = len(seen.facts.protected)
    targeted = {target for feature in plan.features for target in feature.targets} & set(seen.facts.protected)
    if frozen:
        found.append(
            f"{frozen} test and configuration files are frozen at approval; a feature may change one only if its "
            f"targets name that path literally (now: {sorted(targeted)[:LISTED_MAX]})."
        )
    return found
