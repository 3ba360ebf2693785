import errno
import io
import json
import os
import re
import sys
from typing import TextIO

import pytest

from flow_mcp.cli.answer import Answer, Facts, Raw, Rows, Words
from flow_mcp.cli.paper import as_json, drawn, emit, plain
from tests.cli.conftest import Flow
from tests.cli.rig import PLAN, Project

HOSTILE = [
    "[bold red]markup[/bold red]",
    "[link=https://example.org]click[/link]",
    "[/]",
    ":warning: \\[x]",
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m",
    "right \u202eto left",
    "zero\u200bwidth \u2066isolate\u2069",
    "tag\U000e0041",
    "half \ud800",
    "del\x7f bell\x07 back\x08",
    "line\u2028separator\x85",
    "filler\u3164 hangul\u115f",
]
BLOCKS = (Words, lambda text: Facts(((text, (text,)),)), lambda text: Rows((text,), ((text,),)), Raw)


STYLE = re.compile("\x1b\\[[0-9;]*m")


class Tty(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def seen_as_text(text: str) -> bool:
    return all(mark.isprintable() or mark in "\n " for mark in text)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("block", BLOCKS)
def test_nothing_from_a_document_acts_on_a_terminal(text: str, block: type[Words]) -> None:
    found = drawn([block(text)], None)
    assert seen_as_text(found)
    assert plain(text).split()[0] in found
    assert seen_as_text(STYLE.sub("", drawn([block(text)], Tty())))


def test_what_nobody_could_see_is_written_out_and_the_rest_stays() -> None:
    assert plain("a\x1b\u202e\ud800b") == "a<U+001B><U+202E><U+D800>b"
    usual = "äöü 漢字 emoji 🙂\N{VARIATION SELECTOR-16} \t\n«quotes» — [brackets] \\ back"
    assert plain(usual) == usual


@pytest.mark.parametrize("text", HOSTILE)
def test_json_is_ascii_and_reads_back(text: str) -> None:
    written = as_json({"text": text})
    assert all(32 <= ord(mark) < 127 or mark == "\n" for mark in written)
    assert json.loads(written) == {"text": text}


def test_a_terminal_gets_colour_and_its_own_width_and_a_pipe_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    long = Words("word " * 60, "bad")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("FORCE_COLOR", "1")
    on_terminal = drawn([long], Tty())
    assert "\x1b[1;31m" in on_terminal
    assert max(map(len, STYLE.sub("", on_terminal).splitlines())) <= 40
    piped = drawn([long], io.StringIO())
    assert "\x1b" not in piped
    assert len(piped.splitlines()) == 1
    monkeypatch.setenv("NO_COLOR", "1")
    assert "31m" not in drawn([long], Tty())


@pytest.mark.parametrize("columns", ["1", "7", "20", "80", "10000"])
def test_a_digest_is_whole_on_a_terminal_of_any_width(monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    digest = "sha256:" + "0123456789abcdef" * 4
    for block in (Words(digest), Facts((("source", (digest, "漢字" * 40)),)), Rows(("a", "b"), (("x", digest),))):
        text = drawn([block], Tty())
        kept = [mark for mark in STYLE.sub("", text) if mark in "sha256:0123456789abcdef"]
        assert "…" not in text
        assert digest in "".join(kept)


def test_lines_of_a_pipe_end_where_their_text_ends_and_raw_text_keeps_its_blanks() -> None:
    rows = drawn([Rows(("a", "b"), (("x", ""), ("long", "y")))], None)
    assert rows == "a     b\nx\nlong  y\n"
    assert drawn([Raw("two blanks  \nend")], None) == "two blanks  \nend\n"
    assert drawn([Facts(())], None).strip() == ""


class Closed(io.StringIO):
    """A stream whose reader has left, or whose disk is full."""

    def __init__(self, code: int, descriptor: int) -> None:
        super().__init__()
        self._code, self._descriptor = code, descriptor

    def write(self, _text: str) -> int:
        raise OSError(self._code, os.strerror(self._code))

    def fileno(self) -> int:
        return self._descriptor


@pytest.mark.parametrize(("code", "ended"), [(errno.EPIPE, 0), (errno.ENOSPC, 4)])
def test_a_reader_who_left_is_no_fault_and_a_full_disk_is(
    code: int, ended: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(sys, "stdout", Closed(code, writing))
    assert emit(Answer({}, (Words("x"),))) == ended
    assert capsys.readouterr().err == ("" if ended == 0 else "The answer cannot be written: No space left on device.\n")
    os.write(writing, b"goes nowhere now")
    os.close(writing)


def test_a_complaint_goes_to_standard_error_and_an_aside_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert emit(Answer({}, (Words("bad"),), code=3, complaint=True)) == 3
    assert capsys.readouterr() == ("", "bad\n")
    emit(Answer({"a": 1}, (Raw("content"),), aside=(Words("put it there"),)))
    assert capsys.readouterr() == ("content\n", "put it there\n")
    emit(Answer({"a": 1}, (Raw("content"),), aside=(Words("put it there"),)).told(as_json=True))
    assert capsys.readouterr() == ('{\n  "a": 1\n}\n', "")


def test_without_streams_only_the_code_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    assert emit(Answer({}, (Words("x"),), aside=(Words("y"),))) == 0
    assert emit(Answer({}, (Words("x"),), code=4, complaint=True)) == 4


def test_an_encoding_that_lacks_a_character_gets_its_escape(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    stream: TextIO = io.TextIOWrapper(written, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    emit(Answer({}, (Words("漢"),)))
    assert written.getvalue() == b"\\u6f22\n"


EVIL = "[red]Evil[/red] \u202eplan\u200b | `x` <b>"


@pytest.mark.parametrize("verb", ["status", "log", "why", "show", "verify", "doctor", "approve", "review"])
def test_a_hostile_document_is_shown_as_text_by_every_verb(
    verb: str, started: Project, typed: Flow, flow: Flow
) -> None:
    feature = PLAN.features[0].model_copy(update={"title": EVIL, "summary": EVIL})
    started.drafted(EVIL + "\nPlan sha256:forged at revision 9.", PLAN.model_copy(update={"features": (feature,)}))
    if verb == "review":
        started.approved().worked().pending()
    script = {"approve": (("Type yes", "no\n"),), "review": (("pass or fail", "x\n"),)}
    ended = typed(verb, script=script[verb]) if verb in script else flow(verb)
    for mark in ("\u202e", "\u200b", "\x1b]", "\x9b"):
        assert mark not in ended.out + ended.err
    if verb not in {"log", "verify", "doctor", "why"}:
        assert "Evil" in ended.out + ended.err
        assert "red" in ended.out + ended.err
