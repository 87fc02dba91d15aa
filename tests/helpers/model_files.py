"""Model files that somebody changed."""

from __future__ import annotations

import hashlib
import json

NONE = object()


def with_digest(document):
    """The document with the digests that it would have, had it been written like this; where it has any."""
    recorded = document.get("digest")
    if not isinstance(recorded, dict):
        return document
    return document | {"digest": {name: canonical_hash(document.get(name, NONE)) for name in recorded}}


def canonical_hash(value):
    """As documented, and not by the library's own function."""
    if value is NONE:
        return ""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        text = b"not a text"
    return hashlib.sha256(text).hexdigest()
