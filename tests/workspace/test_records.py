import pytest

from flow_mcp.workspace.records import Records
from tests.workspace.rig import Repo

DIGEST = "0123456789abcdef0123456789abcdef"
KNOWN = Records("docs/plans", frozenset({"add-slug-1a2b3c4d"}))


@pytest.mark.parametrize(
    "name",
    [
        "add-slug-1a2b3c4d.json",
        "add-slug-1a2b3c4d.md",
        f"add-slug-1a2b3c4d.{DIGEST}.lines",
        ".add-slug-1a2b3c4d.json.0123456789abcdef.tmp",
    ],
)
def test_the_files_of_a_known_plan_are_records(name: str) -> None:
    assert KNOWN.own(f"docs/plans/{name}")


@pytest.mark.parametrize(
    "path",
    [
        "docs/plans/other.json",
        "docs/plans/app.py",
        "docs/plans/add-slug-1a2b3c4d.py",
        "docs/plans/add-slug-1a2b3c4d.json.py",
        "docs/plans/add-slug-1a2b3c4d/app.json",
        "docs/plans/sub/add-slug-1a2b3c4d.json",
        "docs/plans/.other.json.0123456789abcdef.tmp",
        "add-slug-1a2b3c4d.json",
        "docs/plans",
    ],
)
def test_everything_else_in_the_plans_folder_is_source(path: str) -> None:
    assert not KNOWN.own(path)


def test_code_in_the_plans_folder_cannot_change_unseen(repo: Repo) -> None:
    repo.write("plans/app.py", "print(1)\n")
    before = repo.manifest().digest
    repo.write("plans/app.py", "print(2)\n")
    assert repo.manifest().digest != before
    repo.write("plans/data.json", "{}")
    assert "plans/data.json" in repo.manifest().present()
