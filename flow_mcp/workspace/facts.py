"""What the kernel asks of the source: what is protected, what differs from the history, what a plan would hide.

Files are compared with commits by object ids: that of their bytes as they lie there, or with plain line feeds. Where
anything else changes bytes on the way into a commit (LFS, another encoding), such a file counts as differing, though
git would say that it is clean.
"""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from flow_mcp.domain.decision import HiddenPath
from flow_mcp.workspace.entries import BlobHash, Manifest, kept_paths
from flow_mcp.workspace.folders import PRIVATE_NAME
from flow_mcp.workspace.git import GITLINK, LINK, GitFacts, Repository, git_facts, is_executable, open_repository
from flow_mcp.workspace.hiding import Globs, hidden_by_rules, hidden_in
from flow_mcp.workspace.listing import Listed, has_repository
from flow_mcp.workspace.look import look, sourced
from flow_mcp.workspace.memory import Memory
from flow_mcp.workspace.paths import Descent, printable
from flow_mcp.workspace.patterns import DEFAULT_PROTECTED, TEST_CONFIGURATION, matches
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.seen import Content, Seen
from flow_mcp.workspace.tree import Committed, tree_of

__all__ = ["IGNORED_NAMED_MAX", "Gathered", "Globs", "Memory", "gather"]

IGNORED_NAMED_MAX = 20

_SHA1_DIGITS = 40
_FILE_MODES = {False: "100644", True: "100755"}
_MODES: Mapping[str, str] = {"link": LINK, "nested": GITLINK, "dir": GITLINK, "special": "special"}

# Git's mode and the object id; no id for submodules and for what git cannot hold.
_State = tuple[str, str]
_States = Mapping[str, _State]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The workspace as it was read at one time.

    Attributes:
        manifest: the source and its digest.
        commit: HEAD, whether or not the tree equals it; None before the first commit and without git.
        clean: whether the whole source equals HEAD, submodules included.
        protected: protected files and links that exist, path to digest.
        verifiers: files and links that are protected where no plan says otherwise.
        protected_dirty: protected paths that differ from HEAD, are new, or are gone. Without HEAD, all of them.
        protected_unmerged: protected paths that differ between HEAD and the merge-base.
        targets_dirty: likewise for the targets, against HEAD.
        test_configuration: files that steer a test runner, path to digest.
        hidden: what artifacts, inputs and targets of the plan would leave out of the source.
        ignored_present: ignored files and folders beside source that could matter to a command and that the digest
            does not cover (row attest.source), the first 20 in order; a folder's ends in a slash.
        ignored_count: how many there are.
    """

    manifest: Manifest
    commit: str | None
    clean: bool
    protected: Mapping[str, str]
    verifiers: tuple[str, ...]
    protected_dirty: tuple[str, ...]
    protected_unmerged: tuple[str, ...]
    targets_dirty: tuple[str, ...]
    test_configuration: Mapping[str, str]
    hidden: tuple[HiddenPath, ...]
    ignored_present: tuple[str, ...] = ()
    ignored_count: int = 0


def gather(root: Path, records: Records, globs: Globs, memory: Memory | None = None) -> Gathered:
    """Read the source once, and compare it with the history and with what a plan says of it.

    Without a memory everything is read: that is what verified at the end means.

    Raises:
        ValueError: for a plans folder or a glob that is refused.
        BrokenWorld: as ``source.take_manifest``.
    """
    memory = Memory(None) if memory is None else memory
    repository = open_repository(root)
    seen, history = _looked(root, repository, records, globs, memory)
    head = _committed(repository, history.head, records, globs.artifacts, memory)
    base = (
        head
        if history.merge_base == history.head
        else _committed(repository, history.merge_base, records, globs.artifacts, memory)
    )
    counts = repository is None
    names = seen.names.work_out((globs, counts), lambda: _names(seen, records, globs, every_file_counts=counts))
    differences = seen.worked_out.work_out((globs, head, base), lambda: _differences(seen, globs, head, base))
    ignored = [printable(raw) for raw in seen.listing.ignored if not _is_flows(raw, records)]
    return Gathered(
        manifest=seen.manifest,
        commit=history.head,
        clean=differences.clean,
        protected=_digests(names.protected, seen),
        verifiers=tuple(_digests(names.verifiers, seen)),
        protected_dirty=differences.protected_dirty,
        protected_unmerged=differences.protected_unmerged,
        targets_dirty=differences.targets_dirty,
        test_configuration=_digests(names.test_configuration, seen),
        hidden=tuple(dict.fromkeys((*names.hidden, *hidden_by_rules(root, names.listing, globs, records.folder)))),
        ignored_present=tuple(ignored[:IGNORED_NAMED_MAX]),
        ignored_count=len(ignored),
    )


def _looked(
    root: Path, repository: Repository | None, records: Records, globs: Globs, memory: Memory
) -> tuple[Seen, GitFacts]:
    """Look at the source and at the history, at the same time where it is known which object ids git uses."""
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(git_facts, repository, memory.recall)
        expected = memory.blob_hash or _hash_of(asked.result().head)
        seen = look(root, records, globs.artifacts, expected, memory)
        history = asked.result()
    if _hash_of(history.head) not in (None, seen.blob_hash):
        seen = look(root, records, globs.artifacts, _hash_of(history.head), memory)
    return seen, history


def _hash_of(head: str | None) -> BlobHash | None:
    if head is None:
        return None
    return "sha1" if len(head) == _SHA1_DIGITS else "sha256"


def _is_flows(raw: bytes, records: Records) -> bool:
    path = printable(raw)
    return path.partition("/")[0] == PRIVATE_NAME or records.own(path)


@dataclass(frozen=True, slots=True)
class _Names:
    """What follows from the names of the source and the plan alone; paths in order."""

    listing: Mapping[str, Listed]
    protected: tuple[str, ...]
    verifiers: tuple[str, ...]
    test_configuration: tuple[str, ...]
    hidden: tuple[HiddenPath, ...]


def _names(seen: Seen, records: Records, globs: Globs, *, every_file_counts: bool) -> _Names:
    listing = sourced(seen.listing.paths, records, ())
    protected = tuple(sorted(seen.matched.of(globs.protected, listing)))
    verifiers = tuple(sorted(seen.matched.of(DEFAULT_PROTECTED, listing)))
    configuration = tuple(sorted(seen.matched.of(TEST_CONFIGURATION, listing)))
    hidden = hidden_in(listing, protected, globs, every_file_counts=every_file_counts)
    return _Names(listing, protected, verifiers, configuration, hidden)


def _digests(paths: Iterable[str], seen: Seen) -> dict[str, str]:
    """Give path to digest of those that are files or links of the source."""
    found = ((path, seen.contents[path].entry) for path in paths if path in seen.contents)
    return {path: entry.digest for path, entry in found if entry.kind in ("file", "link")}


@dataclass(frozen=True, slots=True)
class _Differences:
    """What follows from the source, the plan and two commits."""

    clean: bool
    protected_dirty: tuple[str, ...]
    protected_unmerged: tuple[str, ...]
    targets_dirty: tuple[str, ...]


def _differences(seen: Seen, globs: Globs, head: "_Commit | None", base: "_Commit | None") -> _Differences:
    states = {} if head is None else head.states
    dirty = _dirty(seen.contents, states)
    unmerged = () if base is None or base is head else _sorted(globs.protected, _differing(states, base.states))
    return _Differences(
        clean=head is not None and not dirty,
        protected_dirty=_sorted(globs.protected, dirty),
        protected_unmerged=unmerged,
        targets_dirty=_sorted(globs.targets, dirty),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Commit:
    """What a commit holds of the source.

    Attributes:
        states: path to what is there.
        links: the paths of its submodules, and whether their own commits were at hand.
    """

    states: _States
    links: tuple[tuple[bytes, bool], ...]

    def holds(self, root: Path) -> bool:
        """Tell whether submodules are there, or not, as they were; all else of a commit never changes."""
        if not self.links:
            return True
        with Descent(root) as descent:
            return all(has_repository(descent, path) == there for path, there in self.links)


def _committed(
    repository: Repository | None, commit: str | None, records: Records, artifacts: Sequence[str], memory: Memory
) -> _Commit | None:
    if repository is None or commit is None:
        return None

    def read() -> _Commit | None:
        tree = tree_of(repository, commit)
        if tree is None:
            return None
        kept = kept_paths(tree, records, artifacts)
        states = {path: _committed_state(item) for path, item in tree.items() if path in kept}
        return _Commit(states, tuple((item.raw, item.boundary) for item in tree.values() if item.mode == GITLINK))

    return memory.recall(
        ("commit", commit, records, tuple(artifacts)), read, lambda kept: kept.holds(repository.folder)
    )


def _committed_state(item: Committed) -> _State:
    if item.mode in (GITLINK, LINK):
        # Which commit of a submodule is meant shows in its files.
        return item.mode, "" if item.mode == GITLINK else item.object_id
    return _FILE_MODES[is_executable(item.mode)], item.object_id


def _dirty(contents: Mapping[str, Content], committed: _States) -> set[str]:
    """Name what differs from a commit, was added to it, or is gone."""
    gone = {path for path in committed if path not in contents or contents[path].entry.kind == "missing"}
    return gone.union(
        path
        for path, content in contents.items()
        if content.entry.kind != "missing" and not _is_committed(content, committed.get(path))
    )


def _is_committed(content: Content, state: _State | None) -> bool:
    if state is None:
        return False
    kind, read = content.entry.kind, content.read
    mode = _MODES.get(kind) or _FILE_MODES[content.entry.executable]
    plain = "" if read.plain is None or not content.entry.raw else read.plain.blob
    return state == (mode, read.blob) or (plain != "" and state == (mode, plain))


def _differing(left: _States, right: _States) -> set[str]:
    return {path for path in left.keys() | right.keys() if left.get(path) != right.get(path)}


def _sorted(globs: Sequence[str], paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(matches(globs, paths)))
