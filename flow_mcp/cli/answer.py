"""What a verb answers: a body for programs, a page for people, and an exit code."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

from pydantic import JsonValue

from flow_mcp.cli.codes import DONE, USAGE, WORLD
from flow_mcp.domain.errors import BrokenWorld

Style = Literal["plain", "strong", "good", "bad", "faint"]
Body = Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Words:
    """A paragraph."""

    text: str
    style: Style = "plain"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names, each with one or more lines of what is so."""

    rows: tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A table with a heading for each column."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Raw:
    """Text that keeps its own lines, such as Markdown or a configuration."""

    text: str


Block = Words | Facts | Rows | Raw


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a command.

    Attributes:
        body: what ``--json`` prints.
        page: what a person reads.
        code: the exit code.
        complaint: the page belongs on standard error.
        aside: what a person reads beside a page that is meant for a file; on standard error.
        as_json: print the body.
    """

    body: Body
    page: Sequence[Block]
    code: int = DONE
    complaint: bool = False
    aside: Sequence[Block] = ()
    as_json: bool = False

    def told(self, *, as_json: bool) -> Self:
        """Say in which form it is printed."""
        return replace(self, as_json=as_json)


class Misused(Exception):  # noqa: N818 - named for what it means: the command was misused
    """Tell a person that the command was not understood, and what to write instead."""

    def __init__(self, seen: str, remedy: str) -> None:
        super().__init__(f"{seen} {remedy}")
        self.seen = seen
        self.remedy = remedy


def trouble(error: BrokenWorld | Misused) -> Answer:
    """Tell what was seen and what to do."""
    code = WORLD if isinstance(error, BrokenWorld) else USAGE
    page = (Words(error.seen, "bad"), Words(error.remedy))
    return Answer({"error": {"seen": error.seen, "remedy": error.remedy}}, page, code, complaint=True)
