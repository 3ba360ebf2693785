"""Answers as they go out: the same compact JSON as structured content and as text, and never too much of it.

Several hosts show the model only one of the two, so neither may hold what the other lacks.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from mcp_types import CallToolResult, TextContent

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.server.desk import Reply

REPLY_CHARACTERS_MAX: Final = 20_000
"""So many characters of JSON go out at most; hosts cut or hide longer answers in ways of their own."""

_KEEP: Final = (2_000, 500, 100, 20, 0)
_KEYS_MAX: Final = 40


def result(reply: Reply) -> CallToolResult:
    """Return the answer of a tool on the wire.

    The desk keeps its answers short. One that is not is cut here as a last resort: long texts and lists lose
    their ends, and `truncated` says so. Half a surrogate pair becomes `?`.

    Raises:
        TypeError, ValueError, RecursionError: the body is not JSON.
    """
    text = _fitted(reply.body)
    return CallToolResult(
        content=[TextContent(text=text)], structured_content=json.loads(text), is_error=reply.is_error
    )


def failure(error: BaseException) -> Reply:
    """Return what is told of an exception: a broken world in its own words, a broken program by its kind alone."""
    if isinstance(error, BrokenWorld):
        broken = {"seen": error.seen, "remedy": error.remedy}
        return Reply({"summary": f"{error.seen} {error.remedy}", "broken": broken}, is_error=True)
    kind = type(error).__name__
    summary = f"Flow failed inside ({kind}). It goes on; its standard error has the details."
    return Reply({"summary": summary}, is_error=True)


def clean(text: str) -> str:
    """Return a text that UTF-8 can carry; half a surrogate pair becomes `?`."""
    return text.encode("utf-8", "replace").decode()


def _compact(body: Mapping[str, Any]) -> str:
    return clean(json.dumps(dict(body), ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def _fitted(body: Mapping[str, Any]) -> str:
    """Return the body as JSON within the bound, as much of it as fits."""
    text = _compact(body)
    if len(text) <= REPLY_CHARACTERS_MAX:
        return text
    said = (
        f"This answer had {len(text):,} characters and was cut to fit {REPLY_CHARACTERS_MAX:,}. "
        "Ask for less at once to see the rest."
    )
    shorter = (_compact({**_shortened(json.loads(text), keep), "truncated": said}) for keep in _KEEP)
    return next((one for one in shorter if len(one) <= REPLY_CHARACTERS_MAX), _compact({"truncated": said}))


def _shortened(body: dict[str, Any], keep: int) -> dict[str, Any]:
    """Return the outermost object with its values cut; the first names are the ones that matter."""
    return {key[:_KEYS_MAX]: _cut(value, keep) for key, value in [*body.items()][:_KEYS_MAX]}


def _cut(value: Any, keep: int) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        return value if len(value) <= keep else value[:keep] + "…"
    if isinstance(value, list):
        return [_cut(item, keep) for item in value[:keep]]
    if isinstance(value, dict):
        return {key[:_KEYS_MAX]: _cut(item, keep) for key, item in [*value.items()][:keep]}
    return value
