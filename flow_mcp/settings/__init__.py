"""What is in force here: flags before variables, the user's own file, and the repository's, which only tightens."""

from flow_mcp.settings.layer import SettingsFault, Source
from flow_mcp.settings.loading import REPOSITORY_FILE, USER_FILE, Settings, load_settings, unknown_variables

__all__ = [
    "REPOSITORY_FILE",
    "USER_FILE",
    "Settings",
    "SettingsFault",
    "Source",
    "load_settings",
    "unknown_variables",
]
