"""What the MCP half and the desk behind it say to each other.

The MCP half knows the wire, both protocol eras and the shape of an answer; the desk knows what a tool does.
Neither side names a type of the other's libraries: this module imports the standard library alone, so a desk
is tested without a server and a server with a toy desk.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool as clients see it.

    Attributes:
        name: at most 30 of `a-z_`, because hosts put their own prefix before it and clip the whole.
        title: the name for a person.
        description: what the tool does, at most 2,000 characters (a host clips there).
        schema: the closed input schema (`schema.input_schema`): no `$ref`, no open object.
        read_only: a host may call it without asking.
        destructive: it may take something away that work has built.
        idempotent: the same call again changes nothing more.
        listed: False keeps the tool callable but out of `tools/list`: it is for the host, not for the model.
    """

    name: str
    title: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool
    destructive: bool
    idempotent: bool
    listed: bool = True


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """One argument of a prompt; its value is always text."""

    name: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True)
class PromptRow:
    """One prompt as clients see it."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]


@dataclass(frozen=True, slots=True)
class ResourceRow:
    """One readable text; `uri` holds `{name}` parts where it is a template."""

    uri: str
    name: str
    title: str
    mime: str

    @property
    def is_template(self) -> bool:
        """Whether a client fills in a part of the uri before it reads."""
        return "{" in self.uri


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool answers: an object that goes out as structured content and, the same, as text."""

    body: Mapping[str, Any]
    is_error: bool


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that a person fills in.

    Attributes:
        kind: a tick, one of `options`, or a line of text.
        options: what a choice offers; empty for the other kinds.
    """

    name: str
    title: str
    description: str
    kind: Literal["tick", "choice", "text"]
    options: tuple[str, ...]
    required: bool


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked, in full.

    An answer counts for exactly these bytes: put every digest and revision that the answer is about into
    `message`, and a changed one makes Flow ask anew.
    """

    message: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the person did with a question.

    Attributes:
        action: accepted the form, declined, or closed it without choosing.
        content: the filled fields by name; every required one is there when `action` is accept.
    """

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, bool | str]


class Session(Protocol):
    """The client of one call, as the desk sees it."""

    @property
    def client_name(self) -> str | None:
        """What the client calls itself (unproven), or None where it gives no name."""

    @property
    def protocol(self) -> str:
        """The protocol version in use, such as `2025-11-25`."""

    @property
    def meta(self) -> Mapping[str, Any]:
        """What the client attached to this request, without the protocol's own keys."""

    @property
    def can_ask(self) -> bool:
        """Whether the client says that it can show a form to its person."""

    async def ask(self, question: Question) -> Answer | None:
        """Ask the client's person, and wait for the answer.

        From 2026-07-28 on, a server sends no requests: the call ends here, the client asks the person and
        sends the same call again, and the desk is entered a second time from its start; there the same `ask`
        returns the answer. So write `ask` before anything that leaves a trace, in the task of the call
        itself, and ask in the same order each time; on both passes gather the facts of the question anew.
        Up to 2025-11-25 the call simply waits here. Nothing else differs between the eras.

        Returns:
            What the person did, or None where nobody could be asked or the client's answer does not fit the
            question: treat None as no consent.
        """

    async def progress(self, done: float, total: float | None, message: str) -> None:
        """Say how far the call is; nothing is sent to a client that did not ask for it."""


class Desk(Protocol):
    """What stands behind the tools.

    Calls run side by side on one event loop: blocking work belongs in a worker thread. A cancelled call gets
    `asyncio.CancelledError`, as does every call when the server ends.
    """

    async def call(self, name: str, arguments: dict[str, Any], session: Session) -> Reply:
        """Answer one tool call; `arguments` is any JSON object, not validated.

        `BrokenWorld` becomes an answer that tells its two sentences; any other exception becomes one that
        names no detail, and the detail goes to standard error.
        """

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt of the table; its required arguments are there and no others."""

    async def read(self, uri: str) -> str | None:
        """Return the text at a uri, or None where there is none. Any uri may be asked for."""
