"""What one process remembers of a workspace, so that a look at the source costs a status a file.

All of it is a hint: without a memory everything is read anew, and that is what the last word on a source rests on.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

from flow_mcp.workspace import stat_cache
from flow_mcp.workspace.entries import BlobHash
from flow_mcp.workspace.listing import FILES_MAX, Listing
from flow_mcp.workspace.records import Records
from flow_mcp.workspace.seen import Seen
from flow_mcp.workspace.stat_cache import Known

SEEN_MAX = 4
"""So many plans' looks are kept; each takes about a kilobyte a file."""
FACTS_MAX = 8
_SAVED_IN_PARTS_OF = 50

_T = TypeVar("_T")

Asked = tuple[Records, tuple[str, ...]]


class Memory:
    """Remembers one workspace; several threads may use it."""

    def __init__(self, private: Path | None, clock: Callable[[], int] = time.time_ns) -> None:
        """Remember nothing yet.

        Args:
            private: the machine-private folder, where the next process finds what is known; None to keep it here.
            clock: gives the time now in nanoseconds.
        """
        self.clock = clock
        self.listing: Listing | None = None
        self.blob_hash: BlobHash | None = None
        self._private = private
        self._root: Path | None = None
        self._cache: dict[str, Known] = {}
        self._unsaved = 0
        self._seen: OrderedDict[Asked, Seen] = OrderedDict()
        self._facts: OrderedDict[Hashable, object] = OrderedDict()
        self._progress: tuple[int, int] | None = None
        self._forgot = False
        self._looking = threading.Lock()
        self._recalling = threading.Lock()

    @contextmanager
    def looking(self, root: Path) -> Iterator[None]:
        """Let one thread at a time look; the next finds what it saw. A look at another root starts afresh."""
        with self._looking:
            if root != self._root:
                self._root, self.listing = root, None
                self._seen.clear()
                private = None if self._forgot else self._private
                self._cache = {} if private is None else stat_cache.load(private, root)
            try:
                yield
            finally:
                self._progress = None

    def forget(self) -> None:
        """Remember nothing any more, also on the disk: what was remembered was not so."""
        with self._looking:
            self.listing = None
            self._seen.clear()
            self._cache = {}
            # What an earlier process kept is not read any more either, where no look has read it yet.
            self._forgot = True
            if self._private is not None and self._root is not None:
                stat_cache.save(self._private, self._root, self._cache)

    def progress(self) -> tuple[int, int] | None:
        """Give how many files of how many a look under way has read; None where none reads."""
        return self._progress

    def reading(self, done: int, of: int) -> None:
        """Say how far a look is."""
        self._progress = (done, of)

    def seen(self, records: Records, artifacts: Sequence[str]) -> Seen | None:
        """Give the last look that left out the same."""
        asked = (records, tuple(artifacts))
        if asked in self._seen:
            self._seen.move_to_end(asked)
        return self._seen.get(asked)

    def latest(self) -> Seen | None:
        """Give the look that was asked for last, whatever it left out."""
        return next(reversed(self._seen.values()), None)

    def known(self, path: str) -> Known | None:
        """Give what was last read of a path."""
        return self._cache.get(path)

    def keep(self, records: Records, artifacts: Sequence[str], seen: Seen, fresh: Mapping[str, Known]) -> None:
        """Keep a look, and what was read in it."""
        self.listing, self.blob_hash = seen.listing, seen.blob_hash or self.blob_hash
        self._seen[records, tuple(artifacts)] = seen
        while len(self._seen) > SEEN_MAX:
            self._seen.popitem(last=False)
        for path, found in fresh.items():
            self._unsaved += found.trusted and self._cache.get(path) != found
            self._cache[path] = found
        if len(self._cache) > FILES_MAX:
            self._cache = dict(seen.known)
        self._save()

    def _save(self) -> None:
        """Write for the next process, when enough is new that its time would be missed."""
        if self._private is None or self._root is None or self._unsaved <= len(self._cache) // _SAVED_IN_PARTS_OF:
            return
        stat_cache.save(self._private, self._root, self._cache)
        self._unsaved = 0

    def recall(
        self, what: Hashable, make: Callable[[], _T | None], holds: Callable[[_T], bool] = lambda _: True
    ) -> _T | None:
        """Give what never changes under this name while it holds, found out once; None is asked again."""
        with self._recalling:
            found = cast("_T | None", self._facts.get(what))
        if found is None or not holds(found):
            found = make()
        if found is not None:
            with self._recalling:
                self._facts[what] = found
                self._facts.move_to_end(what)
                while len(self._facts) > FACTS_MAX:
                    self._facts.popitem(last=False)
        return found
