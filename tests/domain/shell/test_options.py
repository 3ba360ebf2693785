"""How options are read: clusters, abbreviations, folded names, values."""

import pytest

from flow_mcp.domain.shell.options import Scan, joined, option_table, scan
from flow_mcp.domain.shell.words import plain_word

GETOPT = option_table(
    "-k= --keep= --keep-all --lf -x -p=plugin --filter", "-n --number -o? --keeper --fil", "clusters abbreviated"
)
FOLDED = option_table("-t= --testName=", "--maxWorkers", "clusters folded")
WHOLE = option_table("-run= -R= -short --tests=", "-count -C", "")


def seen(line: str, found: Scan) -> tuple[list[str], list[str], list[str]]:
    assert all(word.text.startswith("-") for word in found.options), line
    return (
        [hit.shown for hit in found.hits],
        [word.text for word in found.operands],
        [word.text for word in found.rest],
    )


@pytest.mark.parametrize(
    ("line", "hits", "operands"),
    [
        ("-k a b", ["-k a"], ["b"]),
        ("-ka b", ["-ka"], ["b"]),
        ("-k=a b", ["-k=a"], ["b"]),
        ("-qxk a b", ["-qxk", "-qxk a"], ["b"]),
        ("-n 4 b", [], ["b"]),
        ("-n4x b", [], ["b"]),
        ("-o b", [], ["b"]),
        ("-ox b", [], ["b"]),
        ("-qz b", [], ["b"]),
        ("-k", ["-k"], []),
        ("- b", [], ["-", "b"]),
        ("--keep a b", ["--keep a"], ["b"]),
        ("--keep=a b", ["--keep=a"], ["b"]),
        ("--kee a b", ["--kee a"], ["b"]),
        ("--ke a b", ["--ke a"], ["b"]),
        ("--k a b", [], ["a", "b"]),
        ("--keeper a b", [], ["b"]),
        ("--number 4 b", [], ["b"]),
        ("--fil a b", [], ["b"]),
        ("--filt a b", ["--filt"], ["a", "b"]),
        ("--KEEP a b", [], ["a", "b"]),
        ("--lf b", ["--lf"], ["b"]),
        ("--l b", [], ["b"]),
        ("a -k b -- -k c", ["-k b"], ["a"]),
    ],
)
def test_getopt_options_are_read_letter_by_letter(line: str, hits: list[str], operands: list[str]) -> None:
    found = scan(GETOPT, tuple(map(plain_word, line.split())))
    assert seen(line, found)[:2] == (hits, operands)


def test_what_stands_after_two_dashes_is_left_alone() -> None:
    found = scan(GETOPT, tuple(map(plain_word, ["a", "--", "-k", "--", "b"])))
    assert seen("", found) == ([], ["a"], ["-k", "--", "b"])


@pytest.mark.parametrize("name", ["--testName", "--test-name", "--TESTNAME", "--testname"])
def test_folded_options_have_many_spellings(name: str) -> None:
    found = scan(FOLDED, tuple(map(plain_word, [name, "a", "b"])))
    assert seen(name, found) == ([f"{name} a"], ["b"], [])


def test_folded_options_are_not_abbreviated_and_letters_keep_their_case() -> None:
    found = scan(FOLDED, tuple(map(plain_word, ["--testN", "a", "-T", "b", "--max-workers", "4"])))
    assert seen("", found) == ([], ["a", "b"], [])


@pytest.mark.parametrize(
    ("line", "hits", "operands"),
    [
        ("-run a b", ["-run a"], ["b"]),
        ("--run a b", ["--run a"], ["b"]),
        ("-run=a b", ["-run=a"], ["b"]),
        ("-Ra b", ["-Ra"], ["b"]),
        ("-R a b", ["-R a"], ["b"]),
        ("-short b", ["-short"], ["b"]),
        ("-tests a b", ["-tests a"], ["b"]),
        ("-count 1 b", [], ["b"]),
        ("-Cdir b", [], ["b"]),
        ("-race b", [], ["b"]),
        ("--Rx b", [], ["b"]),
        ("-runs b", [], ["b"]),
    ],
)
def test_options_of_several_letters_may_have_one_dash(line: str, hits: list[str], operands: list[str]) -> None:
    found = scan(WHOLE, tuple(map(plain_word, line.split())))
    assert seen(line, found)[:2] == (hits, operands)


def test_two_tables_joined_look_for_both_and_the_first_decides() -> None:
    both = joined(option_table("-a -b=x", "-c", "clusters"), option_table("-b -d=", "-e -j?", "clusters folded"))
    assert both.picks == {"-a": None, "-b": "x", "-d": ""}
    assert both.takes >= {"-c", "-e"}
    assert both.attaches == {"-j"}
    assert both.manner == {"clusters"}
