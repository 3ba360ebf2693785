"""A secret that a command prints stands nowhere afterwards: not in what is kept, recorded, logged or answered."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flow_mcp.domain import commands as c
from flow_mcp.domain.decision import Refused
from flow_mcp.domain.model import Observation
from flow_mcp.domain.plan import Command
from flow_mcp.domain.policy import Policy
from flow_mcp.engine.checks import Checks
from flow_mcp.engine.core import Engine
from flow_mcp.engine.gather import Workspace
from flow_mcp.server.views import observation_body
from flow_mcp.settings import Settings
from tests.engine.checking import listed
from tests.engine.place import Place, lone

SECRET = "s3cr3t-of-the-user"  # noqa: S105 - made for the test
TOKEN = "ghp_" + "0aB1" * 9
REPORT = ".flow/reports/r.xml"


@pytest.fixture(autouse=True)
def granted(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have the user grant one variable; two more are in the server's environment."""
    monkeypatch.setenv("MY_API_KEY", SECRET)
    monkeypatch.setenv("OTHER_API_KEY", f"other-{SECRET}")
    monkeypatch.setenv("PLAIN_SETTING", "1")
    settings = Settings(Policy(), "plans", ("MY_API_KEY", "PLAIN_SETTING"), {}, ())
    place.engine = Engine(Workspace(place.root, "plans"), settings, place.book)
    place.checks = Checks(place.engine)
    yield
    place.settled()


def checked(place: Place, *lines: str, report: str | None = None) -> tuple[Observation, str]:
    """Run a program as a check; give what was seen of it and what an answer shows."""
    place.script("say.sh", *lines)
    command = Command(run="./say.sh", report=report)
    place.approved(lone(command.run, report=report))
    place.done(c.RunStart())
    ids = place.begin("focused", command.run)
    waited = place.checks.wait(*ids, 60)
    assert not isinstance(waited, Refused)
    assert waited.observation is not None
    return waited.observation, str(observation_body(waited.document, waited.observation, waited.tail))


def files(folder: Path) -> dict[str, bytes]:
    """Give every file below a folder but the sources, which hold the test's own programs."""
    found = (Path(where) / name for where, _, names in os.walk(folder) for name in names)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found if path.is_file()}


def test_what_is_kept_of_the_output_and_shown_of_it_hides_secrets_and_says_so(place: Place) -> None:
    seen, answer = checked(place, 'echo "key $MY_API_KEY, setting $PLAIN_SETTING"', f"echo {TOKEN[:8]}''{TOKEN[8:]}")
    kept = b"key [redacted: MY_API_KEY], setting 1\n[redacted: github-token]\n"
    checks = files(place.root / ".flow" / "checks")
    assert [data for name, data in checks.items() if name.endswith(".log")] == [kept]
    assert [data for name, data in checks.items() if name.endswith(".tail")] == [kept]
    assert kept.decode().splitlines()[0] in answer
    raw = f"key {SECRET}, setting 1\n{TOKEN}\n".encode()
    assert (seen.complete, seen.output_bytes) == (True, len(raw))
    assert seen.output_digest == "sha256:" + hashlib.sha256(raw).hexdigest()


def test_a_variable_that_nobody_named_does_not_reach_the_command(place: Place) -> None:
    checked(place, "env")
    kept = b"".join(files(place.root / ".flow" / "checks").values())
    assert b"MY_API_KEY=[redacted: MY_API_KEY]" in kept
    assert b"OTHER_API_KEY" not in kept


def test_no_file_of_the_workspace_and_no_answer_holds_a_secret_that_a_command_spread(place: Place) -> None:
    seen, answer = checked(
        place,
        'echo "$MY_API_KEY"',
        "mkdir -p .flow/reports",
        'touch "left-$MY_API_KEY"',
        f'T="{TOKEN[:8]}""{TOKEN[8:]}"',
        'printf \'<testsuite><testcase name="a[%s]"/><testcase name="b[%s]"/></testsuite>\''
        f' "$MY_API_KEY" "$T" >{REPORT}',
        report=REPORT,
    )
    assert seen.report is not None
    assert listed(place, seen)[0] == "a[[redacted: MY_API_KEY]]"
    assert listed(place, seen)[1].startswith("b[[redacted: github-token ")
    assert seen.left is not None
    assert any("[redacted: MY_API_KEY]" in one for one in seen.left)
    where = {"plans": files(place.root / "plans"), ".flow": files(place.root / ".flow")}
    assert all(where.values())
    told = [answer.encode(), *(data for found in where.values() for data in found.values())]
    told += [name.encode() for found in where.values() for name in found]
    assert not any(SECRET.encode() in data or TOKEN.encode() in data for data in told)


def test_a_case_that_fails_is_not_listed_for_one_that_passes_under_the_same_hidden_name(place: Place) -> None:
    seen, _ = checked(
        place,
        "mkdir -p .flow/reports",
        'printf \'<testsuite><testcase name="%s"/><testcase name="[redacted: MY_API_KEY]"><failure/></testcase>'
        f'<testcase name="b"/></testsuite>\' "$MY_API_KEY" >{REPORT}',
        report=REPORT,
    )
    assert listed(place, seen) == ("b",)
