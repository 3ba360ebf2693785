"""A folder that cannot be written, a disk that is full: every verb says so in sentences, for a plain user too."""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.cli.conftest import States
from tests.cli.conftest import _copy as copy_of
from tests.cli.rig import FLOW, PLAN, Project

AGAIN = json.dumps({"goal": "Add slug", "plan": PLAN.model_dump(mode="json", exclude_none=True, exclude={"inherits"})})
READING: Sequence[tuple[str, ...]] = (
    ("show",),
    ("log",),
    ("verify",),
    ("plan",),
    ("plan", "--suggest"),
    ("guarantees",),
    ("init", "zed"),
)
WRITING: Sequence[tuple[str, ...]] = (
    ("status",),
    ("why",),
    ("approve", "--yes"),
    ("deny", "--because", "no", "--yes"),
    ("waive", "case", "x", "--because", "no", "--yes"),
    ("accept", "--because", "no", "--yes"),
    ("reseal", "plan", "--because", "no", "--yes"),
    ("review", "--fail", "--summary", "no", "--finding", "blocking: a :: b", "--yes"),
    ("call", "status"),
    ("call", "plan_save", AGAIN),
    ("call", "validate", '{"scope": "baseline"}'),
)
FULL_BYTES = 16
"""What fits into one file: enough to find a folder for temporary files, too little for any of Flow's own."""

EVERY = """
import contextlib, io, json, sys
from flow_mcp.cli.app import run
told = []
for arguments in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(arguments)
    told.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(told))
"""

Told = tuple[int, str, str]


def plain_user() -> list[str]:
    """Give the words before a command that make it a plain user's: none where the tests run as one."""
    if os.geteuid() != 0:
        return []
    program = shutil.which("setpriv")
    words = [program or "setpriv", "--reuid=nobody", "--clear-groups"]
    trial = [*words, sys.executable, "-c", "import flow_mcp"]
    if program is None or subprocess.run(trial, check=False, capture_output=True).returncode != 0:
        pytest.skip("as root, where no plain user can run this Python: root ignores modes")
    return words


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder into which every user of the machine can look, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="flow-test-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        for path in (folder, *(path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink())):
            path.chmod(0o755)
        shutil.rmtree(folder)


@pytest.fixture
def closed(states: States, shared: Path) -> Project:
    """A project with a draft, that nobody may write."""
    project = copy_of(states, "drafted", shared / "project")
    shutil.rmtree(project.root / ".flow")
    for path in (project.root, *project.root.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    return project


def told(project: Project, calls: Sequence[Sequence[str]], before: Sequence[str], *, bytes_max: int = -1) -> list[Told]:
    """Run verbs one after the other in one process of a plain user."""
    words = [*before, sys.executable, "-c", EVERY, json.dumps(calls)]

    def limited() -> None:
        if bytes_max >= 0:
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, bytes_max))

    done = subprocess.run(
        words, cwd=project.root, env=own(project), capture_output=True, check=False, timeout=120, preexec_fn=limited
    )
    assert done.returncode == 0, done.stderr.decode()
    found: list[Told] = [(code, out, err) for code, out, err in json.loads(done.stdout)]
    return found


def own(project: Project) -> dict[str, str]:
    """Give an environment whose home a plain user may look into, and in which nothing else is written either."""
    home = str(project.root.parent)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    # Python takes a bytecode file that was cut short by a limit for a whole one, in every later run.
    return {**kept, "HOME": f"{home}/home", "XDG_CONFIG_HOME": f"{home}/home", "PYTHONDONTWRITEBYTECODE": "1"}


def test_what_runs_under_a_limit_writes_no_bytecode(drafted: Project) -> None:
    asked = [sys.executable, "-c", "import sys; print(sys.dont_write_bytecode)"]
    assert subprocess.run(asked, env=own(drafted), check=True, capture_output=True, text=True).stdout == "True\n"


def is_told(one: Told) -> bool:
    """Say whether what stands in the way was told as what was seen and what to do."""
    code, out, err = one
    if code == 3:
        return '"remedy"' in out or "next" in err
    lines = err.splitlines()
    return code == 4 and len(lines) == 2 and bool(lines[0]) and lines[1].endswith(".")


def test_each_verb_of_a_plain_user_in_a_folder_that_cannot_be_written_answers_in_sentences(closed: Project) -> None:
    before = plain_user()
    for arguments, one in zip(READING, told(closed, READING, before), strict=True):
        assert one[0] == 0, (arguments, one)
    for arguments, one in zip(WRITING, told(closed, WRITING, before), strict=True):
        assert is_told(one), (arguments, one)
    assert not (closed.root / ".flow").exists()


def test_the_doctor_of_a_plain_user_names_the_folder_and_what_still_works(closed: Project) -> None:
    (one,) = told(closed, [["doctor", "--json"]], plain_user())
    assert one[0] == 1
    found = {entry["what"]: entry for entry in json.loads(one[1])["findings"]}
    assert found["private folder"]["level"] == "problem"
    assert "permission is denied" in found["private folder"]["seen"]
    assert "verify" in found["private folder"]["remedy"]
    assert found["gate"]["seen"]


def test_a_project_that_cannot_be_read_is_told_by_the_doctor_and_the_proposal(closed: Project) -> None:
    before = plain_user()
    (closed.root / "tests").chmod(0)
    (closed.root / "app.py").chmod(0)
    asked = (["doctor"], ["plan", "--suggest"])
    doctor, proposal = told(closed, asked, before)
    assert (doctor[0], "problem  source" in doctor[1]) == (1, True)
    assert is_told(proposal)
    (closed.root / "tests").chmod(0o755)


def test_each_verb_on_a_full_disk_answers_in_sentences(drafted: Project) -> None:
    for arguments, one in zip(READING, told(drafted, READING, (), bytes_max=FULL_BYTES), strict=True):
        assert one[0] in {0, 4}, (arguments, one)
        assert one[0] == 0 or is_told(one), (arguments, one)
    found = dict(zip(WRITING, told(drafted, WRITING, (), bytes_max=FULL_BYTES), strict=True))
    for arguments, one in found.items():
        assert one[0] == 0 or is_told(one), (arguments, one)
    for arguments in (("deny", "--because", "no", "--yes"), ("call", "plan_save", AGAIN)):
        assert "cannot be written" in "".join(found[arguments][1:])
    assert drafted.document.revision == 1


def test_the_installed_command_tells_a_plain_user_in_two_lines(closed: Project) -> None:
    words = [*plain_user(), str(FLOW), "status"]
    done = subprocess.run(words, cwd=closed.root, env=own(closed), capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (4, b"", 2)
