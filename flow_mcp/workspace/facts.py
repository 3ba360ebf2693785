"""What the kernel asks of the source: what is protected, what differs from the history, what a plan would hide.

Files are compared with commits by the object ids of their raw bytes. Where Git attributes or ``core.autocrlf``
change bytes on the way into a commit (line endings, LFS), such a file counts as differing, though git would say that
it is clean.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flow_mcp.domain.decision import HiddenPath
from flow_mcp.workspace.git import GITLINK, LINK, Repository, git_facts, is_executable, open_repository
from flow_mcp.workspace.hiding import Globs, hidden_paths
from flow_mcp.workspace.listing import list_source
from flow_mcp.workspace.patterns import TEST_CONFIGURATION, matches
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.source import BlobHash, Content, Manifest, kept_paths, read_source, seal, sourced
from flow_mcp.workspace.tree import Committed, tree_of

__all__ = ["Gathered", "Globs", "gather"]

_SHA1_DIGITS = 40
_FILE_MODES = {False: "100644", True: "100755"}
_SPECIAL = "special"

# Git's mode and the object id; no id for submodules and for what git cannot hold.
_State = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Gathered:
    """The workspace as it was read at one time.

    Attributes:
        manifest: the source and its digest.
        commit: HEAD, whether or not the tree equals it; None before the first commit and without git.
        clean: whether the whole source equals HEAD, submodules included.
        protected: protected files and links that exist, path to digest.
        protected_dirty: protected paths that differ from HEAD, are new, or are gone. Without HEAD, all of them.
        protected_unmerged: protected paths that differ between HEAD and the merge-base.
        targets_dirty: likewise for the targets, against HEAD.
        test_configuration: files that steer a test runner, path to digest.
        hidden: what artifacts, inputs and targets of the plan would leave out of the source.
    """

    manifest: Manifest
    commit: str | None
    clean: bool
    protected: Mapping[str, str]
    protected_dirty: tuple[str, ...]
    protected_unmerged: tuple[str, ...]
    targets_dirty: tuple[str, ...]
    test_configuration: Mapping[str, str]
    hidden: tuple[HiddenPath, ...]


def gather(root: Path, records: Records, globs: Globs) -> Gathered:
    """Read the source once, and compare it with the history and with what a plan says of it.

    Raises:
        ValueError: for a plans folder or a glob that is refused.
        BrokenWorld: as ``source.take_manifest``.
    """
    repository = open_repository(root)
    history = git_facts(repository)
    listing = list_source(root)
    contents = tuple(read_source(root, sourced(listing, records, globs.artifacts), _hash_of(history.head)))
    manifest = seal(content.entry for content in contents)
    head = _committed(repository, history.head, records, globs.artifacts)
    merged = history.merge_base == history.head
    base = head if merged else _committed(repository, history.merge_base, records, globs.artifacts)
    dirty = _differing(_present(contents), head or {})
    digests = {path: entry.digest for path, entry in manifest.present().items() if entry.kind in ("file", "link")}
    return Gathered(
        manifest=manifest,
        commit=history.head,
        clean=head is not None and not dirty,
        protected=_named(globs.protected, digests),
        protected_dirty=_sorted(globs.protected, dirty),
        protected_unmerged=() if base is None else _sorted(globs.protected, _differing(head or {}, base)),
        targets_dirty=_sorted(globs.targets, dirty),
        test_configuration=_named(TEST_CONFIGURATION, digests),
        hidden=hidden_paths(root, sourced(listing, records, ()), globs, every_file_counts=repository is None),
    )


def _hash_of(head: str | None) -> BlobHash | None:
    if head is None:
        return None
    return "sha1" if len(head) == _SHA1_DIGITS else "sha256"


def _committed(
    repository: Repository | None, commit: str | None, records: Records, artifacts: Sequence[str]
) -> dict[str, _State] | None:
    tree = None if repository is None or commit is None else tree_of(repository, commit)
    if tree is None:
        return None
    kept = kept_paths(tree, records, artifacts)
    return {path: _committed_state(item) for path, item in tree.items() if path in kept}


def _committed_state(item: Committed) -> _State:
    if item.mode in (GITLINK, LINK):
        # Which commit of a submodule is meant shows in its files.
        return item.mode, "" if item.mode == GITLINK else item.object_id
    return _FILE_MODES[is_executable(item.mode)], item.object_id


def _present(contents: Iterable[Content]) -> dict[str, _State]:
    modes = {"link": LINK, "nested": GITLINK, "dir": GITLINK, "special": _SPECIAL}
    return {
        content.entry.path: (modes.get(content.entry.kind, _FILE_MODES[content.entry.executable]), content.blob)
        for content in contents
        if content.entry.kind != "missing"
    }


def _differing(left: Mapping[str, _State], right: Mapping[str, _State]) -> set[str]:
    return {path for path in left.keys() | right.keys() if left.get(path) != right.get(path)}


def _sorted(globs: Sequence[str], paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(matches(globs, paths)))


def _named(globs: Sequence[str], digests: Mapping[str, str]) -> dict[str, str]:
    return {path: digests[path] for path in _sorted(globs, digests)}
