"""Canonical text: the one immutable form of a document that every offset and hash refers to.

Only NUL, lone surrogates and newlines are normalised, because no database stores the first two and offsets must not
depend on the third. Whitespace, case and hidden characters stay as they are; a folded view maps onto them.
"""

from __future__ import annotations

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "�"


def canonicalize(text: str) -> str:
    """The text as it is stored: `\\r\\n` and `\\r` become `\\n`, what no database holds becomes U+FFFD."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNSTORABLE.sub(_REPLACEMENT, text)


def is_canonical(text: str) -> bool:
    """Whether storing this text would leave it as it is."""
    return "\r" not in text and _UNSTORABLE.search(text) is None


def content_hash(text: str) -> str:
    """The name of a canonical text: the sha256 of its UTF-8 bytes."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8")).hexdigest()
