import pytest
from pydantic import ValidationError

from flow_mcp.domain.base import Closed, Line, Text
from flow_mcp.domain.digest import canonical, digest_bytes, digest_json
from flow_mcp.domain.errors import BrokenWorld


class Note(Closed):
    name: Line
    text: Text


def test_a_text_of_several_lines_is_stored_as_a_list_and_read_back() -> None:
    note = Note(name="n", text="one\n\ttwo\n")
    assert note.as_json() == {"name": "n", "text": ["one", "\ttwo", ""]}
    assert Note.model_validate_json('{"name": "n", "text": ["one", "\\ttwo", ""]}') == note


def test_a_text_of_one_line_stays_a_string() -> None:
    assert Note(name="n", text="one").as_json()["text"] == "one"


@pytest.mark.parametrize("text", ['["one"]', "[]", '["one\\ntwo", "three"]', '["one", 2]', "3"])
def test_no_other_list_is_a_text(text: str) -> None:
    with pytest.raises(ValidationError):
        Note.model_validate_json(f'{{"name": "n", "text": {text}}}')


@pytest.mark.parametrize("char", ["\x00", "\x1b", "\x7f", "\x85", "\u2028", "\ud800"])
def test_what_could_trick_a_screen_is_in_no_text_and_no_line(char: str) -> None:
    with pytest.raises(ValidationError):
        Note(name="n", text=f"a{char}b")
    with pytest.raises(ValidationError):
        Note(name=f"a{char}b", text="t")


@pytest.mark.parametrize("char", ["\n", "\t"])
def test_a_line_is_one_line_without_tabs(char: str) -> None:
    with pytest.raises(ValidationError):
        Note(name=f"a{char}b", text="t")


def test_unknown_fields_and_other_types_are_refused() -> None:
    with pytest.raises(ValidationError):
        Note.model_validate({"name": "n", "text": "t", "more": 1})
    with pytest.raises(ValidationError):
        Note.model_validate({"name": 1, "text": "t"})


def test_equal_values_have_equal_bytes_and_digests() -> None:
    assert canonical({"b": [1, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'.encode()
    assert digest_json({"b": 1, "a": 2}) == digest_json({"a": 2, "b": 1})
    assert digest_bytes(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_what_has_no_canonical_form_has_no_digest(value: float | str) -> None:
    with pytest.raises(ValueError, match=r"JSON|surrogates"):
        canonical(value)


def test_a_broken_world_says_what_was_seen_and_what_to_do() -> None:
    error = BrokenWorld("The disk is full.", "Make room.")
    assert (error.seen, error.remedy, str(error)) == ("The disk is full.", "Make room.", "The disk is full. Make room.")
