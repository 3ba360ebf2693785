"""Which environment variables a repository may not pass to commands by its own word.

A list of names looks harmless, but the values come from the user's environment: a name can carry a secret out, or
steer what a test runner selects. The user may name such a variable; the repository may not.
"""

import re
from collections.abc import Iterable
from typing import Final

from flow_mcp.domain.shell.runner_rows import CHOOSING_VARIABLE, VARIABLES

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
"""One variable."""

PATTERN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\*?")
"""One variable, or with a final ``*`` all that begin like this."""

_SECRET: Final = re.compile(
    r".*(?:TOKEN|SECRET|KEY|PASSW|PASSPHRASE|CREDENTIAL|COOKIE|PRIVATE|WEBHOOK|BEARER|CONNECTION_?STR"
    r"|DATABASE_UR|REDIS_UR|MONGO\w*_UR|AMQP_UR|PROXY|KUBECONFIG|NETRC).*"
    r"|(?:.*_)?(?:AUTH|CREDS?|DSN|JWT|PASS|PAT|PWD)(?:_.*)?"
    r"|(?:AWS|AZURE|ARM|GCP|GCLOUD|GOOGLE|CLOUDSDK|DIGITALOCEAN|CLOUDFLARE|GITHUB|GH|GITLAB|BITBUCKET|ACTIONS|CI_JOB"
    r"|ANTHROPIC|CLAUDE|OPENAI|CODEX|GEMINI|MISTRAL|GROQ|OPENROUTER|HF|HUGGING_?FACE|TWINE|PYPI|DOCKER|SSH|GPG|VAULT"
    r"|SLACK|STRIPE|SENTRY|TF_VAR|DBUS|PG(?=PASS))_?.*",
)
_STEERING: Final = re.compile(
    r"(?:LD|DYLD|BASH|GIT)_.*|ENV|SHELLOPTS|BASHOPTS|PYTHON(?:PATH|HOME|STARTUP|USERBASE)|PERL5.*|RUBY(?:OPT|LIB)"
    r"|NODE_PATH|CLASSPATH|RUSTC\w*_WRAPPER"
)


def covers(patterns: Iterable[str], name: str) -> bool:
    """Tell whether one of the user's names or beginnings stands for this variable."""
    return any(name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern for pattern in patterns)


def why_withheld(name: str) -> str | None:
    """Say why a repository may not name this variable, in words that follow ``it``; None where it may.

    It goes by the name alone, whatever its case: a secret under a harmless name is not known for one.
    """
    if _SECRET.fullmatch(name.upper()):
        return "looks like a secret"
    if name in VARIABLES or CHOOSING_VARIABLE.fullmatch(name) or _STEERING.fullmatch(name.upper()):
        return "can steer what a command runs"
    return None
