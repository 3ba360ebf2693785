"""A history for tools that ask git in a copy: which commit this is, its branches and tags, what is tracked.

The copy gets a ``.git`` of its own with the workspace's HEAD and references, an index of the same entries, and the
workspace's objects to read from. Of the repository's configuration only how files lie in the working tree comes along
(line endings, modes), nothing that runs, no hooks, no marks that make git look away. What a command does to the
history stays in the copy.
"""

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flow_mcp.workspace.folders import PRIVATE_NAME, PlantedLink, read_private, remove_tree
from flow_mcp.workspace.git import GitTrouble, Repository, open_repository
from flow_mcp.workspace.paths import Inaccessible, told

SIDE_FILE_BYTES_MAX = 16 * 1024 * 1024

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_COMMITS = re.compile(rb"(?:(?:[0-9a-f]{40}|[0-9a-f]{64})\n)*")
_ASKED = ("--show-object-format", "--git-path", "objects", "--git-path", "shallow", "--git-path", "info/exclude")
_ANSWERS = 4
_SETTINGS = r"^core\.(autocrlf|eol|filemode|ignorecase|precomposeunicode|symlinks)$"
_VALUES = frozenset((b"true", b"false", b"input", b"lf", b"crlf", b"native"))
_SPECIAL_IN_IGNORE = re.compile(r"([\\*?\[\] ])")
_LEFT_OUT = b"S"


@dataclass(frozen=True, slots=True)
class _History:
    """What is lent.

    Attributes:
        format: the hash that names objects.
        objects: the folder of the workspace's objects.
        head: the text of HEAD.
        references: one line each, the object's id and the name.
        shallow: the commits at which a shallow clone ends.
        settings: lines of ``core`` in the configuration.
        exclude: the workspace's own ignore rules.
        tracked: entries of the index; each may follow a letter that git lists it with.
    """

    format: str
    objects: bytes
    head: str
    references: bytes
    shallow: bytes
    settings: bytes
    exclude: bytes
    tracked: tuple[tuple[bytes, bytes], ...]


def lend_history(root: Path, commit: str | None, target: Path, hidden: Sequence[str] = ()) -> bool:
    """Give a copy a history; False, and none, where the workspace has none to lend, or lacks the commit.

    Args:
        root: the workspace.
        commit: what HEAD is to be; None takes the workspace's.
        target: the copy.
        hidden: paths of the copy that its git is not to see, such as inputs that are links there.

    Raises:
        GitTrouble: where git does not end or floods.
        Inaccessible: where it cannot be written, or a ``.git`` is there already.
    """
    repository = open_repository(root)
    history = None if repository is None else _found(repository, commit)
    if repository is None or history is None:
        return False
    _write(history, target / ".git", hidden)
    left_out = _left_out(history.tracked, root, target, everything=commit is not None)
    if _track(Repository(repository.program, target), history.tracked, left_out):
        return True
    remove_tree(target / ".git")
    return False


def _found(repository: Repository, commit: str | None) -> _History | None:
    output = repository.answer("rev-parse", *_ASKED) or b""
    answers = output.removesuffix(b"\n").split(b"\n")
    head, references = _head(repository, commit)
    tracked = _tracked(repository, commit)
    if len(answers) != _ANSWERS or head is None or tracked is None:
        return None
    objects, shallow, exclude = (repository.folder / os.fsdecode(path) for path in answers[1:])
    return _History(
        format=os.fsdecode(answers[0]),
        objects=os.fsencode(os.path.realpath(objects)),
        head=head,
        references=references,
        shallow=_shallow(shallow),
        settings=_settings(repository),
        exclude=_side_file(exclude),
        tracked=tracked,
    )


def _head(repository: Repository, commit: str | None) -> tuple[str | None, bytes]:
    """Give the text of HEAD, and the references; no text where there is neither a commit nor a branch."""
    references = repository.answer("for-each-ref", "--format=%(objectname) %(refname)") or b""
    wanted = "HEAD" if commit is None else commit
    if commit is not None and _COMMIT.fullmatch(commit) is None:
        return None, references
    found = _line(repository, "rev-parse", "--verify", "--quiet", f"{wanted}^{{commit}}")
    branch = _line(repository, "symbolic-ref", "--quiet", "HEAD") if commit is None else None
    if branch is not None and (found is None or f" {branch}\n".encode() in references):
        return f"ref: {branch}\n", references
    return None if found is None else f"{found}\n", references


def _tracked(repository: Repository, commit: str | None) -> tuple[tuple[bytes, bytes], ...] | None:
    """Give the letter and the record of what the workspace tracks, or a commit holds; None where git cannot."""
    if commit is None:
        listed = repository.answer("ls-files", "-z", "-t", "-s")
        return None if listed is None else tuple((each[:1], each[2:]) for each in listed.split(b"\0")[:-1])
    listed = repository.answer("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
    return None if listed is None else tuple((b"", each) for each in listed.split(b"\0")[:-1])


def _settings(repository: Repository) -> bytes:
    """Give what the repository says of how its files lie there, each value one of a few words."""
    output = repository.answer("config", "--local", "-z", "--get-regexp", _SETTINGS) or b""
    pairs = [record.partition(b"\n") for record in output.split(b"\0")[:-1]]
    known = [(key.removeprefix(b"core."), value.lower()) for key, _, value in pairs]
    return b"".join(b"\t%b = %b\n" % (key, value) for key, value in known if value in _VALUES)


def _side_file(path: Path) -> bytes:
    with suppress(PlantedLink, Inaccessible):
        return read_private(path, bytes_max=SIDE_FILE_BYTES_MAX) or b""
    return b""


def _shallow(path: Path) -> bytes:
    data = _side_file(path)
    return data if _COMMITS.fullmatch(data) else b""


def _write(history: _History, folder: Path, hidden: Sequence[str]) -> None:
    version = b"[core]\n\trepositoryformatversion = 0\n"
    if history.format != "sha1":
        version = b"[extensions]\n\tobjectformat = %b\n" % history.format.encode()
        version += b"[core]\n\trepositoryformatversion = 1\n"
    own = "".join(f"/{_SPECIAL_IN_IGNORE.sub(_escape, name)}\n" for name in (PRIVATE_NAME, *hidden) if "\n" not in name)
    with told(folder):
        folder.mkdir()
        for name in ("refs/heads", "objects/info", "info"):
            (folder / name).mkdir(parents=True)
        (folder / "config").write_bytes(version + b"\tbare = false\n" + history.settings)
        (folder / "objects/info/alternates").write_bytes(history.objects + b"\n")
        (folder / "packed-refs").write_bytes(b"# pack-refs with: sorted \n" + history.references)
        (folder / "info/exclude").write_bytes(history.exclude + b"\n" + os.fsencode(own))
        if history.shallow:
            (folder / "shallow").write_bytes(history.shallow)
        (folder / "HEAD").write_text(history.head, "utf-8", "surrogateescape")


def _escape(found: re.Match[str]) -> str:
    return f"\\{found[0]}"


def _left_out(tracked: Iterable[tuple[bytes, bytes]], root: Path, target: Path, *, everything: bool) -> list[bytes]:
    """Give tracked paths that the copy lacks, though the workspace does not (Flow's records, a sparse checkout)."""
    here, there = os.fsencode(target) + b"/", os.fsencode(root) + b"/"
    paths = ((letter, record.partition(b"\t")[2]) for letter, record in tracked)
    gone = ((letter, path) for letter, path in paths if not os.path.lexists(here + path))
    return [path for letter, path in gone if everything or letter == _LEFT_OUT or os.path.lexists(there + path)]


def _track(copy: Repository, tracked: Iterable[tuple[bytes, bytes]], left_out: Iterable[bytes]) -> bool:
    """Give a copy its index; False where git refuses."""
    records = b"".join(record + b"\0" for _, record in tracked)
    names = b"".join(path + b"\0" for path in left_out)
    done = not records or copy.fed(records, "update-index", "-z", "--index-info")
    done = done and (not names or copy.fed(names, "update-index", "-z", "--skip-worktree", "--stdin"))
    # Else programs that ask without looking at the files themselves (`git diff-index`) would see changes everywhere.
    with suppress(GitTrouble):
        copy.answer("update-index", "-q", "--refresh")
    (copy.folder / ".git/index.lock").unlink(missing_ok=True)  # of a git that took too long
    return done


def _line(repository: Repository, *arguments: str) -> str | None:
    output = repository.answer(*arguments)
    return None if output is None else output.decode("utf-8", "surrogateescape").strip() or None
