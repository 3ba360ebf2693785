import io
import sys

import pytest

from flow_mcp.cli.answer import Misused
from flow_mcp.cli.person import (
    AGAIN_MAX,
    CALLER,
    TERMINAL,
    answering,
    at_terminal,
    confirmed,
    insisted,
    prompted,
    reached,
)


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


@pytest.mark.parametrize("moment", ["write", "flush", "readline"])
def test_an_interrupt_at_any_moment_of_a_question_says_that_nothing_was_recorded(
    monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    stdin, stderr, struck = Tty(), Tty(), iter([True])
    stream = stdin if moment == "readline" else stderr
    real = getattr(stream, moment)

    def strike(*given: str) -> object:
        if next(struck, False):
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(stream, moment, strike)
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(sys, "stderr", stderr)
    with pytest.raises(KeyboardInterrupt):
        prompted("Yes?")
    assert "nothing was recorded" in stderr.getvalue()


def test_the_answer_is_a_persons_at_a_terminal_and_the_callers_with_yes() -> None:
    assert answering(yes=False) == TERMINAL
    assert answering(yes=True) == CALLER


def test_nobody_is_asked_where_nobody_can_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Tty())
    monkeypatch.setattr(sys, "stdin", Tty())
    reached("")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(Misused, match=r"Run it at a terminal, or elsewhere\."):
        reached(", or elsewhere")
    with pytest.raises(Misused, match=r"at a terminal\."):
        confirmed((), "Well?", "")


class _Interrupted(Tty):
    def readline(self, _size: int | None = -1, /) -> str:  # type: ignore[override]
        raise KeyboardInterrupt


def test_an_interrupt_at_a_question_says_that_nothing_was_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Tty()
    monkeypatch.setattr(sys, "stdin", _Interrupted())
    monkeypatch.setattr(sys, "stderr", shown)
    with pytest.raises(KeyboardInterrupt):
        insisted("Well?", fault)
    assert shown.getvalue() == "Well? \nInterrupted: nothing was recorded.\n"


@pytest.mark.parametrize(
    ("typed", "expected"), [("y", True), ("Yes", True), ("yes", True), ("n", False), ("yep", False)]
)
def test_y_and_yes_both_count(monkeypatch: pytest.MonkeyPatch, typed: str, *, expected: bool) -> None:
    monkeypatch.setattr(sys, "stderr", Tty())
    monkeypatch.setattr(sys, "stdin", Tty(f"{typed}\n"))
    monkeypatch.setattr("flow_mcp.cli.person._forget_typed", lambda: None)
    assert confirmed((), "Well?", "") is expected


def fault(text: str) -> str | None:
    return None if text == "right" else f"{text!r} is wrong"


def test_a_wrong_answer_is_asked_for_again_with_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Tty("bad\n" * AGAIN_MAX + "right\n"))
    shown = Tty()
    monkeypatch.setattr(sys, "stderr", shown)
    assert insisted("Well?", fault) == "right"
    assert shown.getvalue() == "Well? " + "That cannot be recorded: 'bad' is wrong. Again: " * AGAIN_MAX


def test_after_three_more_wrong_answers_it_ends_and_nothing_was_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Tty("bad\n" * (AGAIN_MAX + 1) + "right\n"))
    monkeypatch.setattr(sys, "stderr", Tty())
    with pytest.raises(Misused, match="nothing was recorded"):
        insisted("Well?", fault)
    monkeypatch.setattr(sys, "stdin", Tty(""))
    with pytest.raises(Misused, match="nothing was recorded"):
        insisted("Well?", fault)
