import io
import sys

import pytest

from flow_mcp.cli.answer import Misused
from flow_mcp.cli.person import CALLER, TERMINAL, answering, at_terminal


class Tty(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stdin", "stderr", "expected"),
    [(Tty(), Tty(), True), (io.StringIO(), Tty(), False), (Tty(), io.StringIO(), False), (None, Tty(), False)],
)
def test_a_person_is_there_where_they_can_be_shown_and_can_answer(
    monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO | None, stderr: io.StringIO, *, expected: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(sys, "stderr", stderr)
    assert at_terminal() is expected


def test_the_answer_is_a_persons_at_a_terminal_and_the_callers_with_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Tty())
    monkeypatch.setattr(sys, "stdin", Tty())
    assert answering(yes=False) == TERMINAL
    assert answering(yes=True) == CALLER
    monkeypatch.setattr(sys, "stdin", None)
    assert answering(yes=True) == CALLER
    with pytest.raises(Misused):
        answering(yes=False)
