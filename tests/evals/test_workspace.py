from pathlib import Path

import pytest

from evals.workspace import Workspace


@pytest.mark.parametrize(("inner", "git"), [(".", True), ("packages/one", True), (".", False)])
def test_a_workspace_may_lie_in_a_repository_or_in_none(tmp_path: Path, inner: str, git: bool) -> None:  # noqa: FBT001 - a table
    space = Workspace(tmp_path, inner)
    space.make("shell", {"more.txt": "more\n"}, git=git)
    assert (space.root / "greeting.txt").exists()
    assert (space.root / "more.txt").read_text() == "more\n"
    assert (space.repository / ".git").exists() == git
    assert space.root == space.repository / inner


def test_documents_are_read_at_the_top_of_the_repository(tmp_path: Path) -> None:
    space = Workspace(tmp_path, "packages/one")
    (tmp_path / "repo" / "plans").mkdir(parents=True)
    (tmp_path / "repo" / "plans" / "a.json").write_text('{"goal": "x"}')
    assert space.documents() == {"a": {"goal": "x"}}
    space.edit("a", {"goal": "y"})
    assert space.documents() == {"a": {"goal": "y"}}
