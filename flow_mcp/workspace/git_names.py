"""The names that git lists, asked of several repositories at once."""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from flow_mcp.workspace.git import repository_at

ASKED_AHEAD_MAX = 4

_SOURCE = ("ls-files", "-z", "-t", "-s", "-c", "-o", "--exclude-per-directory=.gitignore")
_IGNORED = ("ls-files", "-z", "-o", "-i", "--directory", "--exclude-per-directory=.gitignore")


class Said(NamedTuple):
    """What git wrote of one repository: the source, and what the ignore rules leave out of it."""

    source: bytes
    ignored: bytes


class Talk:
    """What git says of repositories, asked ahead of its use where that is possible; used in a ``with`` statement."""

    def __init__(self, root: Path, program: str | None) -> None:
        self._root = root
        self._program = program
        self._asked: dict[bytes, tuple[Callable[[], bytes], ...]] = {}
        self._open = ExitStack()
        self.answers: dict[bytes, Said] = {}

    def __enter__(self) -> Self:
        self._open.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.__exit__(kind, error, trace)

    def ask_ahead(self, folder: bytes) -> None:
        """Ask git of the repository in a folder, unless so many are asked already."""
        if len(self._asked) < ASKED_AHEAD_MAX:
            self._ask(folder, self._open)

    def _ask(self, folder: bytes, stack: ExitStack) -> None:
        repository = repository_at(self._program, self._root / os.fsdecode(folder))
        self._asked[folder] = (
            ()
            if repository is None
            else tuple(stack.enter_context(repository.begun(*arguments)) for arguments in (_SOURCE, _IGNORED))
        )

    def answer(self, folder: bytes) -> Said | None:
        """Give what git says of the repository in a folder; None where there is none, or no git.

        Raises:
            GitTrouble: where git cannot list.
        """
        if folder not in self.answers:
            with ExitStack() as stack:
                if folder not in self._asked:
                    self._ask(folder, stack)
                if self._asked[folder]:
                    self.answers[folder] = Said(*(ended() for ended in self._asked[folder]))
        return self.answers.get(folder)
