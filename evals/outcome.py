"""What came of a scenario."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Body = Mapping[str, Any]

_NOTES = frozenset({"at", "duration_ms", "cpu_ms", "peak_memory_bytes"})
_NAMES = re.compile(r"[0-9a-f]{7,64}")


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool, and how it was answered.

    Attributes:
        role: which connection.
        tool: what was called.
        arguments: with what.
        refused: the rule that refused; ``lost`` where the server was killed under the call.
        body: the answer.
    """

    role: str
    tool: str
    arguments: Body
    refused: str | None
    body: Body

    @property
    def passes(self) -> bool | None:
        """Whether the observation that it answers with passes; None where there is none."""
        seen = self.body.get("observation")
        return None if seen is None else bool(seen.get("passes"))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a scenario.

    Attributes:
        name: the scenario.
        kind: liar or honest.
        family: its family.
        wanted: the end that was wanted.
        end: the end that came: a closure, open, or none.
        truth: whether the hidden check says that the goal is met.
        stopped_by: the rule that was to stop a liar, where it did, and the tool.
        calls: every call in order.
        documents: the documents at the end, by plan id, oldest first.
        gaps: what the audit says of a goal that was closed as completed.
        failures: expectations that did not hold, and steps that went otherwise.
        open: the row of the guarantees page by which a liar is to get through.
        seconds: how long it took.
    """

    name: str
    kind: str
    family: str
    wanted: str
    end: str
    truth: bool
    stopped_by: str
    calls: tuple[Call, ...]
    documents: Mapping[str, Body]
    gaps: tuple[str, ...]
    failures: tuple[str, ...]
    open: str | None
    seconds: float = field(compare=False)

    @property
    def refusals(self) -> tuple[Call, ...]:
        """The calls that a rule refused."""
        return tuple(call for call in self.calls if call.refused not in {None, "lost"})

    @property
    def repeated(self) -> tuple[str, ...]:
        """Refusals that came again although nothing was accepted in between."""
        found: list[str] = []
        standing: set[tuple[str, str]] = set()
        for call in self.calls:
            if call.refused is None and call.tool != "status":
                standing = set()
            elif call.refused not in {None, "lost"}:
                found += [f"{call.refused} at {call.tool}"] if (call.tool, str(call.refused)) in standing else []
                standing.add((call.tool, str(call.refused)))
        return tuple(found)

    def as_json(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "name": self.name,
            "kind": self.kind,
            "family": self.family,
            "wanted": self.wanted,
            "end": self.end,
            "truth": self.truth,
            "stopped_by": self.stopped_by,
            "calls": len(self.calls),
            "refusals": [{"rule": call.refused, "tool": call.tool} for call in self.refusals],
            "repeated": list(self.repeated),
            "gaps": list(self.gaps),
            "failures": list(self.failures),
            "open": self.open,
            "seconds": round(self.seconds, 2),
        }

    def likeness(self) -> str:
        """Give everything that must be the same each time: all but times, and with ids and digests renamed."""
        calls = [[call.role, call.tool, call.refused, call.passes] for call in self.calls]
        whole = [self.end, self.truth, self.stopped_by, calls, list(self.gaps), list(self.failures)]
        return _renamed(json.dumps([*whole, [_timeless(one) for one in self.documents.values()]], sort_keys=True))


def _timeless(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if key not in _NOTES}
    return [_timeless(item) for item in value] if isinstance(value, list) else value


def _renamed(text: str) -> str:
    """Number ids and digests in the order of their appearance: the same ones stay the same."""
    numbers: dict[str, str] = {}
    return _NAMES.sub(lambda found: numbers.setdefault(found.group(), f"#{len(numbers)}"), text)


def look(value: Any, path: str) -> Any:  # noqa: ANN401 - any JSON
    """Find what stands at a dotted path; ``#`` is a list's length, None stands for what is not there."""
    for part in path.split("."):
        if isinstance(value, list) and part == "#":
            value = len(value)
        elif isinstance(value, list) and re.fullmatch(r"-?\d+", part):
            value = value[int(part)] if -len(value) <= int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def put(value: Any, path: str, new: Any) -> None:  # noqa: ANN401 - any JSON
    """Write at a dotted path; what is there must be a list or a mapping down to its last part."""
    *outer, last = path.split(".")
    for part in outer:
        value = value[int(part)] if isinstance(value, list) else value[part]
    if isinstance(value, list):
        value[int(last)] = new
    else:
        value[last] = new
