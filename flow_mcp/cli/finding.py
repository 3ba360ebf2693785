"""One line of the doctor."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "advice", "problem"]


@dataclass(frozen=True, slots=True)
class Finding:
    """How it is, what was looked at, what was seen, and what to do."""

    level: Level
    what: str
    seen: str
    remedy: str = ""
