"""Repositories that no honest git left: each is refused in its own words, or read as what it is."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.engine.core import Done
from tests.engine.place import Place, make, plan

State = Callable[[Path], object]


def index(root: Path) -> Path:
    return root / ".git" / "index"


def replaced(path: Path, data: bytes) -> object:
    if path.is_dir():
        shutil.rmtree(path)
    return path.write_bytes(data)


def forged(root: Path, old: bytes, new: bytes) -> object:
    body = index(root).read_bytes()[:-20].replace(old, new)
    return index(root).write_bytes(body + hashlib.sha1(body).digest())  # noqa: S324 - git's own checksum


def nested(path: Path) -> object:
    path.unlink()
    path.mkdir()
    return make(path)


def emptied(path: Path) -> object:
    shutil.rmtree(path)
    path.mkdir()
    return path


def linked_out(path: Path) -> object:
    path.unlink()
    path.symlink_to("/etc/hostname")
    return path


def piped(path: Path) -> object:
    path.unlink()
    os.mkfifo(path)
    return path


REFUSED: dict[str, State] = {
    "an index of nonsense": lambda root: replaced(index(root), b"nonsense" * 20),
    "an index that is cut off": lambda root: replaced(index(root), index(root).read_bytes()[:60]),
    "an index from the future": lambda root: forged(root, b"DIRC\x00\x00\x00\x02", b"DIRC\x00\x00\x00\x09"),
    "an index with a path that leaves": lambda root: forged(root, b"greeting.txt", b"../../../etc"),
    "an index with a path into .git": lambda root: forged(root, b"greeting.txt", b".git/config1"),
    "a .git file to nowhere": lambda root: replaced(root / ".git", b"gitdir: /nowhere/at/all\n"),
    "a .git file of nonsense": lambda root: replaced(root / ".git", b"nonsense"),
    "a configuration of nonsense": lambda root: replaced(root / ".git" / "config", b"[core\n"),
    "a repository format of the future": lambda root: replaced(
        root / ".git" / "config", b"[core]\n\trepositoryformatversion = 99\n"
    ),
    "an unknown extension": lambda root: replaced(
        root / ".git" / "config", b"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tunknown = true\n"
    ),
    "ignore rules without an end": lambda root: (root / ".gitignore").write_bytes(b"a*b\n" * 400_000),
    "a repository in place of a tracked file": lambda root: nested(root / "greeting.txt"),
}

READ: dict[str, State] = {
    "no HEAD that resolves": lambda root: replaced(root / ".git" / "HEAD", b"ref: refs/heads/none\n"),
    "HEAD's objects are gone": lambda root: emptied(root / ".git" / "objects"),
    "a tracked file became a pipe": lambda root: piped(root / "greeting.txt"),
    "a tracked file became a link out": lambda root: linked_out(root / "greeting.txt"),
    "an index lock was left": lambda root: (root / ".git" / "index.lock").write_bytes(b""),
    "a merge is under way": lambda root: (root / ".git" / "MERGE_HEAD").write_bytes(b"0" * 40 + b"\n"),
    "a name with a line break": lambda root: (root / "two\nlines").write_bytes(b"x"),
    "a name that is no text": lambda root: (Path(os.fsdecode(os.fsencode(root) + b"/\xff\xfe"))).write_bytes(b"x"),
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    root = tmp_path / "repo"
    root.mkdir()
    place = Place(make(root))
    place.done(c.PlanSave(goal="Say good-bye", plan=plan()))
    return place


def test_every_hostile_repository_is_told_apart_and_nothing_is_written(tmp_path: Path) -> None:
    told: dict[str, str] = {}
    for number, (what, state) in enumerate(REFUSED.items()):
        root = tmp_path / str(number)
        root.mkdir()
        own = Place(make(root))
        own.done(c.PlanSave(goal="Say good-bye", plan=plan()))
        before = own.bytes()
        state(root)
        with pytest.raises(BrokenWorld) as caught:
            own.ask(c.PlanSave(goal="Say good-bye", plan=plan(summary="again")))
        assert own.bytes() == before, what
        assert caught.value.remedy, what
        told[what] = caught.value.seen.replace(str(root), "")
    assert len(set(told.values())) == len(REFUSED), sorted(told.items(), key=lambda pair: pair[1])


@pytest.mark.parametrize("what", READ)
def test_an_odd_repository_is_read_as_what_it_is(place: Place, what: str) -> None:
    READ[what](place.root)
    assert isinstance(place.ask(c.PlanSave(goal="Say good-bye", plan=plan(summary="again"))), Done)
