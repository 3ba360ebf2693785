"""Every way in which a repository's configuration runs a command: shown to work on a plain git, and not on Flow's.

Each trap is sprung in the same test by the plain command that falls into it, so that none of them is a dud.
"""

import os
import pty
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from flow_mcp.domain.errors import BrokenWorld
from flow_mcp.workspace.facts import Globs, gather
from flow_mcp.workspace.listing import list_source
from flow_mcp.workspace.patterns import DEFAULT_PROTECTED
from flow_mcp.workspace.source import Memory, take_manifest
from flow_mcp.workspace.sources import rebuild_from_commit
from tests.workspace.rig import PLANS, Repo, plain_environment

GLOBS = Globs(DEFAULT_PROTECTED, ("src/**",), (".venv",), ("out/**",))


@dataclass(frozen=True)
class Attack:
    """A trap, and the plain command that falls into it."""

    plant: Callable[[Repo, str], None]
    falls: tuple[str, ...] = ("git", "status")
    on_terminal: bool = False
    refuses: bool = False


def _fsmonitor(repo: Repo, command: str) -> None:
    repo.git("config", "core.fsmonitor", command)


def _included(repo: Repo, command: str) -> None:
    repo.write("settings", f'[core]\n\tfsmonitor = "{command}"\n')
    repo.git("config", "include.path", "../settings")


def _included_by_branch(repo: Repo, command: str) -> None:
    repo.write("settings", f'[core]\n\tfsmonitor = "{command}"\n')
    repo.git("config", "includeIf.onbranch:main.path", "../settings")


def _worktree_configuration(repo: Repo, command: str) -> None:
    repo.git("config", "extensions.worktreeConfig", "true")
    repo.git("config", "--worktree", "core.fsmonitor", command)


def _clean_filter(repo: Repo, command: str) -> None:
    repo.write(".gitattributes", "*.py filter=evil\n")
    repo.git("config", "filter.evil.clean", f"{command}; cat")


def _process_filter(repo: Repo, command: str) -> None:
    repo.write(".gitattributes", "*.py filter=evil\n")
    repo.git("config", "filter.evil.process", command)


def _smudge_filter(repo: Repo, command: str) -> None:
    repo.write(".gitattributes", "*.py filter=evil\n")
    repo.git("config", "filter.evil.smudge", f"{command}; cat")
    repo.write("src/app.py", "print('to be checked out again')\n")


def _hook(repo: Repo, command: str) -> None:
    repo.write(".git/hooks/post-index-change", f"#!/bin/sh\n{command}\n").chmod(0o755)


def _moved_hooks(repo: Repo, command: str) -> None:
    repo.write("hooks/post-index-change", f"#!/bin/sh\n{command}\n").chmod(0o755)
    repo.git("config", "core.hooksPath", "hooks")


def _text_conversion(repo: Repo, command: str) -> None:
    repo.write(".gitattributes", "*.py diff=evil\n")
    repo.git("config", "diff.evil.textconv", f"{command}; cat")
    repo.write("src/app.py", "print('changed')\n")


def _diff_driver(repo: Repo, command: str) -> None:
    repo.write(".gitattributes", "*.py diff=evil\n")
    repo.git("config", "diff.evil.command", command)
    repo.write("src/app.py", "print('changed')\n")


def _external_diff(repo: Repo, command: str) -> None:
    repo.git("config", "diff.external", command)
    repo.write("src/app.py", "print('changed')\n")


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


def _ssh_command(repo: Repo, command: str) -> None:
    repo.git("config", "core.sshCommand", command)
    repo.git("remote", "add", "origin", "ssh://nowhere.invalid/x")
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")


def _remote_helper(repo: Repo, command: str) -> None:
    repo.git("config", "protocol.ext.allow", "always")
    repo.git("remote", "add", "origin", f"ext::{command}")
    repo.git("update-ref", "refs/remotes/origin/main", "HEAD")


def _pager(repo: Repo, command: str) -> None:
    repo.git("config", "core.pager", command)
    for name in ("ls-files", "ls-tree", "for-each-ref", "rev-parse", "merge-base", "cat-file", "log"):
        repo.git("config", f"pager.{name}", "true")


def _alias(repo: Repo, command: str) -> None:
    for name in ("ls-files", "ls-tree", "for-each-ref", "rev-parse", "merge-base", "cat-file", "st"):
        repo.git("config", f"alias.{name}", f"!{command}")


def _signature(repo: Repo, command: str) -> None:
    """Sign a commit by hand, and name the program that looks at signatures."""
    body = repo.git("cat-file", "commit", "HEAD")
    head, _, message = body.partition("\n\n")
    signed = f"{head}\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n{message}\n"
    commit = repo.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=signed.encode())
    repo.git("reset", "-q", "--soft", commit)
    repo.git("config", "gpg.program", command)
    repo.git("config", "log.showSignature", "true")


def _credential_helper(repo: Repo, command: str) -> None:
    repo.git("config", "credential.helper", f"!{command}")


ATTACKS: dict[str, Attack] = {
    "fsmonitor": Attack(_fsmonitor),
    "an included fsmonitor": Attack(_included),
    "an fsmonitor included for a branch": Attack(_included_by_branch),
    "the configuration of a worktree": Attack(_worktree_configuration),
    "a clean filter": Attack(_clean_filter),
    "a process filter": Attack(_process_filter),
    "a smudge filter": Attack(_smudge_filter, ("git", "checkout", "--", "src/app.py")),
    "a hook": Attack(_hook),
    "a hook elsewhere": Attack(_moved_hooks),
    "a text conversion": Attack(_text_conversion, ("git", "diff")),
    "a diff driver": Attack(_diff_driver, ("git", "diff")),
    "an external diff": Attack(_external_diff, ("git", "diff")),
    "fsmonitor of a submodule": Attack(_submodule_fsmonitor),
    "a filter of a submodule": Attack(_submodule_filter),
    "a promisor's upload-pack": Attack(_promisor, refuses=True),
    "an ssh command": Attack(_ssh_command, ("git", "fetch", "origin")),
    "a remote helper": Attack(_remote_helper, ("git", "fetch", "origin")),
    "a pager": Attack(_pager, ("git", "log"), on_terminal=True),
    "an alias": Attack(_alias, ("git", "st")),
    "a signature program": Attack(_signature, ("git", "log")),
    "a credential helper": Attack(_credential_helper, ("git", "credential", "fill")),
}


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "executed"


def _arm(repo: Repo, attack: Attack, mark: Path) -> None:
    command = mark.with_name("evil.sh")
    command.write_text(f"#!/bin/sh\necho run >> {mark}\n")
    command.chmod(0o755)
    attack.plant(repo, str(command))
    # A file whose times moved: git looks into it, and writes the index anew.
    os.utime(repo.root / "src/deep/er/mod.py", ns=(1, 1))
    mark.unlink(missing_ok=True)


def _fall(repo: Repo, attack: Attack) -> None:
    terminal, other = pty.openpty() if attack.on_terminal else (None, subprocess.DEVNULL)
    with subprocess.Popen(
        attack.falls,
        cwd=repo.root,
        env=plain_environment() | {"TERM": "xterm", "GIT_ASKPASS": "true"},
        stdin=subprocess.PIPE,
        stdout=other,
        stderr=subprocess.DEVNULL,
    ) as process:
        process.communicate(b"protocol=https\nhost=nowhere.invalid\n\n", timeout=60)
    if terminal is not None:
        os.close(terminal)
        os.close(other)


@pytest.mark.parametrize("name", ATTACKS)
def test_a_command_named_by_the_repository_runs_under_plain_git_and_never_under_flow(
    repo: Repo, mark: Path, name: str
) -> None:
    attack = ATTACKS[name]
    _arm(repo, attack, mark)
    commit = repo.git("rev-parse", "HEAD")
    memory = Memory(repo.private)
    mark.unlink(missing_ok=True)

    looks: tuple[Callable[[], object], ...] = (
        lambda: list_source(repo.root),
        repo.digest,
        lambda: gather(repo.root, PLANS, GLOBS),
        lambda: gather(repo.root, PLANS, GLOBS, memory),
        lambda: take_manifest(repo.root, PLANS, (), memory),
        lambda: rebuild_from_commit(repo.root, commit, "sha256:" + "0" * 64, repo.private, PLANS, ()),
    )
    for look in looks:
        if attack.refuses:
            with suppress(BrokenWorld):
                look()
        else:
            look()
        assert not mark.exists()

    _fall(repo, attack)
    if not mark.exists():
        pytest.skip(f"{repo.git('--version')} does not fall into it: it proves nothing here")


def test_a_repository_that_says_its_files_are_elsewhere_misleads_plain_git_and_not_flow(
    repo: Repo, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    before = repo.digest()
    repo.git("config", "core.worktree", str(tmp_path / "elsewhere"))
    assert "deleted" in repo.git("status")
    assert repo.digest() == before
    assert gather(repo.root, PLANS, GLOBS).clean
