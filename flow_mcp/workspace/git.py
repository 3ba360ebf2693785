"""Git, read only: nothing that a repository's configuration names is run, and no command reads a working file.

Commands that read working files (``status``, ``add``, ``diff``) run filters whose names the repository chooses, so
that no override can reach them; none is used. What is used is overridden to this form (ws-fp/4).
"""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.blobs import Blobs
from flow_mcp.workspace.paths import told

with suppress(ImportError):  # Windows has none
    import resource

__all__ = [
    "GITLINK",
    "LINK",
    "Blobs",
    "GitFacts",
    "GitTrouble",
    "Repository",
    "find_git",
    "git_facts",
    "is_executable",
    "open_repository",
    "repository_at",
]

CALL_TIMEOUT_S = 60
BATCH_TIMEOUT_S = 900
OUTPUT_BYTES_MAX = 256 * 1024 * 1024
_COMPLAINTS_BYTES_MAX = 16 * 1024 * 1024
_HALF_CHARACTERS_MAX = 200
# What git says, and still ends well, when it leaves out a folder.
_UNOPENED = "could not open directory"
# How git ends, or what it says, when what it writes finds no room.
_FULL_SIGNAL = -int(getattr(signal, "SIGXFSZ", 0)) or None
_FULL = ("No space left on device", "Disk quota exceeded", "File too large")
_CHUNK_BYTES = 1024 * 1024
_HEAD_LINES = 2

_OVERRIDES = (
    "core.fsmonitor=false",
    "core.hooksPath=" + os.devnull,
    "core.untrackedCache=false",
    "core.excludesFile=" + os.devnull,
    "core.attributesFile=" + os.devnull,
    "core.ignoreCase=false",
    "core.precomposeUnicode=false",
    "core.quotePath=false",
    "core.preloadIndex=false",
    # A planted commit graph could give other parents than the commits do.
    "core.commitGraph=false",
)
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
    # Git ends with an error over '~' in a configuration when it has no home.
    "HOME": os.devnull,
    "XDG_CONFIG_HOME": os.devnull,
}

GITLINK = "160000"
LINK = "120000"
_OWNER_EXECUTES = 0o100


Recall = Callable[[Hashable, Callable[[], str | None]], str | None]
"""Gives what never changes under a name: what it knows, or what it is told how to find out."""


class GitTrouble(BrokenWorld):
    """Git is there and does not answer as it should."""


@dataclass(frozen=True, slots=True)
class GitFacts:
    """Where the history stands.

    Attributes:
        head: full id of the commit of HEAD; None without git, without a repository, or before the first commit.
        merge_base: full id of the commit that HEAD shares with its upstream or the default branch, or None.
    """

    head: str | None
    merge_base: str | None


@dataclass(frozen=True, slots=True)
class Repository:
    """One repository with a working tree, and the git program that reads it."""

    program: str
    folder: Path

    def nested(self, folder: Path) -> "Repository | None":
        """Give the repository of a folder inside this one's, read by the same program; None where there is none."""
        return repository_at(self.program, folder)

    @contextmanager
    def begun(self, *arguments: str) -> Iterator[Callable[[], bytes]]:
        """Start git, and lend what waits for its end and gives what it wrote.

        It writes into a file, so that it disturbs nobody until then. That is for what lists files, whose names lie
        on the disk already; a commit can name any number of paths in a few bytes.

        Raises:
            GitTrouble: where it fails, passes over a folder that it cannot open, writes more than 256 MiB, or takes
                more than 60 s.
        """
        with (
            _spool() as written,
            self._running(arguments, subprocess.DEVNULL, CALL_TIMEOUT_S, written) as (process, errors),
        ):
            _limit(process.pid)
            yield partial(self._ended, arguments, process, written, errors)

    def _ended(
        self, arguments: Sequence[str], process: subprocess.Popen[bytes], written: IO[bytes], errors: IO[bytes]
    ) -> bytes:
        code = process.wait()
        written.seek(0)
        output = written.read(OUTPUT_BYTES_MAX + 1)
        if len(output) > OUTPUT_BYTES_MAX:
            raise self._flood(arguments[0])
        return self._checked(arguments, code, output, _lines(errors))

    def _checked(self, arguments: Sequence[str], code: int, output: bytes, complaints: Sequence[str]) -> bytes:
        if code != 0:
            first = next(iter(complaints), f"exit code {code}")
            if code == _FULL_SIGNAL or any(sign in first for sign in _FULL):
                seen = f"What git {arguments[0]} says cannot be written: no space is left for temporary files."
                raise GitTrouble(seen, "Free some space, then try again.")
            seen = f"git {arguments[0]} fails in {str(self.folder)!r}: {_short(first)}"
            raise GitTrouble(seen, "Repair or remove its '.git', then try again.")
        unopened = next((complaint for complaint in complaints if _UNOPENED in complaint), None)
        if unopened is not None:
            seen = f"git {arguments[0]} passes over a folder in {str(self.folder)!r}: {_short(unopened)}"
            raise GitTrouble(seen, "Give this user the right to read it, remove it, or name it in .gitignore.")
        return output

    def answer(self, *arguments: str) -> bytes | None:
        """Run git and give what it wrote, or None where it fails.

        Raises:
            GitTrouble: where it writes more than 256 MiB, or takes more than 60 s.
        """
        code, output, _ = self._call(arguments)
        return output if code == 0 else None

    def tree(self, commit: str) -> dict[bytes, tuple[str, str]] | None:
        """Give path to (mode, object id) of a commit's files, links and submodules; None where it is not to be had."""
        output = self.answer("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
        if output is None:
            return None
        found: dict[bytes, tuple[str, str]] = {}
        for record in output.split(b"\0")[:-1]:
            head, _, path = record.partition(b"\t")
            mode, _, object_id = head.decode("ascii").split(" ")
            found[path] = (mode, object_id)
        return found

    @contextmanager
    def blobs(self, object_ids: Sequence[str]) -> Iterator[Blobs]:
        """Lend the contents of these objects, in this order, as they are stored: no filter touches them.

        Raises:
            GitTrouble: where it takes more than 15 minutes.
        """
        with _spool() as wanted:
            wanted.write("".join(f"{object_id}\n" for object_id in object_ids).encode("ascii"))
            wanted.seek(0)
            with self._running(("cat-file", "--batch", "--buffer"), wanted, BATCH_TIMEOUT_S) as (process, _):
                yield Blobs(_output_of(process))

    def fed(self, data: bytes, *arguments: str) -> bool:
        """Run git with something to read, and say whether it ended well.

        Raises:
            GitTrouble: where it takes more than 60 s.
        """
        with _spool() as given:
            given.write(data)
            given.seek(0)
            with self._running(arguments, given, CALL_TIMEOUT_S) as (process, _):
                _output_of(process).read(OUTPUT_BYTES_MAX)
                return process.wait() == 0

    def _call(self, arguments: Sequence[str]) -> tuple[int, bytes, list[str]]:
        with self._running(arguments, subprocess.DEVNULL, CALL_TIMEOUT_S) as (process, errors):
            output = self._whole(arguments[0], _output_of(process))
            code = process.wait()
            return code, output, _lines(errors)

    def _whole(self, command: str, stream: IO[bytes]) -> bytes:
        """Read what a command writes, in as few pieces as may be: each costs a turn of both."""
        pieces, left = [], OUTPUT_BYTES_MAX
        while piece := os.read(stream.fileno(), _CHUNK_BYTES):
            pieces.append(piece)
            left -= len(piece)
            if left < 0:
                raise self._flood(command)
        return b"".join(pieces)

    def _flood(self, command: str) -> GitTrouble:
        seen = f"git {command} writes more than {OUTPUT_BYTES_MAX} bytes in {str(self.folder)!r}."
        return GitTrouble(seen, "Remove or ignore what makes the tree so large.")

    @contextmanager
    def _running(
        self,
        arguments: Sequence[str],
        stdin: IO[bytes] | int,
        timeout_s: float,
        stdout: IO[bytes] | int = subprocess.PIPE,
    ) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
        late = threading.Event()
        with _spool() as errors, self._process(arguments, stdin, stdout, errors) as process:
            timer = threading.Timer(timeout_s, _end, (process, late))
            timer.daemon = True
            timer.start()
            try:
                yield process, errors
            finally:
                timer.cancel()
                process.kill()
                if late.is_set():
                    seen = f"git {arguments[0]} takes more than {timeout_s} s in {str(self.folder)!r}."
                    raise GitTrouble(
                        seen, "Look for a pipe in place of a '.gitignore' or a file of '.git', or a slow disk."
                    )

    def _process(
        self, arguments: Sequence[str], stdin: IO[bytes] | int, stdout: IO[bytes] | int, errors: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        options = [text for pair in (*_OVERRIDES, f"safe.directory={self.folder}") for text in ("-c", pair)]
        return subprocess.Popen(  # noqa: S603 - argument list, no shell
            [self.program, "--no-pager", "--literal-pathspecs", *options, *arguments],
            cwd=self.folder,
            env=self._environment(),
            stdin=stdin,
            stdout=stdout,
            stderr=errors,
        )

    def _environment(self) -> Mapping[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("GIT_")}
        place = {
            "GIT_DIR": str(self.folder / ".git"),
            "GIT_WORK_TREE": str(self.folder),
            "GIT_CEILING_DIRECTORIES": str(self.folder.parent),
        }
        return kept | _ENVIRONMENT | place


def is_executable(mode: str) -> bool:
    """Tell whether a mode, as git writes it, lets the owner execute the file."""
    return bool(int(mode, 8) & _OWNER_EXECUTES)


def find_git(root: Path) -> str | None:
    """Give the git program of PATH, never one inside the workspace; None where there is none."""
    # A relative folder of PATH, or one inside the workspace, could hold a planted git.
    inside = os.path.realpath(root)
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    safe = [
        folder for folder in folders if Path(folder).is_absolute() and not _within(os.path.realpath(folder), inside)
    ]
    return shutil.which("git", path=os.pathsep.join(safe)) if safe else None


def repository_at(program: str | None, folder: Path) -> Repository | None:
    """Give the repository whose working tree starts at a folder; None where there is none, or no git."""
    return Repository(program, folder) if program is not None and os.path.lexists(folder / ".git") else None


def open_repository(root: Path) -> Repository | None:
    """Give the workspace's repository; None where there is none, or no git."""
    return repository_at(find_git(root), root)


def git_facts(repository: Repository | None, recall: Recall = lambda _, make: make()) -> GitFacts:
    """Read where the history stands; ``recall`` may give again what it was given for the same two commits.

    Raises:
        GitTrouble: where git does not end or floods.
    """
    if repository is None:
        return GitFacts(None, None)
    output = repository.answer("rev-parse", "--quiet", "HEAD^{commit}", "--symbolic-full-name", "HEAD")
    lines = [] if output is None else _text(output).splitlines()
    if len(lines) != _HEAD_LINES:
        return GitFacts(None, None)
    head, branch = lines

    for commit in _mainlines(repository, branch):
        base = (
            head if commit == head else recall(("merge-base", head, commit), partial(_base, repository, head, commit))
        )
        if base is not None:
            return GitFacts(head, base)
    return GitFacts(head, None)


def _base(repository: Repository, head: str, commit: str) -> str | None:
    return _text(repository.answer("merge-base", "--end-of-options", head, commit) or b"") or None


def _mainlines(repository: Repository, branch: str) -> Iterator[str]:
    """Give the commits of what this branch is to be merged into, the likeliest first.

    An upstream of the branch's own name is where it is pushed, not what it is merged into: it comes after the remote's
    default branch.
    """
    remotes = [f"refs/remotes/origin/{name}" for name in ("HEAD", "main", "master")]
    own_branches = ["refs/heads/main", "refs/heads/master"]
    tips, upstream = _references(repository, [branch, *remotes, *own_branches], branch)
    pushed = upstream.rpartition("/")[2] == branch.rpartition("/")[2]
    if upstream and upstream not in tips:
        tips |= _references(repository, [upstream], branch)[0]
    ordered = [*remotes, upstream] if pushed else [upstream, *remotes]
    for name in (*ordered, *own_branches):
        if name in tips:
            yield tips[name]


def _references(repository: Repository, names: Sequence[str], branch: str) -> tuple[dict[str, str], str]:
    """Give name to object id of these references, and the upstream of a branch."""
    output = repository.answer("for-each-ref", "--format=%(objectname) %(upstream) %(refname)", *names)
    lines = [line.split(" ") for line in _text(output or b"").splitlines()]
    tips = {name: object_id for object_id, _, name in lines if name in names}
    return tips, next((upstream for _, upstream, name in lines if name == branch), "")


def _short(line: str) -> str:
    cut = len(line) > 2 * _HALF_CHARACTERS_MAX
    return f"{line[:_HALF_CHARACTERS_MAX]} ... {line[-_HALF_CHARACTERS_MAX:]}" if cut else line


def _text(output: bytes) -> str:
    return output.decode("utf-8", "surrogateescape").strip()


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _end(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


@contextmanager
def _spool() -> Iterator[IO[bytes]]:
    """Lend a file without a name, for what goes to or comes from git."""
    with ExitStack() as stack:
        with told("the folder for temporary files"):
            file = stack.enter_context(tempfile.TemporaryFile())
        yield file


def _lines(errors: IO[bytes]) -> list[str]:
    errors.seek(0)
    return errors.read(_COMPLAINTS_BYTES_MAX).decode("utf-8", "replace").splitlines()


def _limit(pid: int) -> None:
    """Let a process write no more than is read of it, where the system can."""
    with suppress(OSError, AttributeError, NameError):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (OUTPUT_BYTES_MAX + 1, OUTPUT_BYTES_MAX + 1))


def _output_of(process: subprocess.Popen[bytes]) -> IO[bytes]:
    if process.stdout is None:  # pragma: no cover - it was asked for
        message = "git was started without a pipe"
        raise AssertionError(message)
    return process.stdout
