"""Answers on paper: nothing that a document holds can act on a terminal, hide in it, or break a pipe.

Everything is made into text first. Text from documents never goes to rich as a string, which would be read as markup,
and every character that a person could not see is written out.
"""

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, TextIO

from flow_mcp.cli.answer import Answer, Block, Body, Facts, Raw, Rows, Style, Words
from flow_mcp.cli.codes import WORLD

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

WIDTH_MIN: Final = 20
_UNBOUNDED: Final = 100_000

_STYLES: Final[dict[Style, str]] = {"plain": "", "strong": "bold", "good": "green", "bad": "bold red", "faint": "dim"}
_GAP: Final = (0, 2, 0, 0)

# Controls but newline and tab, marks that reorder a line, characters without width, halves of characters.
_UNSEEN: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)


def plain(text: str) -> str:
    """Write out every character that could steer a terminal or that nobody could see."""
    return _UNSEEN.sub(lambda found: f"<U+{ord(found[0]):04X}>", text)


def as_json(body: Body) -> str:
    """Write a body as JSON in ASCII: safe on any terminal and in any encoding."""
    return json.dumps(body, indent=2).replace("\x7f", "\\u007f") + "\n"


def emit(answer: Answer) -> int:
    """Print an answer and give its exit code; a reader who has left is no fault."""
    if answer.as_json:
        return _written(sys.stdout, as_json(answer.body), answer.code)
    told = _written(sys.stderr, drawn(answer.aside, sys.stderr), answer.code)
    stream = sys.stderr if answer.complaint else sys.stdout
    return _written(stream, drawn(answer.page, stream), told)


def drawn(blocks: Sequence[Block], stream: TextIO | None) -> str:
    """Draw blocks as text, as wide and as colourful as the stream is."""
    on_terminal = stream is not None and stream.isatty()
    return "".join(_drawn(block, on_terminal=on_terminal) for block in blocks)


def _drawn(block: Block, *, on_terminal: bool) -> str:
    if isinstance(block, Raw):
        return plain(block.text if block.text.endswith("\n") else f"{block.text}\n")
    drawing = io.StringIO()
    _console(drawing, on_terminal=on_terminal).print(_shape(block))
    text = drawing.getvalue()
    return text if on_terminal else "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def show(blocks: Sequence[Block]) -> None:
    """Draw blocks on standard error at once, for a person who is about to be asked."""
    _written(sys.stderr, drawn(blocks, sys.stderr), 0)


def _console(drawing: TextIO, *, on_terminal: bool) -> "Console":
    from rich.console import Console  # noqa: PLC0415 - costs 80 ms, and a program reads JSON

    width = max(WIDTH_MIN, shutil.get_terminal_size().columns) if on_terminal else _UNBOUNDED
    return Console(
        file=drawing,
        force_terminal=on_terminal,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def _shape(block: Words | Facts | Rows) -> "RenderableType":
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    if isinstance(block, Words):
        return Text(plain(block.text), _STYLES[block.style], overflow="fold")
    table = Table(box=None, show_header=isinstance(block, Rows), padding=_GAP, pad_edge=False)
    if isinstance(block, Facts):
        table.add_column(overflow="fold")
        table.add_column(overflow="fold")
        for name, lines in block.rows:
            table.add_row(Text(plain(name), "dim"), Text(plain("\n".join(lines))))
        return table
    for name in block.head:
        table.add_column(Text(plain(name), "dim"), overflow="fold")
    for row in block.rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    return table


def _written(stream: TextIO | None, text: str, code: int) -> int:
    """Write text and give the code; a disk that is full is a broken world."""
    if stream is None or not text:
        return code
    try:
        _tolerant(stream).write(text)
        stream.flush()
    except BrokenPipeError:
        _forget(stream)
    except OSError as error:
        _forget(stream)
        return _written(sys.stderr, f"The answer cannot be written: {error.strerror}.\n", WORLD)
    return code


def _tolerant(stream: TextIO) -> TextIO:
    """Let a stream write what its encoding lacks as an escape."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def _forget(stream: TextIO) -> None:
    """Send what is left in a stream's buffer nowhere, so that the end of the process does not complain again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
