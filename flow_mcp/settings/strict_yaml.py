"""A small YAML mapping that has one meaning, read with the line of every value, and nothing built from it.

YAML can name a value and repeat it until memory ends, build objects, hold several documents, and give one key twice.
None of that is read here: what a person sees in the file is what it says. Importing this module costs the import of
a YAML reader, so whoever may have no file to read imports it late.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import yaml

DEPTH_MAX = 8
QUOTED_CHARACTERS_MAX = 40

# What an editor does not show, or what reorders the line that shows it; \ufffe and \uffff are no characters at all.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7}|\|{7})", re.MULTILINE)
_TAGS = "tag:yaml.org,2002:"
_KINDS = {
    "str": "a text",
    "int": "a number",
    "float": "a number",
    "bool": "a yes or no",
    "null": "nothing",
    "timestamp": "a date",
    "seq": "a list",
    "map": "a mapping",
    "merge": "a merge mark",
    "value": "a default mark",
}
# The reader's own words are for its authors; these are the ones a person gets to read.
_SYNTAX = (
    ("expected escape sequence", "a backslash lacks the hexadecimal digits of its character"),
    ("unknown escape", "a backslash stands before a character that YAML does not escape"),
    ("quoted scalar", "a quotation is opened and never closed"),
    ("flow sequence", "a bracket '[' is opened and not closed, or a comma is missing in it"),
    ("flow mapping", "a brace '{' is opened and not closed, or a comma is missing in it"),
    ("another document", "a second document begins; keep one"),
    ("<document start>", "more text follows after the end of the settings"),
    ("scanning a simple key", "a key has no colon after it"),
    ("mapping values are not allowed", "a colon stands where no value can follow; put the text into quotes"),
    ("sequence entries are not allowed", "a dash stands where no list can begin"),
    ("'\\t' that cannot start", "a tab stands where YAML takes spaces"),
    ("cannot start any token", "a value begins with a character that YAML reserves; put it into quotes"),
    ("<block end>", "the indentation does not fit the lines above"),
    ("block scalar", "what follows a '|' or '>' is no mark that YAML knows"),
    ("scanning an a", "an anchor or alias has no proper name"),
    ("incompatible", "the file asks for another YAML than version 1"),
    ("directive", "a line that begins with '%' is no proper directive"),
    ("tag", "a tag is not written as YAML asks"),
)
_SYNTAX_ELSE = "the text is not YAML"


class Misread(Exception):  # noqa: N818 - named for the state of the text, which is no error of the program
    """The text is no plain mapping.

    Attributes:
        line: the line at fault, counted from 1.
        what: what stands there, in words that begin small and end without a full stop.
    """

    def __init__(self, line: int, what: str) -> None:
        super().__init__(line, what)
        self.line = line
        self.what = what


@dataclass(frozen=True, slots=True)
class Value:
    """One value of the mapping.

    Attributes:
        line: where it begins, or the line of its key where it has one, counted from 1.
        kind: what it is, with its article: ``a text``, ``a number``, ``a yes or no``, ``nothing``, ``a list`` …
        text: how it is written, quotes taken off; empty for a list or a mapping.
        items: what a list holds.
    """

    line: int
    kind: str
    text: str
    items: tuple["Value", ...]


class _Strict(yaml.SafeLoader):
    """A loader that repeats no value, reads no tag, and nests no deeper than its stack allows."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if event.anchor is not None:
            what = f"an anchor or alias stands here ({event.anchor[:QUOTED_CHARACTERS_MAX]!a}); write values out"
            raise Misread(_line(event.start_mark), what)
        if getattr(event, "tag", None) is not None:
            what = f"a tag stands here ({event.tag[:QUOTED_CHARACTERS_MAX]!a}); write plain values"
            raise Misread(_line(event.start_mark), what)
        if self._depth >= DEPTH_MAX:
            raise Misread(_line(event.start_mark), f"values nest deeper than {DEPTH_MAX}")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def read_mapping(data: bytes) -> Mapping[str, Value]:
    """Read one mapping whose keys are texts that stand once; a file without any value is an empty one.

    Raises:
        Misread: for bytes that are not UTF-8, characters that cannot be seen, text that is not YAML, anchors,
            aliases, tags, a second document, a key that stands twice or is no text, or anything but a mapping.
    """
    root = _composed(_decoded(data))
    if root is None or _kind(root) == "nothing":
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise Misread(_line(root.start_mark), f"the file holds {_kind(root)} where settings belong, one a line")
    found: dict[str, Value] = {}
    for key, value in root.value:
        name = _name(key)
        if name in found:
            what = f"the key {name[:QUOTED_CHARACTERS_MAX]!a} stands here again, first in line {found[name].line}"
            raise Misread(_line(key.start_mark), what)
        found[name] = replace(_value(value), line=_line(key.start_mark))
    return found


def _decoded(data: bytes) -> str:
    try:
        text = data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise Misread(line, f"the byte 0x{error.object[error.start]:02x} is not UTF-8 text") from None
    if found := _UNSEEN.search(text):
        what = f"the character U+{ord(found[0]):04X} stands in the text and cannot be seen"
        raise Misread(text.count("\n", 0, found.start()) + 1, what)
    if found := _CONFLICT.search(text):
        what = f"a conflict marker ({found[0]}) is left from a git merge; keep one side"
        raise Misread(text.count("\n", 0, found.start()) + 1, what)
    return text


def _composed(text: str) -> yaml.Node | None:
    loader = _Strict(text)
    try:
        return loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        words = f"{error.context}: {error.problem}"
        what = next((own for theirs, own in _SYNTAX if theirs in words), _SYNTAX_ELSE)
        raise Misread(_line(error.problem_mark), what) from None
    except (ValueError, OverflowError):
        # The reader converts escapes and version numbers without looking at their size.
        raise Misread(loader.line + 1, "a number in an escape or a directive is too large") from None


def _name(key: yaml.Node) -> str:
    if _kind(key) != "a text":
        written = f"the key {key.value[:QUOTED_CHARACTERS_MAX]!a}" if isinstance(key, yaml.ScalarNode) else "a key"
        raise Misread(_line(key.start_mark), f"{written} is {_kind(key)} where a name belongs")
    return str(key.value)


def _value(node: yaml.Node) -> Value:
    text = node.value if isinstance(node, yaml.ScalarNode) else ""
    items = tuple(_value(item) for item in node.value) if isinstance(node, yaml.SequenceNode) else ()
    return Value(_line(node.start_mark), _kind(node), text, items)


def _kind(node: yaml.Node) -> str:
    return _KINDS[node.tag.removeprefix(_TAGS)]


def _line(mark: yaml.Mark | None) -> int:
    assert mark is not None, "the reader marks all that it reads"  # noqa: S101 - a broken program
    return mark.line + 1
