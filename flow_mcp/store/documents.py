"""The plans folder: load, check and save the documents of goals."""

import re
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.domain.invariants import breaches
from flow_mcp.domain.model import SCHEMA, Document
from flow_mcp.domain.rule import Rulebook
from flow_mcp.store import chain, codec, files, sidecars
from flow_mcp.store.marks import Mark, marks
from flow_mcp.store.sidecars import Lines

SUFFIX = ".json"
STALE_S = 600.0
KEPT_BYTES_MAX = 64 * 1024 * 1024
"""So many bytes of documents are kept parsed; what comes on top is read anew each time."""

_PLAN_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,79}")


def is_plan_id(text: str) -> bool:
    """Say whether a plan may be called so: its document's file is named like it."""
    return _PLAN_ID.fullmatch(text) is not None


class Damaged(BrokenWorld):
    """A document that is refused and left as it is.

    Attributes:
        plan_id: whose document it is.
        fault: what kind of damage: its text, its shape, its hash chain, or what must be true of it.
    """

    def __init__(
        self, plan_id: str, fault: Literal["text", "shape", "chain", "invariant"], seen: str, remedy: str
    ) -> None:
        super().__init__(f"plans document {plan_id}: {seen}", remedy)
        self.plan_id = plan_id
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Stored:
    """A document as it was loaded, with the listings that its sidecar files hold."""

    document: Document
    lines: Lines

    def lost(self) -> tuple[str, ...]:
        """Name the listings that nobody can read: their sidecar is gone, or holds other lines."""
        return tuple(entry.digest for entry in self.document.listings if entry.digest not in self.lines)


@dataclass(frozen=True, slots=True)
class _Kept:
    """What came of a document's bytes, and the marks of its files where those alone prove that it is still so."""

    data: bytes
    held: Stored
    marks: Mapping[str, Mark | None] | None

    def is_current(self, seen: Mapping[str, Mark]) -> bool:
        return self.marks is not None and all(seen.get(name) == mark for name, mark in self.marks.items())


def _restore(plan_id: str) -> str:
    return (
        f"Restore it from git (git checkout -- {plan_id}{SUFFIX} in the plans folder), or, where the edit is meant, a "
        f"person takes it over with `flow-mcp reseal {plan_id} --because …`."
    )


class PlansFolder:
    """The documents of one workspace. Reading needs no lock, since a rename replaces a file whole.

    What was loaded is kept, and given again while its files are untouched, or while their bytes are equal.
    """

    def __init__(self, folder: Path, book: Rulebook) -> None:
        """Name the folder; it need not exist yet."""
        self.folder = folder
        self._book = book
        self._kept: dict[str, _Kept] = {}
        self._mutex = threading.Lock()

    def names(self) -> tuple[str, ...]:
        """Give the ids of the documents that are there, whatever is in them."""
        return _plan_ids(files.list_names(self.folder, SUFFIX))

    def load(self, plan_id: str) -> Stored | None:
        """Load a document that holds in every way; None when there is none.

        Raises:
            Damaged: for a document that does not hold; its bytes stay as they are.
            BrokenWorld: where the file cannot be read.
        """
        now_ns = time.time_ns()
        return self._load(plan_id, marks(self.folder, (SUFFIX, sidecars.SUFFIX)), now_ns)

    def load_all(self) -> dict[str, Stored | BrokenWorld]:
        """Load every document as ``load`` does; one that does not hold hides no other."""
        now_ns = time.time_ns()
        seen = marks(self.folder, (SUFFIX, sidecars.SUFFIX))
        found: dict[str, Stored | BrokenWorld] = {}
        for plan_id in _plan_ids(name for name in seen if name.endswith(SUFFIX)):
            try:
                held = self._load(plan_id, seen, now_ns)
            except BrokenWorld as error:
                found[plan_id] = error
            else:
                found |= {} if held is None else {plan_id: held}
        return found

    def load_edited(self, plan_id: str) -> Stored | None:
        """Load a document for its reseal: everything must hold but the hash chain and the invariants."""
        data = self._read(plan_id)
        if data is None:
            return None
        document = parsed(plan_id, data)
        return Stored(document, sidecars.load(self.folder, document))

    def _load(self, plan_id: str, seen: Mapping[str, Mark], now_ns: int) -> Stored | None:
        kept = self._kept.get(plan_id)
        if kept is not None and kept.is_current(seen):
            return kept.held
        data = self._read(plan_id)
        if data is None:
            self._kept.pop(plan_id, None)
            return None
        document = kept.held.document if kept is not None and kept.data == data else self._chained(plan_id, data)
        lines = sidecars.load(self.folder, document)
        if kept is not None and kept.held.document is document and kept.held.lines == lines:
            held = kept.held
        else:
            held = self._whole(Stored(document, lines))
        self._keep(_Kept(data, held, _settled(document, seen, now_ns)))
        return held

    def _keep(self, fresh: _Kept) -> None:
        plan_id = fresh.held.document.plan_id
        with self._mutex:
            others = sum(len(kept.data) for name, kept in self._kept.items() if name != plan_id)
            self._kept.pop(plan_id, None)
            if others + len(fresh.data) <= KEPT_BYTES_MAX:
                self._kept[plan_id] = fresh

    def _read(self, plan_id: str) -> bytes | None:
        if not is_plan_id(plan_id):
            return None
        try:
            return files.read_bytes(self.folder, plan_id + SUFFIX, codec.DOCUMENT_BYTES_MAX)
        except files.Oversized as error:
            raise Damaged(plan_id, "text", error.seen, error.remedy) from error

    def _chained(self, plan_id: str, data: bytes) -> Document:
        document = parsed(plan_id, data)
        broken = chain.fault(document)
        if broken is not None and self._book.holds("write.chain-intact"):
            raise Damaged(plan_id, "chain", f"it was edited outside Flow: {broken}.", _restore(plan_id))
        return document

    def _whole(self, held: Stored) -> Stored:
        found = breaches(held.document, held.lines, self._book)
        if found:
            plan_id = held.document.plan_id
            raise Damaged(plan_id, "invariant", f"it cannot be true: {found[0]}.", _restore(plan_id))
        return held

    def save(self, document: Document, long_lines: Lines, data: bytes) -> None:
        """Write a document and its long listings, sidecars first; the workspace's lock is held.

        Args:
            document: what is saved.
            long_lines: lines by digest; a listing that was lost before is left out, and stays lost.
            data: the document as ``rendered`` gives it.

        Raises:
            BrokenWorld: where nothing could be written; the old document stands.
        """
        files.prepare_folder(self.folder)
        files.sweep_stale(self.folder, STALE_S)
        sidecars.save(self.folder, document, long_lines)
        files.write_atomic(self.folder, document.plan_id + SUFFIX, data)


def _plan_ids(names: Iterable[str]) -> tuple[str, ...]:
    found = (name.removesuffix(SUFFIX) for name in names)
    return tuple(sorted(name for name in found if is_plan_id(name)))


def _settled(document: Document, seen: Mapping[str, Mark], now_ns: int) -> Mapping[str, Mark | None] | None:
    """Give the marks of a document's files, where an equal mark later on will prove that they are the same."""
    main = document.plan_id + SUFFIX
    found = {name: seen.get(name) for name in (main, *sidecars.names(document))}
    is_settled = all(mark is None or mark.is_settled(now_ns) for mark in found.values())
    return found if is_settled and found[main] is not None else None


def rendered(document: Document) -> bytes:
    """Write a document as a person reviews it.

    Raises:
        codec.TooLarge: where it holds more bytes than a document may.
    """
    return codec.render(document.as_json())


def parsed(plan_id: str, data: bytes) -> Document:
    """Read the document of a plan, and refuse what is none in its text or shape.

    Raises:
        Damaged: naming what is wrong.
    """
    try:
        value = codec.parse(data)
    except codec.Unreadable as error:
        raise Damaged(plan_id, "text", error.seen, error.remedy) from error
    schema = value.get("schema") if isinstance(value, dict) else None
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise Damaged(plan_id, "shape", "it names no schema number.", _restore(plan_id))
    if schema > SCHEMA:
        seen = f"it has schema {schema}, and this version knows {SCHEMA}."
        raise Damaged(plan_id, "shape", seen, "Use the version of flow-mcp that wrote it, or a newer one.")
    try:
        document = Document.model_validate_json(data)
    except ValidationError as error:
        raise Damaged(plan_id, "shape", _plain(error), _restore(plan_id)) from error
    if document.plan_id != plan_id:
        raise Damaged(plan_id, "shape", f"it calls itself {document.plan_id!r}.", _restore(plan_id))
    return document


def _plain(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    kinds = {"extra_forbidden": "is a field that this version does not know", "missing": "is missing"}
    return f"{where or 'the document'} {kinds.get(first['type'], 'is not right: ' + first['msg'].lower())}."
