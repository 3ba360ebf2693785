"""Which files of the plans folder are Flow's own records, and so no part of the source."""

import re
from dataclasses import dataclass

from flow_mcp.workspace.paths import safe_relative

_ENDINGS = re.compile(r"\.(?:json|md|[0-9a-f]{32}\.lines)")
_TEMPORARY = re.compile(r"\.(?P<of>.+)\.[0-9a-f]{16}\.tmp")


@dataclass(frozen=True, slots=True)
class Records:
    """The records of the plans that were read, by id; whatever else lies in the folder is source.

    Were the whole folder left out, a repository that names its code as the plans folder could change it unseen.

    Attributes:
        folder: the plans folder, relative to the root.
        ids: the plans whose documents hold.
    """

    folder: str
    ids: frozenset[str]

    def __post_init__(self) -> None:
        safe_relative(self.folder)

    def own(self, path: str) -> bool:
        """Say whether a path of the workspace is a record."""
        if not path.startswith(self.folder + "/"):
            return False
        name = path.removeprefix(self.folder + "/")
        temporary = _TEMPORARY.fullmatch(name)
        name = name if temporary is None else temporary["of"]
        plan_id = name.partition(".")[0]
        return plan_id in self.ids and _ENDINGS.fullmatch(name.removeprefix(plan_id)) is not None
