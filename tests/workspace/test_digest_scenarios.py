"""What moves the digest and what does not, read cold and with a warm memory: both always say the same."""

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from flow_mcp.workspace.source import Memory, take_manifest
from tests.workspace.rig import PLANS, Repo, same_times

CLOCK_AHEAD_NS = 2 * 60 * 1_000_000_000
"""So far ahead is the memory's clock: every file counts as left alone for long, and its status is trusted."""

Step = Callable[[Repo], object]


@dataclass(frozen=True)
class Scenario:
    """A change to the repository of the fixture, and whether the digest must move."""

    change: Step
    moves: bool
    before: Step = lambda _: None
    artifacts: tuple[str, ...] = ()


def _steps(*steps: Step) -> Step:
    return lambda repo: [step(repo) for step in steps]


def _write(path: str, text: str = "text\n") -> Step:
    return lambda repo: repo.write(path, text)


def _git(*arguments: str) -> Step:
    return lambda repo: repo.git(*arguments)


def _mode(path: str, mode: int) -> Step:
    return lambda repo: (repo.root / path).chmod(mode)


def _remove(path: str) -> Step:
    return lambda repo: (repo.root / path).unlink()


def _commit(repo: Repo) -> None:
    repo.commit()


def _link(path: str, target: str) -> Step:
    return lambda repo: (repo.root / path).symlink_to(target)


def _pipe(path: str) -> Step:
    return lambda repo: os.mkfifo(repo.root / path)


def _same_size_and_times(repo: Repo) -> None:
    with same_times(repo.root / "src/app.py"):
        repo.write("src/app.py", "print(3)\n")


def _replaced_with_same_size_and_times(repo: Repo) -> None:
    fresh = repo.write("src/fresh", "print(3)\n")
    before = (repo.root / "src/app.py").stat()
    os.utime(fresh, ns=(before.st_atime_ns, before.st_mtime_ns))
    fresh.rename(repo.root / "src/app.py")


def _touched(repo: Repo) -> None:
    os.utime(repo.root / "src/app.py", ns=(1, 1))


def _written_again(repo: Repo) -> None:
    repo.write("src/app.py", (repo.root / "src/app.py").read_text())


def _rename(old: str, new: str) -> Step:
    return lambda repo: (repo.root / old).rename(repo.root / new)


def _outside_excludes(repo: Repo) -> None:
    (repo.root.parent / "excludes").write_text("evil.py\n")
    repo.git("config", "core.excludesFile", str(repo.root.parent / "excludes"))


def _nested(path: str) -> Step:
    def make(repo: Repo) -> None:
        nested = Repo(repo.root / path).started()
        nested.write("inner.py", "1\n")

    return make


def _within(path: str, step: Step) -> Step:
    return lambda repo: step(Repo(repo.root / path))


def _submodule(repo: Repo) -> None:
    library = Repo(repo.root.parent / "library").started()
    library.write("lib.py", "lib = 1\n")
    library.commit()
    repo.git("submodule", "--quiet", "add", str(library.root), "vendor/library")
    repo.commit()


def _unfetched_submodule(repo: Repo) -> None:
    _submodule(repo)
    repo.git("submodule", "--quiet", "deinit", "-f", "vendor/library")
    assert list((repo.root / "vendor/library").iterdir()) == []


def _moved_away_and_linked(repo: Repo) -> None:
    (repo.root / "src").rename(repo.root.parent / "moved")
    (repo.root / "src").symlink_to(repo.root.parent / "moved")


def _not_utf8(text: str) -> Step:
    return lambda repo: Path(os.fsdecode(os.fsencode(repo.root) + b"/caf\xe9")).write_text(text)


def _linked_worktree(repo: Repo) -> None:
    """Turn the folder into a linked worktree of a repository elsewhere."""
    elsewhere = repo.root.parent / "elsewhere"
    repo.root.rename(elsewhere)
    Repo(elsewhere).git("worktree", "add", "-q", "--detach", str(repo.root))


def _large(repo: Repo) -> None:
    with (repo.root / "large").open("wb") as file:
        file.seek(3_000_000)
        file.write(b"end")


def _large_changed(repo: Repo) -> None:
    with (repo.root / "large").open("r+b") as file:
        file.seek(2_000_000)
        file.write(b"!")


def _without_git(repo: Repo) -> None:
    shutil.rmtree(repo.root / ".git")


SCENARIOS: dict[str, Scenario] = {
    "nothing": Scenario(lambda _: None, moves=False),
    "content": Scenario(_write("src/app.py", "print(2)\n"), moves=True),
    "content of the same size, its times restored": Scenario(_same_size_and_times, moves=True),
    "another file of the same size and times in place": Scenario(_replaced_with_same_size_and_times, moves=True),
    "times alone": Scenario(_touched, moves=False),
    "the same bytes written again": Scenario(_written_again, moves=False),
    "a large file": Scenario(_large_changed, moves=True, before=_large),
    "an empty file": Scenario(_write("empty", ""), moves=True),
    "the executable bit": Scenario(_mode("src/app.py", 0o755), moves=True),
    "the executable bit, which git overlooks": Scenario(
        _mode("src/app.py", 0o755), moves=True, before=_git("config", "core.fileMode", "false")
    ),
    "other permissions": Scenario(_mode("src/app.py", 0o600), moves=False),
    "an untracked file": Scenario(_write("new.py"), moves=True),
    "an untracked file in a new folder": Scenario(_write("new/new.py"), moves=True),
    "an empty folder": Scenario(lambda repo: (repo.root / "hollow").mkdir(), moves=False),
    "a deleted file": Scenario(_remove("src/app.py"), moves=True),
    "a deleted folder": Scenario(lambda repo: shutil.rmtree(repo.root / "src"), moves=True),
    "a renamed file": Scenario(_rename("src/app.py", "src/main.py"), moves=True),
    "a renamed folder": Scenario(_rename("src", "lib"), moves=True),
    "the case of a name": Scenario(_rename("README", "readme"), moves=True),
    "a name that differs in case alone": Scenario(
        _write("SRC/app.py"), moves=True, before=_git("config", "core.ignoreCase", "true")
    ),
    "a line break in a name": Scenario(_write("two\nlines", "2\n"), moves=True, before=_write("two\nlines", "1\n")),
    "a name that is no text": Scenario(_not_utf8("2"), moves=True, before=_not_utf8("1")),
    "a new link": Scenario(_link("link", "README"), moves=True),
    "a link's target": Scenario(
        _steps(_remove("link"), _link("link", "src/app.py")), moves=True, before=_link("link", "README")
    ),
    "a link in place of a file": Scenario(_steps(_remove("README"), _link("README", "src/app.py")), moves=True),
    "a link in place of a folder": Scenario(_moved_away_and_linked, moves=True),
    "a pipe in place of a file": Scenario(_steps(_remove("README"), _pipe("README")), moves=True),
    "an untracked pipe": Scenario(_pipe("pipe"), moves=False),
    "a folder in place of a file": Scenario(_steps(_remove("README"), _write("README/inside")), moves=True),
    "a file in place of a folder": Scenario(
        _steps(lambda repo: shutil.rmtree(repo.root / "src"), _write("src")), moves=True
    ),
    "git add": Scenario(
        _git("add", "-A"), moves=False, before=_steps(_write("new.py"), _write("README", "x\n"), _remove("src/app.py"))
    ),
    "git commit": Scenario(
        _commit, moves=False, before=_steps(_write("new.py"), _write("README", "x\n"), _remove("src/app.py"))
    ),
    "a commit of a file that became a folder": Scenario(
        _commit, moves=False, before=_steps(_remove("README"), _write("README/inside"))
    ),
    "git rm --cached": Scenario(_git("rm", "-q", "--cached", "README"), moves=False),
    "assume-unchanged": Scenario(_git("update-index", "--assume-unchanged", "README"), moves=False),
    "content that git is told to take as unchanged": Scenario(
        _write("README", "2\n"), moves=True, before=_git("update-index", "--assume-unchanged", "README")
    ),
    "content that git is told to skip": Scenario(
        _write("README", "2\n"), moves=True, before=_git("update-index", "--skip-worktree", "README")
    ),
    "a file hidden by info/exclude": Scenario(
        _write("evil.py"), moves=True, before=_write(".git/info/exclude", "evil.py\n")
    ),
    "a file hidden by core.excludesFile": Scenario(_write("evil.py"), moves=True, before=_outside_excludes),
    "a file that a rule would hide without regard to case": Scenario(
        _write("evil.py"),
        moves=True,
        before=_steps(_write(".gitignore", "EVIL.py\n"), _git("config", "core.ignoreCase", "true")),
    ),
    "an ignored file": Scenario(_write("noise.log"), moves=False, before=_write(".gitignore", "*.log\n")),
    "a file in an ignored folder": Scenario(_write("build/x"), moves=False, before=_write(".gitignore", "build/\n")),
    "a tracked file that is ignored": Scenario(
        _write("kept.log", "2\n"),
        moves=True,
        before=_steps(_write("kept.log"), _git("add", "kept.log"), _write(".gitignore", "*.log\n")),
    ),
    "an ignore rule": Scenario(_write(".gitignore", "*.log\n"), moves=True),
    "an ignore rule that takes a file out": Scenario(
        _write(".gitignore", "new.py\n"), moves=True, before=_write("new.py")
    ),
    "an ignored test configuration": Scenario(
        _write("src/conftest.py"), moves=True, before=_write(".gitignore", "conftest.py\n")
    ),
    "content of an ignored test configuration": Scenario(
        _write("src/conftest.py", "2\n"),
        moves=True,
        before=_steps(_write(".gitignore", "conftest.py\n"), _write("src/conftest.py", "1\n")),
    ),
    "an ignore file that ignores itself": Scenario(_write("src/.gitignore", ".gitignore\nx.py\n"), moves=True),
    "a cache that ignores itself": Scenario(
        _steps(_write("cache/.gitignore", "*\n"), _write("cache/evil.py")), moves=False
    ),
    "a new nested repository": Scenario(_nested("nested"), moves=True),
    "content of a nested repository": Scenario(_write("nested/inner.py", "2\n"), moves=True, before=_nested("nested")),
    "a commit in a nested repository": Scenario(_within("nested", _commit), moves=False, before=_nested("nested")),
    "a new file in a repository two deep": Scenario(
        _write("one/two/new.py"), moves=True, before=_steps(_nested("one"), _nested("one/two"))
    ),
    "a nested repository that is one no more": Scenario(
        lambda repo: shutil.rmtree(repo.root / "nested/.git"), moves=True, before=_nested("nested")
    ),
    "a dirty submodule": Scenario(_write("vendor/library/lib.py", "lib = 2\n"), moves=True, before=_submodule),
    "a commit in a submodule": Scenario(
        _within("vendor/library", _commit),
        moves=False,
        before=_steps(_submodule, _write("vendor/library/lib.py", "lib = 2\n")),
    ),
    "a file in a submodule that was never fetched": Scenario(
        _write("vendor/library/evil.py"), moves=True, before=_unfetched_submodule
    ),
    "content in a submodule that was never fetched": Scenario(
        _write("vendor/library/evil.py", "2\n"),
        moves=True,
        before=_steps(_unfetched_submodule, _write("vendor/library/evil.py", "1\n")),
    ),
    "a file in place of a submodule's folder that was gone": Scenario(
        _write("vendor/library/evil.py"),
        moves=True,
        before=_steps(_unfetched_submodule, lambda repo: (repo.root / "vendor/library").rmdir()),
    ),
    "a submodule that is fetched": Scenario(
        _git("submodule", "--quiet", "update", "--init"), moves=True, before=_unfetched_submodule
    ),
    "content in a linked worktree": Scenario(_write("README", "2\n"), moves=True, before=_linked_worktree),
    "git add in a linked worktree": Scenario(
        _git("add", "-A"), moves=False, before=_steps(_linked_worktree, _write("new.py"))
    ),
    "a sparse checkout": Scenario(_git("sparse-checkout", "set", "--no-cone", "/README"), moves=True),
    "content in a sparse checkout": Scenario(
        _write("README", "2\n"), moves=True, before=_git("sparse-checkout", "set", "--no-cone", "/README")
    ),
    "content under a sparse index": Scenario(
        _write("src/deep/er/mod.py", "x = 2\n"),
        moves=True,
        before=_git("sparse-checkout", "set", "--cone", "--sparse-index", "src/deep"),
    ),
    "core.worktree": Scenario(_git("config", "core.worktree", "/nowhere"), moves=False),
    "content that core.worktree redirects": Scenario(
        _write("README", "2\n"), moves=True, before=_git("config", "core.worktree", "/nowhere")
    ),
    "core.bare": Scenario(_git("config", "core.bare", "true"), moves=False),
    "content that a clean filter hides": Scenario(
        _write("src/app.py", "print('other')\n"),
        moves=True,
        before=_steps(
            _write(".gitattributes", "*.py filter=fixed\n"),
            _git("config", "filter.fixed.clean", "cat > /dev/null; echo the same"),
            _commit,
        ),
    ),
    "an untracked file beside a split index and an untracked cache": Scenario(
        _write("src/new.py"), moves=True, before=_git("update-index", "--split-index", "--untracked-cache")
    ),
    "line endings of a text": Scenario(
        _write("README", "read me\r\n"), moves=False, before=_write(".gitattributes", "* text=auto\n")
    ),
    "line endings of no text": Scenario(
        _write("README", "read me\r\n"), moves=True, before=_write(".gitattributes", "* -text\n")
    ),
    "line endings without attributes": Scenario(_write("README", "read me\r\n"), moves=True),
    "line endings that only the machine would normalise": Scenario(
        _write("README", "read me\r\n"),
        moves=True,
        before=_steps(_git("config", "core.autocrlf", "true"), _write(".git/info/attributes", "* text\n")),
    ),
    "attributes that normalise a text": Scenario(
        _write(".gitattributes", "* text\n"),
        moves=True,
        before=_steps(_write("README", "read me\r\n"), _write(".gitattributes", "* -text\n")),
    ),
    "content and line endings": Scenario(
        _write("README", "read it\r\n"), moves=True, before=_write(".gitattributes", "* text=auto\n")
    ),
    "Flow's own records": Scenario(
        _steps(_write("plans/goal.json", "{}"), _write(".flow/lock")), moves=False, before=_write("plans/goal.md")
    ),
    "what only looks like Flow's own": Scenario(_write("plans/helper.py"), moves=True),
    "an artifact": Scenario(_write("out/made"), moves=False, artifacts=("out/**",)),
    "a tracked file without git": Scenario(_write("README", "2\n"), moves=True, before=_without_git),
    "an ignored file without git": Scenario(
        _write("noise.log"), moves=False, before=_steps(_without_git, _write(".gitignore", "*.log\n"))
    ),
    "the end of git": Scenario(_without_git, moves=False),
    "the start of git": Scenario(lambda repo: repo.started(), moves=False, before=_without_git),
}


def _tick(folder: Path) -> None:
    """Wait until the file system's clock shows another time, as it does between two edits of a person."""
    probe = folder / "probe"
    probe.write_bytes(b"")
    first = probe.stat().st_ctime_ns
    while probe.stat().st_ctime_ns == first:
        probe.write_bytes(b"")
        os.utime(probe)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_cold_and_a_warm_look_agree_on_whether_the_source_changed(repo: Repo, tmp_path: Path, name: str) -> None:
    scenario = SCENARIOS[name]
    scenario.before(repo)
    memory = Memory(None, clock=lambda: time.time_ns() + CLOCK_AHEAD_NS)

    def warm() -> object:
        return take_manifest(repo.root, PLANS, scenario.artifacts, memory)

    before = repo.manifest(scenario.artifacts)
    assert warm() == warm() == before
    _tick(tmp_path)
    scenario.change(repo)
    after = repo.manifest(scenario.artifacts)
    assert warm() == warm() == after
    assert (after.digest != before.digest) == scenario.moves
