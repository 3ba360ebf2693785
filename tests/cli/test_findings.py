import pytest

from flow_mcp.cli.answer import Misused
from flow_mcp.cli.findings import carried, written
from flow_mcp.domain.plan import Finding


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("blocking: a :: b", ("blocking", "a", "b")),
        ("advisory: a", ("advisory", "a", None)),
        ("  advisory:a std::vector::b", ("advisory", "a std::vector::b", None)),
        ("blocking: a :: b :: c", ("blocking", "a", "b :: c")),
        ("blocking: two\nlines :: more\nlines", ("blocking", "two\nlines", "more\nlines")),
    ],
)
def test_a_finding_is_a_severity_a_text_and_its_evidence(text: str, parts: tuple[str, str, str | None]) -> None:
    (found,) = written([text])
    assert (found.severity, found.summary, found.evidence) == parts


@pytest.mark.parametrize(
    "text", ["", "a", "major: a", "Blocking: a", "blocking:", "blocking:  ", "blocking: a :: ", "blocking: a\x1b"]
)
def test_any_other_form_is_told_with_an_example(text: str) -> None:
    with pytest.raises(Misused) as caught:
        written([text])
    assert "--finding" in caught.value.remedy


def test_a_carried_finding_is_repeated_whole() -> None:
    prior = Finding(id="a.R2-01", severity="blocking", summary="s", evidence="e", scope_blocker=True)
    (found,) = carried(["a.R2-01"], [prior])
    assert found.finding_id == "a.R2-01"
    assert (found.severity, found.summary, found.evidence, found.scope_blocker) == ("blocking", "s", "e", True)


def test_what_does_not_live_is_not_carried() -> None:
    with pytest.raises(Misused, match="none is live"):
        carried(["a.R2-01"], [])
