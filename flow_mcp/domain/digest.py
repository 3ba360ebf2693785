"""One canonical form for JSON values, and the digest over it."""

import hashlib
import json

from pydantic import JsonValue


def canonical(value: JsonValue) -> bytes:
    """Give equal values equal bytes: sorted keys, no blanks, UTF-8.

    Raises:
        ValueError: for a number that is not finite or a lone surrogate.
    """
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8")


def digest_bytes(data: bytes) -> str:
    """Name bytes by their SHA-256: ``sha256:`` and 64 hexadecimal digits."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def digest_json(value: JsonValue) -> str:
    """Name a JSON value by the digest of its canonical form."""
    return digest_bytes(canonical(value))
