"""Requests to end the process, noted while it must not end at once."""

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any, Final, Self

_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP")

_Handler = Callable[[int, FrameType | None], Any] | int | None


class Interrupts:
    """Notes interrupts instead of ending; what the process was started to ignore stays ignored.

    Attributes:
        came: one came since it was entered.
    """

    def __init__(self) -> None:
        """Note nothing yet."""
        self.came = False
        self._before: dict[int, _Handler] = {}

    def __enter__(self) -> Self:
        """Note them from now on."""
        for name in _NAMES:
            number = getattr(signal, name, signal.SIGINT)  # Windows has no SIGHUP
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before.setdefault(number, signal.signal(number, self._note))
        return self

    def __exit__(self, *_: object) -> None:
        """Put back what was in place before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.came = True
