"""What a command line says of itself: rows plan.commands-whole and plan.gate-whole.

A command is judged by an allow-list over bash's real grammar: simple commands joined by `&&` or by pipelines, with
variable prefixes and plain redirections. It will run as `bash -o pipefail -c RUN`, so that the first failure is the
result. What a command runs beyond its own line (a script, `python -c`, a tool found through `PATH=`) is a program like
any other, and the approver reads it.
"""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from flow_mcp.domain.shell.choosing import command_selectors
from flow_mcp.domain.shell.swallow import cannot_fail, command_faults, path_fault
from flow_mcp.domain.shell.words import Command, Fault, Word, assignment_of, fault, names, read_word

if TYPE_CHECKING:
    from tree_sitter import Language, Node

__all__ = ["COMMAND_BYTES_MAX", "Fault", "command_words", "selectors", "swallowing_faults"]

COMMAND_BYTES_MAX: Final = 8_192
FAULTS_MAX: Final = 16
"""A person needs no more to see what is wrong; every fault has to go anyway."""

_STATEMENTS: Final = names("list pipeline redirected_statement command")
_PARTS: Final = {
    "program": _STATEMENTS,
    "list": _STATEMENTS | {"&&"},
    "pipeline": _STATEMENTS | {"|"},
    "redirected_statement": _STATEMENTS | {"file_redirect"},
}
_JOINS: Final = names("&& |")
_REDIRECTIONS: Final = names("> >> &> &>> <")
_OUTPUTS: Final = names("1 2")
_INVISIBLE: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Printable for Unicode, and yet nothing is seen where they stand."""

_SUBSTITUTIONS: Final = names("command_substitution process_substitution")
_CONTROL: Final = "a control structure: write simple commands joined by && or |"
_ALLOWED: Final = "only simple commands joined by && or | are allowed"
_SUBSTITUTION: Final = "a substitution runs a command whose result is lost"
_REASONS: Final = {
    "||": "|| turns a failure into the next command's result",
    ";": "; forgets the result of what stands before it: join commands with &&",
    "&": "& starts a command and forgets its result",
    "|&": "|& hides errors in the next command's input: use | alone",
    "negated_command": "! turns a failure into a success",
    "subshell": "a group of commands can swallow a result: join commands with && on the line itself",
    "compound_statement": "a group of commands can swallow a result: join commands with && on the line itself",
    "command_substitution": _SUBSTITUTION,
    "process_substitution": _SUBSTITUTION,
    "function_definition": "a function can replace a program",
    "test_command": "a test in brackets is shell grammar: write `test …`",
    "declaration_command": "this sets variables of the shell and checks nothing",
    "unset_command": "this sets variables of the shell and checks nothing",
    "variable_assignment": "an assignment alone runs nothing: put it before the command it is for",
    "variable_assignments": "an assignment alone runs nothing: put it before the command it is for",
    "herestring_redirect": "a here-string is no plain redirection: let a script write the text",
    "comment": "a comment hides the rest of the line",
    "if_statement": _CONTROL,
    "while_statement": _CONTROL,
    "for_statement": _CONTROL,
    "c_style_for_statement": _CONTROL,
    "case_statement": _CONTROL,
}


def swallowing_faults(run: str) -> tuple[Fault, ...]:
    """List what could make this command succeed although something in it failed (row plan.commands-whole).

    Total: any text gives an answer. Empty means that the result is the first failure's.
    """
    unseen = tuple(_text_faults(run))
    if unseen:
        return unseen[:FAULTS_MAX]
    reading = _Reading(run)
    faults = [*_edge_faults(run), *reading.faults]
    for command in reading.commands:
        faults += command_faults(command)
    if reading.commands and all(cannot_fail(command) for command in reading.commands):
        faults.append(fault("a command that cannot fail shows nothing", run))
    return tuple(dict.fromkeys(faults))[:FAULTS_MAX]


def selectors(run: str) -> tuple[Fault, ...]:
    """List what in this command chooses which tests run (row plan.gate-whole).

    Total. A text that is no command, or an unknown program, has none.
    """
    faults = [found for command in _commands(run) for found in command_selectors(command)]
    return tuple(dict.fromkeys(faults))[:FAULTS_MAX]


def command_words(run: str) -> tuple[tuple[str, ...], ...]:
    """List the simple commands as argument lists without quotes; empty where the text is no command.

    An expansion stays as written, and a word that cannot be read plainly stays as it is.
    """
    return tuple(tuple(word.text for word in command.words) for command in _commands(run))


def _commands(run: str) -> tuple[Command, ...]:
    return () if any(_text_faults(run)) else _Reading(run).commands


def _text_faults(run: str) -> Iterator[Fault]:
    """Say what a person could not see or would not read to the end."""
    size_bytes = len(run.encode("utf-8", "surrogatepass"))
    if size_bytes > COMMAND_BYTES_MAX:
        shown = "".join(character for character in run[:200] if character.isprintable())
        yield fault(f"a command has at most {COMMAND_BYTES_MAX} bytes, this one has {size_bytes}", shown)
        return
    if not run.strip():
        yield fault("there is no command", "")
    for character in dict.fromkeys(run):
        if not character.isprintable() or character in _INVISIBLE or _is_variation(character):
            yield fault("a line break or a character that cannot be seen", f"U+{ord(character):04X}")


def _is_variation(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _edge_faults(run: str) -> Iterator[Fault]:
    if run != run.strip(" "):
        yield fault("blanks before or after the command: its bytes are compared", run)


@cache
def _language() -> "Language":
    """Load the grammar once, when the first command is read, so that importing the domain stays cheap."""
    import tree_sitter  # noqa: PLC0415 - see above
    import tree_sitter_bash  # noqa: PLC0415 - see above

    return tree_sitter.Language(tree_sitter_bash.language())


def _root(run: str) -> "Node":
    from tree_sitter import Parser  # noqa: PLC0415 - as _language

    return Parser(_language()).parse(run.encode()).root_node


class _Piece(NamedTuple):
    """A part of the text, in bytes. Only a join (`&&`, `|`) may touch its neighbours."""

    start: int
    end: int
    joins: bool


class _Reading:
    """One text walked along its tree: the simple commands in it, and what is not allowed around them.

    The tree says what belongs together; the words are read again by `read_word`, and the pieces must cover the text.
    """

    def __init__(self, run: str) -> None:
        self.faults: list[Fault] = []
        self.commands: tuple[Command, ...] = ()
        self._bytes = run.encode()
        self._pieces: list[_Piece] = []
        root = _root(run)
        if root.has_error:
            self.faults.append(fault("this cannot be read as a shell command", run))
            return
        self.commands = tuple(self._walk(root))
        if not self.faults and not self._covers():
            self.faults.append(fault("this can be read in two ways: put blanks between words, and use quotes", run))

    def _walk(self, root: "Node") -> Iterator[Command]:
        """Visit every statement; inside what is not allowed, commands are found but not judged again."""
        stack = [(root, True)]
        while stack:
            node, allowed = stack.pop()
            if node.type == "command":
                yield self._command(node, allowed)
                continue
            parts = _PARTS.get(node.type, frozenset())
            for child in node.children:
                if allowed and child.type not in parts:
                    self._refuse(child)
                elif allowed:
                    self._note(child)
            if node.type == "redirected_statement" and not any(child.type in _STATEMENTS for child in node.children):
                self.faults.append(fault("a redirection alone runs nothing", self._text(node)))
            statements = parts & _STATEMENTS if allowed else frozenset()
            stack += [(child, child.type in statements) for child in reversed(node.children)]

    def _refuse(self, node: "Node") -> None:
        self.faults.append(fault(_REASONS.get(node.type, _ALLOWED), self._text(node)))

    def _note(self, node: "Node") -> None:
        if node.type in _JOINS:
            self._pieces.append(_Piece(node.start_byte, node.end_byte, joins=True))
        elif node.type == "file_redirect":
            self._redirect(node)

    def _command(self, node: "Node", allowed: bool) -> Command:  # noqa: FBT001 - private, and read beside its name
        """Read a simple command; a fault only where it stands in an allowed place."""
        before = len(self.faults)
        assignments: list[tuple[str, Word]] = []
        words: list[Word] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assignments += self._assignment(child)
            elif child.type == "file_redirect":
                self._redirect(child)
            elif child.type in _REASONS:
                self._refuse(child)
                if child.type in _SUBSTITUTIONS:
                    words.append(Word(self._text(child), self._text(child), varies=True))
            else:
                words.append(self._word(child))
        if not allowed:
            del self.faults[before:]
        return Command(tuple(assignments), tuple(words))

    def _word(self, node: "Node") -> Word:
        raw = self._text(node)
        self._pieces.append(_Piece(node.start_byte, node.end_byte, joins=False))
        word = read_word(raw)
        if isinstance(word, Word):
            return word
        self.faults.append(word)
        return Word(raw, raw, varies=True)

    def _assignment(self, node: "Node") -> list[tuple[str, Word]]:
        word = self._word(node)
        assignment = assignment_of(word)
        if assignment is None:
            self.faults.append(fault("only NAME=value may stand before a command", word.raw))
            return []
        return [assignment]

    def _redirect(self, node: "Node") -> None:
        """Allow `> file`, `>> file`, `&> file`, `< file`, `2>&1`: what keeps the result and stays inside."""
        self._pieces.append(_Piece(node.start_byte, node.end_byte, joins=False))
        *descriptors, target = node.children
        kinds = [child.type for child in descriptors]
        operator = kinds[-1] if kinds else target.type
        numbers = [self._text(child) for child in descriptors if child.type == "file_descriptor"]
        plain = _OUTPUTS.issuperset(numbers)
        if plain and operator == ">&" and self._text(target) in _OUTPUTS:
            return
        if not plain or operator not in _REDIRECTIONS:
            self.faults.append(fault("only plain redirections to or from one file, at the end", self._text(node)))
            return
        word = read_word(self._text(target))
        found = path_fault(word) if isinstance(word, Word) else word
        if found is not None:
            self.faults.append(found)

    def _covers(self) -> bool:
        """True where words, joins and redirections are all of the text, with blanks wherever bash needs them."""
        before = _Piece(0, 0, joins=True)
        for piece in sorted(self._pieces):
            gap = self._bytes[before.end : piece.start]
            if gap.strip(b" ") or not (gap or before.joins or piece.joins):
                return False
            before = piece
        return not self._bytes[before.end :].strip(b" ")

    def _text(self, node: "Node") -> str:
        return self._bytes[node.start_byte : node.end_byte].decode()
