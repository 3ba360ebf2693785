"""Every way in which a repository's configuration runs a command: shown to work on a plain git, and not on Flow's."""

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.copies import rebuild_from_commit
from flow_mcp.workspace.facts import Globs, gather
from flow_mcp.workspace.patterns import DEFAULT_PROTECTED
from tests.workspace.rig import PLANS, Repo, plain_environment

Attack = Callable[[Repo, str], None]


class _Never(Exception):  # noqa: N818 - nothing raises it
    pass


def _fsmonitor(repo: Repo, command: str) -> None:
    repo.git("config", "core.fsmonitor", command)


def _included(repo: Repo, command: str) -> None:
    repo.write("settings", f'[core]\n\tfsmonitor = "{command}"\n')
    repo.git("config", "include.path", "../settings")


def _worktree_configuration(repo: Repo, command: str) -> None:
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "core.fsmonitor", command)


def _clean_filter(repo: Repo, command: str) -> None:
    repo.write(".gitattributes", "*.py filter=evil\n")
    repo.git("config", "filter.evil.clean", f"{command}; cat")


def _process_filter(repo: Repo, command: str) -> None:
    repo.write(".gitattributes", "*.py filter=evil\n")
    repo.git("config", "filter.evil.process", command)


def _hook(repo: Repo, command: str) -> None:
    repo.write(".git/hooks/post-index-change", f"#!/bin/sh\n{command}\n").chmod(0o755)


def _moved_hooks(repo: Repo, command: str) -> None:
    repo.write("hooks/post-index-change", f"#!/bin/sh\n{command}\n").chmod(0o755)
    repo.git("config", "core.hooksPath", "hooks")


def _in_submodule(repo: Repo, key: str, value: str) -> None:
    library = Repo(repo.root.parent / "library").started()
    library.write("lib.py", "lib = 1\n")
    library.commit()
    repo.git("submodule", "--quiet", "add", str(library.root), "vendor/library")
    repo.commit()
    inner = Repo(repo.root / "vendor" / "library")
    inner.write(".gitattributes", "*.py filter=evil\n")
    inner.write("lib.py", "lib = 2\n")
    inner.git("config", key, value)


def _submodule_fsmonitor(repo: Repo, command: str) -> None:
    _in_submodule(repo, "core.fsmonitor", command)


def _submodule_filter(repo: Repo, command: str) -> None:
    _in_submodule(repo, "filter.evil.clean", f"{command}; cat")


def _promisor(repo: Repo, command: str) -> None:
    """Let git miss a tree that it needs to expand a sparse index, and name a remote that it then asks."""
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "src/deep")
    repo.write("other/one.py")
    repo.git("add", "--sparse", "other/one.py")
    repo.git("commit", "-q", "-m", "more")
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "src/deep")
    tree = repo.git("rev-parse", "HEAD:other")
    repo.git("config", "core.repositoryFormatVersion", "1")
    repo.git("config", "extensions.partialClone", "evil")
    repo.git("config", "remote.evil.url", str(repo.root))
    repo.git("config", "remote.evil.promisor", "true")
    repo.git("config", "remote.evil.uploadpack", f"{command}; false")
    (repo.root / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    repo.write("other/two.py")


ATTACKS: tuple[Attack, ...] = (
    _fsmonitor,
    _included,
    _worktree_configuration,
    _clean_filter,
    _process_filter,
    _hook,
    _moved_hooks,
    _submodule_fsmonitor,
    _submodule_filter,
    _promisor,
)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "executed"


def _armed(repo: Repo, attack: Attack, mark: Path) -> None:
    command = mark.with_name("evil.sh")
    command.write_text(f"#!/bin/sh\necho run >> {mark}\n")
    command.chmod(0o755)
    attack(repo, str(command))
    # A file whose times moved: git looks into it, and writes the index anew.
    os.utime(repo.root / "src/deep/er/mod.py", ns=(1, 1))
    mark.unlink(missing_ok=True)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__.strip("_"))
def test_a_command_named_by_the_repository_runs_under_plain_git_status_and_never_under_flow(
    repo: Repo, mark: Path, attack: Attack
) -> None:
    _armed(repo, attack, mark)
    commit = repo.git("rev-parse", "HEAD")

    refusal = BrokenWorld if attack is _promisor else _Never
    for look in (
        repo.digest,
        lambda: gather(repo.root, PLANS, Globs(DEFAULT_PROTECTED, ("src/**",), (".venv",), ("out/**",))),
        lambda: rebuild_from_commit(repo.root, commit, "sha256:" + "0" * 64, repo.private, PLANS, ()),
    ):
        with suppress(refusal):
            look()
        assert not mark.exists()

    subprocess.run(["git", "status"], cwd=repo.root, env=plain_environment(), capture_output=True, check=False)
    assert mark.exists(), "the attack itself is broken: it proves nothing"
