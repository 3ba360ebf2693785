"""``flow-mcp guarantees``: the page of promises."""

from flow_mcp.cli.answer import Answer, Raw
from flow_mcp.cli.options import AsJson
from flow_mcp.guarantees import rendered_page


def guarantees(*, as_json: AsJson = False) -> Answer:
    """Print what Flow promises, by which means, and what it does not promise."""
    page = rendered_page()
    return Answer({"page": page}, (Raw(page),)).told(as_json=as_json)
