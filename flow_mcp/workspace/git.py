"""Git, read only: nothing that a repository's configuration names is run, and no command reads a working file.

Commands that read working files (``status``, ``add``, ``diff``) run filters whose names the repository chooses, so
that no override can reach them; none is used. What is used is overridden to this form (ws-fp/4).
"""

import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from flow_mcp.domain.errors import BrokenWorld

CALL_TIMEOUT_S = 60
BATCH_TIMEOUT_S = 900
OUTPUT_BYTES_MAX = 256 * 1024 * 1024
_COMPLAINTS_BYTES_MAX = 16 * 1024 * 1024
_HALF_CHARACTERS_MAX = 200
# What git says, and still ends well, when it leaves out a folder.
_UNOPENED = "could not open directory"
_CHUNK_BYTES = 1024 * 1024
_HEAD_BYTES_MAX = 200
_HEAD_WORDS = 3

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

    def output(self, *arguments: str) -> bytes:
        """Run git and give what it wrote.

        Raises:
            GitTrouble: where it fails, passes over a folder that it cannot open, writes more than 256 MiB, or takes
                more than 60 s.
        """
        code, output, complaints = self._call(arguments)
        if code != 0:
            first = next(iter(complaints), f"exit code {code}")
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
    def blobs(self, object_ids: Sequence[str]) -> Iterator["Blobs"]:
        """Lend the contents of these objects, in this order, as they are stored: no filter touches them.

        Raises:
            GitTrouble: where it takes more than 15 minutes.
        """
        with tempfile.TemporaryFile() as wanted:
            wanted.write("".join(f"{object_id}\n" for object_id in object_ids).encode("ascii"))
            wanted.seek(0)
            with self._running(("cat-file", "--batch", "--buffer"), wanted, BATCH_TIMEOUT_S) as (process, _):
                yield Blobs(_output_of(process))

    def _call(self, arguments: Sequence[str]) -> tuple[int, bytes, list[str]]:
        with self._running(arguments, subprocess.DEVNULL, CALL_TIMEOUT_S) as (process, errors):
            output = _output_of(process).read(OUTPUT_BYTES_MAX + 1)
            if len(output) > OUTPUT_BYTES_MAX:
                seen = f"git {arguments[0]} writes more than {OUTPUT_BYTES_MAX} bytes in {str(self.folder)!r}."
                raise GitTrouble(seen, "Remove or ignore what makes the tree so large.")
            code = process.wait()
            errors.seek(0)
            lines = errors.read(_COMPLAINTS_BYTES_MAX).decode("utf-8", "replace").splitlines()
        return code, output, lines

    @contextmanager
    def _running(
        self, arguments: Sequence[str], stdin: IO[bytes] | int, timeout_s: float
    ) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
        late = threading.Event()
        with tempfile.TemporaryFile() as errors, self._process(arguments, stdin, errors) as process:
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

    def _process(self, arguments: Sequence[str], stdin: IO[bytes] | int, errors: IO[bytes]) -> subprocess.Popen[bytes]:
        options = [text for pair in (*_OVERRIDES, f"safe.directory={self.folder}") for text in ("-c", pair)]
        return subprocess.Popen(  # noqa: S603 - argument list, no shell
            [self.program, "--no-pager", "--literal-pathspecs", *options, *arguments],
            cwd=self.folder,
            env=self._environment(),
            stdin=stdin,
            stdout=subprocess.PIPE,
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


class Blobs:
    """The contents of objects, one after the other."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def copy_next(self, consume: Callable[[bytes], None], *, bytes_max: int) -> bool:
        """Hand over the next object in pieces; False where git does not have it whole as a blob, or it is larger.

        After False nothing more can be read.
        """
        head = self._stream.readline(_HEAD_BYTES_MAX).split()
        if len(head) != _HEAD_WORDS or head[1] != b"blob":
            return False
        left = int(head[2])
        if left > bytes_max:
            return False
        while left > 0:
            piece = self._stream.read(min(left, _CHUNK_BYTES))
            if not piece:
                return False
            consume(piece)
            left -= len(piece)
        return self._stream.read(1) == b"\n"


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


def git_facts(repository: Repository | None) -> GitFacts:
    """Read where the history stands.

    Raises:
        GitTrouble: where git does not end or floods.
    """
    if repository is None:
        return GitFacts(None, None)
    head = _line(repository.answer("rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}"))
    if head is None:
        return GitFacts(None, None)
    for reference in _mainlines(repository):
        base = _line(repository.answer("merge-base", "--end-of-options", head, reference))
        if base is not None:
            return GitFacts(head, base)
    return GitFacts(head, None)


def _mainlines(repository: Repository) -> list[str]:
    """Name what this branch is to be merged into, the likeliest first.

    An upstream of the branch's own name is where it is pushed, not what it is merged into: it comes after the remote's
    default branch.
    """
    branch = _line(repository.answer("symbolic-ref", "--quiet", "HEAD")) or ""
    upstream = _line(repository.answer("rev-parse", "--verify", "--quiet", "--symbolic-full-name", "@{upstream}"))
    remotes = [f"refs/remotes/origin/{name}" for name in ("HEAD", "main", "master")]
    own = upstream is not None and upstream.rpartition("/")[2] == branch.rpartition("/")[2]
    upstreams = [] if upstream is None else [upstream]
    ordered = [*remotes, *upstreams] if own else [*upstreams, *remotes]
    return [*ordered, "refs/heads/main", "refs/heads/master"]


def _short(line: str) -> str:
    cut = len(line) > 2 * _HALF_CHARACTERS_MAX
    return f"{line[:_HALF_CHARACTERS_MAX]} ... {line[-_HALF_CHARACTERS_MAX:]}" if cut else line


def _line(output: bytes | None) -> str | None:
    return None if output is None else output.decode("utf-8", "surrogateescape").strip() or None


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _end(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    process.kill()


def _output_of(process: subprocess.Popen[bytes]) -> IO[bytes]:
    if process.stdout is None:  # pragma: no cover - it was asked for
        message = "git was started without a pipe"
        raise AssertionError(message)
    return process.stdout
