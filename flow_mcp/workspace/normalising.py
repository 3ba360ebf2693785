"""Line endings as Git attributes normalise them, so that every platform's checkout has the same digest."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from flow_mcp.workspace.attributes import FILE_BYTES_MAX, FILE_NAME, Attributes, Treatment, parse
from flow_mcp.workspace.entries import SourceEntry
from flow_mcp.workspace.line_endings import Pairs, Plain, plain_form
from flow_mcp.workspace.paths import raw_path, split

Reader = Callable[[SourceEntry], Iterable[bytes]]
"""Gives a file's bytes, as they lie there, in pieces; it is asked of one file several times."""


def normalised(entry: SourceEntry, plain: Plain, treatment: Treatment) -> SourceEntry:
    """Describe a file that holds CRLF by its form with plain line feeds, where that is what the attributes say."""
    if not treatment or (treatment == "auto" and plain.binary):
        return entry
    return replace(entry, digest=plain.digest, raw=entry.digest)


def normalised_entries(entries: Iterable[SourceEntry], read: Reader) -> list[SourceEntry]:
    """Describe files by their normalised bytes, as a look at the working tree does (row attest.source).

    For entries whose digests are of the bytes as they lie there, as those of a commit are. The attributes are those
    of the ``.gitattributes`` among the entries. Files that no attribute names are not read.
    """
    given = list(entries)
    spoken = {
        split(raw_path(entry.path))[0]: parse(_small(read(entry)))
        for entry in given
        if entry.kind == "file" and entry.path.rpartition("/")[2] == FILE_NAME
    }
    if not spoken:
        return given
    attributes = Attributes(spoken, frozenset(raw_path(entry.path) for entry in given if entry.kind == "nested"))
    return [_read(entry, attributes.treatment(raw_path(entry.path)), read) for entry in given]


def _read(entry: SourceEntry, treatment: Treatment, read: Reader) -> SourceEntry:
    if entry.kind != "file" or not treatment:
        return entry
    pairs, size = Pairs(), 0
    for piece in read(entry):
        pairs.update(piece)
        size += len(piece)
    return normalised(entry, plain_form(read(entry), size - pairs.count, None), treatment) if pairs.count else entry


def _small(pieces: Iterable[bytes]) -> bytes:
    """Join pieces, and no more of them than show that there are too many."""
    data = b""
    for piece in pieces:
        data += piece
        if len(data) > FILE_BYTES_MAX:
            break
    return data
