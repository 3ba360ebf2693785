from flow_mcp.guarantees import rendered_page
from tests.cli.conftest import Flow
from tests.cli.rig import Project, run_flow


def test_the_page_is_printed_as_it_is(started: Project, flow: Flow) -> None:
    assert flow("guarantees").out == rendered_page()
    assert flow("guarantees", "--json").body == {"page": rendered_page()}
    assert run_flow(started, "guarantees").out == rendered_page()
