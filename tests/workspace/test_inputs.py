"""What a copy is lent: small folders as copies, the rest as links, and nothing through a link of the source."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flow_mcp.workspace import inputs as inputs_module
from flow_mcp.workspace.inputs import Lent, lend_inputs, named_by
from flow_mcp.workspace.paths import Inaccessible, TooDeep

Plant = Callable[[Path, Path], object]
Place = tuple[Path, Path]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    root, target = tmp_path / "root", tmp_path / "target"
    (root / "env" / "lib").mkdir(parents=True)
    (root / "src").mkdir()
    target.mkdir()
    return root, target


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_inputs_that_exist_are_there_in_the_copy_and_others_are_not(place: Place) -> None:
    root, target = place
    (root / "env" / "lib" / "tool").write_text("x")
    (root / "file").write_text("no folder")
    lent = lend_inputs(root, ("env/", "none", "./env"), target, is_current=True)
    assert said(lent) == (("env",), (), False)
    assert (target / "env" / "lib" / "tool").read_text() == "x"
    assert sorted(path.name for path in target.iterdir()) == ["env"]


def test_what_a_command_writes_into_a_small_input_does_not_reach_the_workspace(place: Place) -> None:
    root, target = place
    tool = root / "env" / "lib" / "tool"
    tool.write_text("x")
    tool.chmod(0o755)
    os.utime(tool, ns=(10**18, 10**18))
    (root / "env" / "here").symlink_to("lib")
    lend_inputs(root, ("env",), target, is_current=True)
    assert (target / "env" / "lib" / "tool").stat().st_mtime_ns == 10**18
    assert stat.S_IMODE((target / "env" / "lib" / "tool").stat().st_mode) == 0o755
    (target / "env" / "here" / "tool").write_text("written in place")
    (target / "env" / "new").write_text("")
    assert tool.read_text() == "x"
    assert not (root / "env" / "new").exists()


def said(lent: Lent) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Give names, what is shared, and whether it leads back."""
    return lent.names, lent.shared, lent.leads_back


SHARED: dict[str, Plant] = {
    "a Python environment": lambda env, _root: (env / "pyvenv.cfg").write_text(""),
    "environments of a test runner": lambda env, _root: (_made(env / "py312") / "pyvenv.cfg").write_text(""),
    "packages of Node further down": lambda env, _root: _made(env / "app" / "node_modules"),
    "a link of its own that is absolute": lambda env, _root: (env / "here").symlink_to(env / "lib"),
    "too many files": lambda env, _root: [(env / str(number)).write_text("") for number in range(4)],
    "too many bytes": lambda env, _root: (env / "large").write_bytes(b"x" * 101),
    "a folder within a folder within a folder": lambda env, _root: _deep(env, 600),
}


def _deep(top: Path, levels: int) -> None:
    descriptor = os.open(top, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.close(descriptor)


@pytest.mark.parametrize("what", SHARED)
def test_what_is_not_copied_is_a_link_and_told(place: Place, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    root, target = place
    if "folder within" not in what:
        monkeypatch.setattr(inputs_module, "COPIED_FILES_MAX", 4)
        monkeypatch.setattr(inputs_module, "COPIED_BYTES_MAX", 4096 + 100)
    SHARED[what](root / "env", root)
    assert said(lend_inputs(root, ("env",), target, is_current=True)) == (("env",), ("env",), False)
    assert (target / "env").readlink() == root / "env"


def test_the_bounds_of_what_is_copied_are_accepted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    root, target = place
    for number in range(3):
        (root / "env" / str(number)).write_text("x" * 10)
    monkeypatch.setattr(inputs_module, "COPIED_FILES_MAX", 4)
    monkeypatch.setattr(inputs_module, "COPIED_BYTES_MAX", 30 + (root / "env" / "lib").stat().st_size)
    assert lend_inputs(root, ("env",), target, is_current=True).shared == ()


def test_packages_of_node_are_shared(place: Place) -> None:
    root, target = place
    _made(root / "node_modules" / "left-pad")
    assert said(lend_inputs(root, ("node_modules",), target, is_current=True)) == (
        ("node_modules",),
        ("node_modules",),
        False,
    )


def test_a_folder_that_cannot_be_copied_whole_is_shared(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    root, target = place
    (root / "env" / "a").write_text("")
    (root / "env" / "b").write_text("")

    def closed(origin: "os.PathLike[str]", goal: str, **_: object) -> "str | os.PathLike[str]":
        if os.fspath(origin).endswith("b"):
            raise PermissionError(13, "Permission denied")
        return real(origin, goal)

    real = shutil.copyfile
    monkeypatch.setattr("flow_mcp.workspace.inputs.shutil.copyfile", closed)
    assert lend_inputs(root, ("env",), target, is_current=True).shared == ("env",)
    assert (target / "env").is_symlink()


def test_a_file_that_goes_while_it_is_weighed_has_the_folder_shared(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, target = place

    class Gone:
        name, path = "gone", str(root / "env" / "gone")

        def is_symlink(self) -> bool:
            return False

        def stat(self, **_: object) -> os.stat_result:
            raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(inputs_module, "_walk", lambda _folder: iter([Gone()]))
    assert lend_inputs(root, ("env",), target, is_current=True).shared == ("env",)


def test_pipes_and_sockets_of_an_input_hold_nothing_up(place: Place) -> None:
    root, target = place
    os.mkfifo(root / "env" / "pipe")
    os.mkfifo(root / "env" / "lib" / "x.pth")
    os.mkfifo(root / "env" / "CMakeCache.txt")
    code = "import os, socket, sys; os.chdir(sys.argv[1]); socket.socket(socket.AF_UNIX).bind('socket')"
    subprocess.run([sys.executable, "-c", code, str(root / "env")], check=True)
    (root / "env" / "file").write_text("")
    assert said(lend_inputs(root, ("env",), target, is_current=True)) == (("env",), (), False)
    assert sorted(path.name for path in (target / "env").iterdir()) == ["file", "lib"]


def test_a_disk_that_refuses_even_a_link_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    root, target = place
    _made(root / "node_modules")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("flow_mcp.workspace.inputs.os.symlink", full)
    with pytest.raises(Inaccessible, match="No space left"):
        lend_inputs(root, ("node_modules",), target, is_current=True)


# ----- what leads back


def _linked_pointer(env: Path, root: Path) -> None:
    (_made(root.parent / "cache") / "x.pth").write_text(f"{root}/src\n")
    (env / "lib" / "x.pth").symlink_to(root.parent / "cache" / "x.pth")


BACK: dict[str, Plant] = {
    "a pointer file": lambda env, root: (env / "lib" / "x.pth").write_text(f"{root}/src\n"),
    "a pointer that names the workspace itself": lambda env, root: (env / "lib" / "x.pth").write_text(str(root)),
    "a pointer that imports": lambda env, root: (env / "lib" / "x.pth").write_text(f"import a; a.add('{root}/src')\n"),
    "a pointer that is relative": lambda env, _root: (env / "lib" / "x.pth").write_text("\n../../src\n"),
    "a pointer with a step back inside": lambda env, _root: (env / "lib" / "x.pth").write_text("a/../../../src\n"),
    "a pointer that is a link": _linked_pointer,
    "a pointer too long to read": lambda env, _root: (env / "lib" / "x.pth").write_text("#" * (1024 * 1024 + 1)),
    "an egg link": lambda env, root: (env / "lib" / "x.egg-link").write_text(f"{root}/src\n."),
    "a link": lambda env, root: (env / "lib" / "pkg").symlink_to(root / "src"),
    "a link that is relative": lambda env, _root: (env / "lib" / "pkg").symlink_to("../../src"),
    "a finder": lambda env, _root: (env / "lib" / "__editable___x_finder.py").write_text("MAPPING = {}\n"),
    "a build of CMake": lambda env, root: (env / "CMakeCache.txt").write_text(f"CMAKE_HOME_DIRECTORY={root}\n"),
    "a build that was configured": lambda env, root: (env / "config.status").write_text(f"ac_pwd='{root}/env'\n"),
}


@pytest.mark.parametrize("what", BACK)
def test_an_input_that_leads_back_into_the_workspace_is_shared_and_told(place: Place, what: str) -> None:
    root, target = place
    BACK[what](root / "env", root)
    assert said(lend_inputs(root, ("env",), target, is_current=True)) == (("env",), ("env",), True)


APART: dict[str, Plant] = {
    "a link inside itself": lambda env, _root: (env / "here").symlink_to("lib"),
    "a link out": lambda env, _root: (env / "out").symlink_to("/usr"),
    "a link that leads to itself": lambda env, _root: (env / "loop").symlink_to("loop"),
    "a pointer elsewhere": lambda env, _root: (env / "lib" / "x.pth").write_text("/usr/lib/elsewhere\n./here\n"),
    "a pointer into a neighbour": lambda env, root: (env / "lib" / "x.pth").write_text(f"{root}-other/src\n"),
    "a pointer inside itself": lambda env, _root: (env / "lib" / "x.pth").write_text("../lib/other\n"),
    "a pointer far out": lambda env, _root: (env / "lib" / "x.pth").write_text("../../../elsewhere\n"),
    "a pointer that no path can be": lambda env, _root: (env / "lib" / "x.pth").write_text("../../src\0\n"),
    "a pointer that is a folder": lambda env, _root: (env / "lib" / "x.pth").mkdir(),
    "a pointer that leads nowhere": lambda env, _root: (env / "lib" / "x.pth").symlink_to("/nowhere"),
}


@pytest.mark.parametrize("what", APART)
def test_an_input_that_leads_elsewhere_is_copied(place: Place, what: str) -> None:
    root, target = place
    APART[what](root / "env", root)
    assert said(lend_inputs(root, ("env",), target, is_current=True)) == (("env",), (), False)


def test_an_input_with_too_much_to_look_through_counts_as_leading_back(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, target = place
    monkeypatch.setattr(inputs_module, "LOOKED_AT_MAX", 2)
    for number in range(3):
        (root / "env" / str(number)).write_text("")
    assert lend_inputs(root, ("env",), target, is_current=True).leads_back is True


def test_a_workspace_that_is_named_through_a_link_is_known_by_both_names(place: Place, tmp_path: Path) -> None:
    root, target = place
    (tmp_path / "alias").symlink_to(root)
    (root / "env" / "x.pth").write_text(f"{tmp_path}/alias/src\n")
    _made(root / "other")
    (root / "other" / "x.pth").write_text(f"{root}/src\n")
    assert lend_inputs(tmp_path / "alias", ("env",), target, is_current=True).leads_back is True
    assert lend_inputs(tmp_path / "alias", ("other",), target, is_current=True).leads_back is True


# ----- an input that is a link


def test_an_input_that_is_a_link_out_of_the_workspace_is_shared(place: Place, tmp_path: Path) -> None:
    root, target = place
    (_made(tmp_path / "store") / "tool").write_text("x")
    (root / "linked").symlink_to(tmp_path / "store")
    assert said(lend_inputs(root, ("linked",), target, is_current=True)) == (("linked",), ("linked",), False)
    assert (target / "linked" / "tool").read_text() == "x"


def test_an_input_that_is_a_link_into_the_workspace_leads_back(place: Place) -> None:
    root, target = place
    (root / "linked").symlink_to("src")
    assert said(lend_inputs(root, ("linked",), target, is_current=True)) == (("linked",), ("linked",), True)


def test_an_input_that_is_a_link_which_leads_nowhere_is_none(place: Place) -> None:
    root, target = place
    (root / "linked").symlink_to("nowhere")
    assert lend_inputs(root, ("linked", "linked/inner"), target, is_current=True).names == ()


# ----- where an input goes


def test_an_input_below_a_folder_that_the_source_does_not_have(place: Place) -> None:
    root, target = place
    _made(root / "deep" / "er" / "cache")
    assert lend_inputs(root, ("deep/er/cache",), target, is_current=True).names == ("deep/er/cache",)
    assert (target / "deep" / "er" / "cache").is_dir()
    assert not (target / "deep" / "er" / "cache").is_symlink()


def test_what_the_source_has_is_not_lent_over(place: Place) -> None:
    root, target = place
    _made(root / "taken")
    (_made(target / "taken") / "source").write_text("source")
    (target / "env").symlink_to("/nowhere")
    assert said(lend_inputs(root, ("taken", "env", "env/lib"), target, is_current=True)) == ((), (), False)
    assert (target / "env").is_symlink()


def test_an_input_within_another_is_lent_with_it(place: Place) -> None:
    root, target = place
    _made(root / "node_modules" / "inner")
    assert lend_inputs(
        root, ("env", "env/lib", "node_modules", "node_modules/inner"), target, is_current=True
    ).names == (
        "env",
        "node_modules",
    )


@pytest.mark.parametrize("away", ["../outside", "absolute", "inside"])
def test_nothing_is_made_through_a_link_that_the_source_plants(place: Place, tmp_path: Path, away: str) -> None:
    root, target = place
    outside = _made(tmp_path / "outside")
    _made(root / "real" / "x")
    text = {"../outside": "../outside", "absolute": str(outside), "inside": "real"}[away]
    # In the workspace the way to the input is a folder; the source that was kept has a link there.
    _made(root / "lib" / "x")
    (target / "lib").symlink_to(text)
    _made(target / "real")
    assert said(lend_inputs(root, ("lib/x", "lib/x/y"), target, is_current=True)) == ((), (), False)
    assert list(outside.iterdir()) == []
    assert list((target / "real").iterdir()) == []
    assert os.readlink(target / "lib") == text  # noqa: PTH115 - the text itself


def test_a_file_of_the_source_on_the_way_is_left_alone(place: Place) -> None:
    root, target = place
    _made(root / "lib" / "x")
    (target / "lib").write_text("source")
    assert lend_inputs(root, ("lib/x",), target, is_current=True).names == ()
    assert (target / "lib").read_text() == "source"


def test_nothing_is_read_through_a_link_on_the_way_to_an_input(place: Place, tmp_path: Path) -> None:
    root, target = place
    (_made(tmp_path / "outside" / "keys") / "secret").write_text("secret")
    (root / "lib").symlink_to(tmp_path / "outside")
    assert said(lend_inputs(root, ("lib/keys", "*/keys", "**/keys"), target, is_current=True)) == ((), (), False)
    assert list(target.iterdir()) == []


@pytest.mark.parametrize(
    "glob", ["", "/", ".", "..", "../outside", "env/../../outside", ".git", ".flow", ".GIT/x", "a/.flow"]
)
def test_what_names_the_workspace_its_history_or_what_lies_outside_names_no_input(place: Place, glob: str) -> None:
    root, target = place
    for name in (".git/x", ".GIT/x", ".flow", "a/.flow", "../outside"):
        _made(root / name)
    assert named_by(root, glob) == []
    assert lend_inputs(root, (glob,), target, is_current=True).names == ()


def test_an_input_deeper_than_flow_opens_is_refused(place: Place) -> None:
    root, target = place
    _deep(root / "env", 130)
    with pytest.raises(TooDeep):
        lend_inputs(root, ("env" + "/d" * 130,), target, is_current=True)


# ----- globs


@pytest.fixture
def monorepo(place: Place) -> Place:
    root, _ = place
    for name in ("packages/a/node_modules/x/node_modules", "packages/b/node_modules", "packages/c/src", "node_modules"):
        _made(root / name)
    (root / "packages" / "file").write_text("")
    return place


GLOBS: dict[str, list[str]] = {
    "packages/*/node_modules": ["packages/a/node_modules", "packages/b/node_modules"],
    "**/node_modules": ["node_modules", "packages/a/node_modules", "packages/b/node_modules"],
    "packages/**/node_modules/": ["packages/a/node_modules", "packages/b/node_modules"],
    "**/**/node_modules": ["node_modules", "packages/a/node_modules", "packages/b/node_modules"],
    "packages/?": ["packages/a", "packages/b", "packages/c"],
    "packages/[ab]": [],
    "pack*/c/s*": ["packages/c/src"],
    "*/none": [],
}


@pytest.mark.parametrize("glob", GLOBS)
def test_globs_name_the_folders_that_they_match(monorepo: Place, glob: str) -> None:
    root, _ = monorepo
    assert named_by(root, glob) == GLOBS[glob]


def test_every_folder_that_a_glob_names_is_lent(monorepo: Place) -> None:
    root, target = monorepo
    lent = lend_inputs(root, ("packages/*/node_modules", "**/node_modules"), target, is_current=True)
    assert lent.names == ("packages/a/node_modules", "packages/b/node_modules", "node_modules")
    assert lent.shared == lent.names
    assert (target / "packages/a/node_modules/x").is_dir()


def test_globs_are_bounded_and_name_what_is_near_first(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    root, _ = place
    for number in range(30):
        _made(root / "many" / f"{number:02}" / "deep" / "node_modules")
    _made(root / "src" / "node_modules")
    monkeypatch.setattr(inputs_module, "MATCHES_MAX", 7)
    assert len(named_by(root, "**/deep")) == 7
    monkeypatch.setattr(inputs_module, "FOLDERS_MAX", 5)
    assert named_by(root, "**/node_modules") == ["src/node_modules"]
    assert len(named_by(root, "**/**/**/**/**/**/**/**")) < 5


def test_folders_that_cannot_be_looked_into_are_passed_over(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    root, target = place

    def closed(_path: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("flow_mcp.workspace.inputs.os.scandir", closed)
    assert named_by(root, "*/lib") == []
    assert lend_inputs(root, ("env",), target, is_current=True).leads_back is False


# ----- a copy of another source than today's


def test_an_older_copy_gets_environments_and_what_can_be_copied_and_nothing_that_is_built_elsewhere(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs_module, "COPIED_FILES_MAX", 3)
    root, target = place
    (root / "env" / "pyvenv.cfg").write_text("")
    (_made(root / "small") / "object").write_text("x")
    for number in range(4):
        (root / "large").mkdir(exist_ok=True)
        (root / "large" / str(number)).write_text("x")
    (_made(root / "configured") / "CMakeCache.txt").write_text(f"HOME={root}\n")
    names = ("env", "small", "large", "configured")
    older = lend_inputs(root, names, target, is_current=False)
    assert (older.names, older.shared) == (("env", "small"), ("env",))
    assert (older.builds, older.foreign, older.leads_back) == (True, False, False)
    assert sorted(path.name for path in target.iterdir()) == ["env", "small"]


def test_what_is_shared_beside_environments_is_said_to_be_foreign(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, target = place
    (root / "env" / "pyvenv.cfg").write_text("")
    packages = lend_inputs(root, ("env",), _made(target / "one"), is_current=True)
    assert (packages.builds, packages.foreign) == (False, False)
    (_made(root / "build") / "object").write_text("x")
    copied = lend_inputs(root, ("env", "build"), _made(target / "two"), is_current=True)
    assert (copied.builds, copied.foreign) == (True, False)
    monkeypatch.setattr(inputs_module, "COPIED_FILES_MAX", 0)
    shared = lend_inputs(root, ("env", "build"), _made(target / "three"), is_current=True)
    assert (shared.builds, shared.foreign) == (True, True)


def test_a_file_is_lent_as_a_copy(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    root, target = place
    (root / ".env").write_text("NAME=value")
    assert said(lend_inputs(root, (".env",), target, is_current=True)) == ((".env",), (), False)
    (target / ".env").write_text("changed")
    assert (root / ".env").read_text() == "NAME=value"
    monkeypatch.setattr(inputs_module, "COPIED_BYTES_MAX", 3)
    assert lend_inputs(root, (".env",), _made(target / "other"), is_current=True).shared == (".env",)
