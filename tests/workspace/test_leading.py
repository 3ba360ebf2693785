"""Where links of the source lead."""

import os
from pathlib import Path

import pytest

from flow_mcp.domain.decision import OutwardLink
from flow_mcp.workspace import leading
from flow_mcp.workspace.leading import LINKS_MAX, leading_out
from flow_mcp.workspace.source import Manifest, take_manifest
from tests.workspace.rig import PLANS, Repo


def link(repo: Repo, path: str, target: str | Path) -> None:
    (repo.root / path).parent.mkdir(parents=True, exist_ok=True)
    (repo.root / path).symlink_to(target)


def outward(repo: Repo, approved: Manifest | None = None, artifacts: tuple[str, ...] = ()) -> dict[str, str]:
    now = take_manifest(repo.root, PLANS, artifacts)
    return {one.path: one.goal for one in leading_out(repo.root, now, approved)}


@pytest.fixture
def ignoring(repo: Repo) -> Repo:
    """A repository that leaves a folder out of its source."""
    repo.write(".gitignore", "cache/\n.flow/\n")
    repo.write("cache/word.txt", "hello\n")
    repo.commit(".gitignore")
    return repo


INSIDE = {
    "a file": "src/app.py",
    "a folder": "src/deep",
    "a folder with a slash": "src/deep/",
    "the source itself": ".",
    "a file by steps": "./src//deep/../app.py",
    "a folder by steps": "src/deep/.",
}


@pytest.mark.parametrize("target", INSIDE.values(), ids=INSIDE)
def test_a_link_to_a_file_or_folder_of_the_source_stays_inside(ignoring: Repo, target: str) -> None:
    link(ignoring, "link", target)
    assert outward(ignoring) == {}


def test_a_link_in_a_folder_counts_from_there(ignoring: Repo) -> None:
    link(ignoring, "src/deep/link", "../app.py")
    link(ignoring, "src/deep/out", "app.py")
    assert outward(ignoring) == {"src/deep/out": "src/deep/app.py"}


def test_an_absolute_link_into_the_source_stays_inside_by_its_real_name_and_as_the_workspace_is_called(
    ignoring: Repo, tmp_path: Path
) -> None:
    called = tmp_path / "called"
    called.symlink_to(tmp_path)
    link(ignoring, "real", Path(os.path.realpath(ignoring.root)) / "src" / "app.py")
    link(ignoring, "called", called / "repo" / "src")
    link(ignoring, "top", called / "repo")
    now = ignoring.manifest()
    assert leading_out(called / "repo", now, None) == ()
    assert [one.path for one in leading_out(ignoring.root, now, None)] == ["called", "top"]


OUTSIDE = {
    "an ignored file": "cache/word.txt",
    "an ignored folder": "cache",
    "nothing": "src/none.py",
    "a file taken for a folder": "src/app.py/",
    "below a file": "src/app.py/more",
    "Flow's own": ".flow/x",
    "Git's own": ".git/HEAD",
    "a record": "plans/goal.json",
    "the parent": "..",
    "elsewhere by steps": "src/../../other",
    "back from above": "../repo/src/app.py",
    "the top of the file system": "/",
    "another place": "/elsewhere/g",
    "a place whose name begins alike": "/elsewhere/../{root}-more/src/app.py",
}


@pytest.mark.parametrize("target", OUTSIDE.values(), ids=OUTSIDE)
def test_a_link_to_what_no_digest_covers_leads_out(ignoring: Repo, target: str) -> None:
    ignoring.write("plans/goal.json", "{}")
    link(ignoring, "link", target.format(root=ignoring.root))
    assert list(outward(ignoring)) == ["link"]


def test_an_absolute_link_to_what_is_ignored_in_the_workspace_leads_out(ignoring: Repo) -> None:
    link(ignoring, "link", ignoring.root / "cache" / "word.txt")
    link(ignoring, "beside", f"{ignoring.root}-more")
    assert outward(ignoring) == {"beside": f"{ignoring.root}-more", "link": "cache/word.txt"}


def test_what_an_artifact_takes_out_of_the_source_is_outside(ignoring: Repo) -> None:
    ignoring.write("out/made.txt")
    link(ignoring, "link", "out/made.txt")
    assert outward(ignoring) == {}
    assert outward(ignoring, artifacts=("out/",)) == {"link": "out/made.txt"}


def test_a_chain_is_gone_step_by_step(ignoring: Repo) -> None:
    link(ignoring, "good", "first")
    link(ignoring, "first", "src/second")
    link(ignoring, "src/second", "deep/er/mod.py")
    link(ignoring, "through", "folder/er/mod.py")
    link(ignoring, "folder", "src/deep")
    assert outward(ignoring) == {}
    (ignoring.root / "src" / "second").unlink()
    link(ignoring, "src/second", "/elsewhere")
    assert outward(ignoring) == {"first": "/elsewhere", "good": "/elsewhere", "src/second": "/elsewhere"}


def test_a_folder_that_became_a_link_leads_out_with_all_that_was_in_it(ignoring: Repo, tmp_path: Path) -> None:
    approved = ignoring.manifest()
    (ignoring.root / "src").rename(tmp_path / "src")
    link(ignoring, "src", tmp_path / "src")
    link(ignoring, "link", "src/app.py")
    assert set(outward(ignoring, approved)) == {"link", "src"}


def test_a_circle_leads_out_and_a_long_way_is_gone_to_its_end(ignoring: Repo) -> None:
    link(ignoring, "round", "round")
    link(ignoring, "way0", "src/app.py")
    for number in range(1, LINKS_MAX + 1):
        link(ignoring, f"way{number}", f"way{number - 1}")
    assert outward(ignoring) == {"round": "round", f"way{LINKS_MAX}": "src/app.py"}


def test_links_that_the_approved_source_has_are_nobodys_news(ignoring: Repo) -> None:
    link(ignoring, "old", "/elsewhere")
    link(ignoring, "moved", "/elsewhere")
    link(ignoring, "dangling", "none")
    approved = ignoring.manifest()
    assert outward(ignoring, approved) == {}
    (ignoring.root / "moved").unlink()
    link(ignoring, "moved", "/elsewhere/else")
    link(ignoring, "new", "old")
    assert outward(ignoring, approved) == {"moved": "/elsewhere/else", "new": "/elsewhere"}


@pytest.mark.parametrize("target", ["made/x", "made"])
def test_a_link_leads_out_once_what_it_came_to_is_source_no_more(ignoring: Repo, target: str) -> None:
    ignoring.write("made/x", "x\n")
    link(ignoring, "link", target)
    ignoring.commit("made/x", "link")
    approved = ignoring.manifest()
    ignoring.git("rm", "-q", "--cached", "made/x")
    ignoring.write(".gitignore", "cache/\n.flow/\nmade/\n")
    assert outward(ignoring, approved) == {"link": target}
    assert outward(ignoring, ignoring.manifest()) == {}


def test_what_an_old_link_led_out_to_stays_its_approvers_affair_when_its_folder_goes(ignoring: Repo) -> None:
    ignoring.write(".gitignore", "made/x\n")
    ignoring.write("made/x")
    ignoring.write("made/other")
    link(ignoring, "link", "made/x")
    link(ignoring, "round", "made/../made/other")
    approved = ignoring.manifest()
    (ignoring.root / "made" / "other").unlink()
    assert outward(ignoring, approved) == {"round": "made/../made/other"}


def test_a_link_through_one_that_was_re_pointed_inside_leads_out_anew(ignoring: Repo) -> None:
    ignoring.write("src/one/x")
    ignoring.write("src/two/y")
    ignoring.write(".gitignore", "src/two/x\n")
    ignoring.write("src/two/x")
    link(ignoring, "through", "folder/x")
    link(ignoring, "folder", "src/one")
    approved = ignoring.manifest()
    (ignoring.root / "folder").unlink()
    link(ignoring, "folder", "src/two")
    assert outward(ignoring, approved) == {"through": "src/two/x"}


def test_where_a_link_of_an_old_way_is_gone_what_came_through_it_is_new(ignoring: Repo) -> None:
    link(ignoring, "first", "second")
    link(ignoring, "second", "/elsewhere")
    approved = ignoring.manifest()
    (ignoring.root / "second").unlink()
    assert outward(ignoring, approved) == {"first": "second"}


def test_a_folder_whose_files_are_all_gone_is_no_source(ignoring: Repo) -> None:
    link(ignoring, "link", "src/deep")
    (ignoring.root / "src" / "deep" / "er" / "mod.py").unlink()
    assert outward(ignoring) == {"link": "src/deep"}
    ignoring.write("src/deep/new.py")
    assert outward(ignoring) == {}


def test_a_nested_repository_is_part_of_the_source(ignoring: Repo) -> None:
    inner = Repo(ignoring.root / "inner").started()
    inner.write("x")
    link(ignoring, "link", "inner/x")
    link(ignoring, "folder", "inner")
    assert outward(ignoring) == {}


def test_a_link_that_is_no_longer_what_was_read_leads_out(ignoring: Repo) -> None:
    for name in ("pointed", "gone", "deep/below"):
        link(ignoring, name, ignoring.root / "src" / "app.py")
    now = ignoring.manifest()
    assert leading_out(ignoring.root, now, None) == ()
    (ignoring.root / "pointed").unlink()
    link(ignoring, "pointed", "src/deep")
    (ignoring.root / "gone").unlink()
    (ignoring.root / "deep" / "below").unlink()
    (ignoring.root / "deep").rmdir()
    found = leading_out(ignoring.root, now, None)
    assert found == tuple(OutwardLink(name, name) for name in ("deep/below", "gone", "pointed"))


def test_names_of_any_bytes_are_told_so_that_they_can_be_shown(ignoring: Repo) -> None:
    os.symlink(  # noqa: PTH211 - a name that is no text
        b"/else\xff\n", os.fsencode(ignoring.root) + b"/li\xffnk"
    )
    assert outward(ignoring) == {"li\\xffnk": "/else\\xff\\x0a"}


def test_a_source_without_links_is_not_opened(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    now = repo.manifest()
    monkeypatch.setattr(leading, "Descent", None)
    assert leading_out(repo.root, now, None) == ()
