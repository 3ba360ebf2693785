"""One look at the source: names, statuses, and bytes where the memory does not speak for them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flow_mcp.domain.digest import digest_bytes
from flow_mcp.workspace.attributes import FILE_BYTES_MAX, FILE_NAME, Attributes, parse
from flow_mcp.workspace.contents import FOLDER, GONE, Read, read_at, small_file, status_at
from flow_mcp.workspace.entries import (
    BlobHash,
    Displaced,
    Kind,
    Manifest,
    SourceEntry,
    Unstable,
    kept_paths,
    sealed_digest,
    sealed_part,
)
from flow_mcp.workspace.listing import Listed, Listing, has_repository, list_again
from flow_mcp.workspace.memory import Memory
from flow_mcp.workspace.normalising import normalised
from flow_mcp.workspace.paths import Descent, inaccessible, split, told
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.seen import NO_RULES, Content, Matched, Rules, Seen, Watch, WorkedOut
from flow_mcp.workspace.stat_cache import Known, known

_BLOB_DIGITS: Mapping[BlobHash, int] = {"sha1": 40, "sha256": 64}


def look(
    root: Path, records: Records, artifacts: Sequence[str], blob_hash: BlobHash | None, memory: Memory | None
) -> Seen:
    """Look at the source below a root, without what is Flow's own and without the artifacts.

    Without a memory everything is read. With one, a path is read unless its status speaks for what was read before.

    Raises:
        Unstable: where a file changes under the reading three times.
        Displaced: where a repository lies in place of a tracked file.
        BrokenWorld: where the source cannot be listed or read; the kinds are those of ``listing.list_source``.
        ValueError: for a plans folder or a glob that is refused.
    """
    memory = Memory(None) if memory is None else memory
    with memory.looking(root):
        return _Look(root, records, artifacts, blob_hash or memory.blob_hash, memory).taken()


@dataclass(frozen=True, slots=True)
class _Look:
    root: Path
    records: Records
    artifacts: Sequence[str]
    blob_hash: BlobHash | None
    memory: Memory

    def taken(self) -> Seen:
        before = self._before()
        moved: list[str] = []
        listing = list_again(self.root, self.memory.listing, lambda: moved.extend(self._moved(before)))
        kept = self._kept(before, listing)
        fresh = self._read({path: kept[path] for path in self._wanted(before, kept, moved)})
        seen = self._after(before, listing, kept, fresh)
        self.memory.keep(self.records, self.artifacts, seen, fresh)
        # Last: a watch that knows more than what is kept would hide what moved.
        seen.watch.note(((path, kept[path]) for path in fresh), fresh)
        return seen

    def _before(self) -> Seen | None:
        before = self.memory.seen(self.records, self.artifacts)
        return before if before is not None and before.blob_hash == self.blob_hash else None

    def _kept(self, before: Seen | None, listing: Listing) -> Mapping[str, Listed]:
        """Give the names that are source; the very mapping of the look before where they are the same."""
        if before is not None and before.listing.paths is listing.paths:
            return before.kept
        kept = sourced(listing.paths, self.records, self.artifacts)
        return before.kept if before is not None and before.kept == kept else kept

    def _moved(self, before: Seen | None) -> list[str]:
        if before is None:
            return []
        before.watch.start(before.kept, before.known)
        return before.watch.moved(self.root)

    def _wanted(self, before: Seen | None, kept: Mapping[str, Listed], moved: Iterable[str]) -> Iterable[str]:
        """Name what must be looked at one by one."""
        if before is None:
            return kept
        if kept is before.kept:
            return moved
        known_paths, again = before.kept, frozenset(moved)
        return [path for path, listed in kept.items() if path in again or known_paths.get(path) != listed]

    def _read(self, wanted: Mapping[str, Listed]) -> dict[str, Known]:
        found: dict[str, Known] = {}
        with Descent(self.root) as descent:
            for path, listed in wanted.items():
                self.memory.reading(len(found), len(wanted))
                try:
                    found[path] = self._known(descent, path, listed)
                except OSError as error:
                    raise inaccessible(self.root / path, error) from error
        return found

    def _known(self, descent: Descent, path: str, listed: Listed) -> Known:
        above, name = split(listed.raw)
        folder = descent.folder(above)
        if folder is None:
            return Known(None, trusted=False, read=GONE)
        old = self.memory.known(path)
        if old is not None and old.trusted and self._serves(old.read) and status_at(name, folder) == old.status:
            return old
        now_ns = self.memory.clock()
        status, read = read_at(path, name, folder, self.blob_hash)
        if read is FOLDER and not listed.boundary and has_repository(descent, listed.raw):
            raise Displaced(path)
        return known(status, read, now_ns)

    def _serves(self, read: Read) -> bool:
        return self.blob_hash is None or len(read.blob) == _BLOB_DIGITS[self.blob_hash]

    def _after(
        self, before: Seen | None, listing: Listing, kept: Mapping[str, Listed], fresh: Mapping[str, Known]
    ) -> Seen:
        """Bring the look before up to what was read now; its parts stay the same objects where nothing changed."""
        if before is None:
            other = self.memory.latest()
            old, rules = ({}, NO_RULES) if other is None else (other.contents, other.rules)
            manifest, matched = Manifest((), ""), Matched() if other is None else other.matched.carried()
            first = Seen(listing, kept, fresh, old, manifest, rules, self.blob_hash, Watch(), matched, WorkedOut())
            return self._come_to(first, None, fresh)
        if listing.paths is not before.listing.paths:
            before = replace(before, listing=listing, matched=before.matched.carried(), names=WorkedOut())
        elif listing is not before.listing:
            before = replace(before, listing=listing)
        changed = {path: found for path, found in fresh.items() if before.known.get(path) != found}
        if kept is not before.kept:
            all_known = {path: fresh.get(path) or before.known[path] for path in kept}
            return self._come_to(replace(before, kept=kept, known=all_known, watch=Watch()), before, changed)
        if changed:
            return self._come_to(replace(before, known={**before.known, **changed}), before, changed)
        return before

    def _come_to(self, seen: Seen, old: Seen | None, changed: Mapping[str, Known]) -> Seen:
        """Work out entries and digest of what is known; ``changed`` names what may have come to something else."""
        rules = self._rules(seen)
        same_rules, same_paths = rules is seen.rules, old is not None and seen.kept is old.kept
        touched = changed if same_rules and same_paths else seen.kept
        made = {path: _content(path, seen, rules, same_rules=same_rules) for path in touched}
        contents = {**seen.contents, **made} if touched is changed else made
        if same_paths and all(seen.contents[path] is content for path, content in made.items()):
            return replace(seen, rules=rules)
        entries = tuple(content.entry for content in contents.values())
        manifest = Manifest(entries, sealed_digest(content.part for content in contents.values()))
        return replace(seen, contents=contents, manifest=manifest, rules=rules)

    def _rules(self, seen: Seen) -> Rules:
        """Give what the tree says of line endings; nobody asks where no file holds any that could be made plain."""
        if not any(found.read.plain for found in seen.known.values()):
            return NO_RULES
        files = {
            path: found.read.digest
            for path, found in seen.known.items()
            if path.rpartition("/")[2] == FILE_NAME and found.read.kind == "file"
        }
        tops = frozenset(listed.raw for listed in seen.kept.values() if listed.boundary)
        key = (tuple(files.items()), tops)
        if key == seen.rules.key:
            return seen.rules
        spoken = {
            split(seen.kept[path].raw)[0]: parse(self._bytes(seen.kept[path].raw, path, files[path])) for path in files
        }
        return Rules(key, Attributes(spoken, tops))

    def _bytes(self, raw: bytes, path: str, digest: str) -> bytes:
        """Give the bytes of an attributes file whose digest is known; nothing of one that is too large."""
        above, name = split(raw)
        with told(self.root / path), Descent(self.root) as descent:
            folder = descent.folder(above)
            data = None if folder is None else small_file(name, folder, FILE_BYTES_MAX)
        if data is None or (len(data) <= FILE_BYTES_MAX and digest_bytes(data) != digest):
            raise Unstable(path)
        return data


def _content(path: str, seen: Seen, rules: Rules, *, same_rules: bool) -> Content:
    read, (raw, _, boundary) = seen.known[path].read, seen.kept[path]
    kind: Kind = "nested" if boundary and read.kind == "dir" else read.kind
    old = seen.contents.get(path)
    if old is not None and old.read == read and old.entry.kind == kind and (same_rules or read.plain is None):
        return old
    entry = SourceEntry(path, kind, read.executable, read.digest)
    if read.plain is not None:
        entry = normalised(entry, read.plain, rules.attributes.treatment(raw))
    return Content(entry, read, sealed_part(raw, entry))


def sourced(listing: Mapping[str, Listed], records: Records, artifacts: Sequence[str]) -> Mapping[str, Listed]:
    """Leave out Flow's private folder, its records, and the artifacts."""
    kept = kept_paths(listing, records, artifacts)
    return listing if len(kept) == len(listing) else {path: listing[path] for path in listing if path in kept}
