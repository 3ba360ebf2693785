"""``python -m flow_mcp`` is the same as ``flow-mcp``."""

from flow_mcp.cli.main import main

if __name__ == "__main__":
    main()
