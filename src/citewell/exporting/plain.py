"""Untrusted text on its way into the file of another program: nothing hidden, addresses of the web only. Pure."""

from __future__ import annotations

import re

# Control characters, and those that hide or reorder what stands beside them.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufffe\uffff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def shown(text: str) -> str:
    """Text as a person sees it, line by line."""
    return _HIDDEN.sub("", text)


def one_line(text: str) -> str:
    return " ".join(shown(text.replace("\r", "\n")).split())


def web_address(url: str | None) -> str:
    """An address of the web, and nothing that a click would execute."""
    flat = one_line(url or "")
    return flat if re.match(r"https?://[^\s]+$", flat, re.IGNORECASE) else ""
