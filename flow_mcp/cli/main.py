"""Start the verb that was named. Each verb imports what it needs and nothing else is loaded."""

import sys


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["serve"]:
        from flow_mcp.cli.serve import run  # noqa: PLC0415 - the wire is guarded before anything else loads

        run(sys.argv[2:])
    try:
        from flow_mcp.cli.app import app  # noqa: PLC0415 - not for `serve`

        app()
    except KeyboardInterrupt:
        sys.exit(130)  # while something is still being imported
