"""Properties: the lines of front matter a text begins with, one `key: value` (or list, or indented text) each.

A window of a note may begin with its front matter, with or without the rule above it, and may end inside it.
"""

from __future__ import annotations

import re

# Front matter longer than this is read as text.
MAX_CHARS = 64 * 1024

_OPENING = re.compile(r"---[ \t]*\n")
_KEY = re.compile(r"[^\W_][\w -]{0,60}:(?=[ \t\n]|\Z)")
_RULE = re.compile(r"(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_BELOW = re.compile(r"[ \t]+\S|-[ \t]|[\]\[{}#\"']")


def properties_of(text: str) -> tuple[list[tuple[int, int]], int]:
    """The span of each property, key and value together, and where the text goes on; nothing and 0 for other texts."""
    opening = _OPENING.match(text)
    at = opening.end() if opening else 0
    found: list[tuple[int, int]] = []
    if not _KEY.match(text, at):
        return [], 0
    while at < len(text) and at <= MAX_CHARS:
        end = text.find("\n", at)
        end = len(text) if end == -1 else end
        if closing := _RULE.match(text, at):
            return found, closing.end()
        if _KEY.match(text, at):
            found.append((at, end))
        elif text[at:end].strip() == "":
            pass
        elif _BELOW.match(text, at):
            found[-1] = (found[-1][0], end)
        else:
            return [], 0
        at = end + 1
    # No rule: front matter only where the text ends inside it, and a line with a colon alone may be anything.
    return (found, len(text)) if opening or len(found) > 1 else ([], 0)
