"""What can be read on one line, as prose, outside of the page it stands on. Pure."""

from __future__ import annotations

import re

MAX_READABLE_CHARS = 320
# What is left of templates, links and HTML that nobody can read outside of their page.
_MARKUP = re.compile(r"\]\(|\{[{%]|</?[a-z]+\b[^<>]*>|\[\[|https?://\S{60}")
_CODE = frozenset("(){}[]=;<>_\\/|$@")
_MOST_CODE = 0.05


def is_readable(text: str) -> bool:
    """Whether it can be read on one line, as prose."""
    if len(text) > MAX_READABLE_CHARS or "\n" in text or text.endswith(":") or _MARKUP.search(text):
        return False
    return sum(char in _CODE for char in text) <= _MOST_CODE * len(text)
