"""The platform, read by the observing process itself."""

import sys

from flow_mcp.domain.plan import Platform


def this_platform() -> Platform:
    """Name the platform; what Flow does not know is ``other``, which satisfies no name (row attest.platform)."""
    match sys.platform:
        case "linux" | "darwin" | "win32" as known:
            return known
        case _:
            return "other"
