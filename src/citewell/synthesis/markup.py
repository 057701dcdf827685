"""Markup: the sentence a person reads behind the sentence as it is stored. Pure.

Only marks are taken away (Markdown, Obsidian links and block ids, trailing tags, invisible characters); no word is
changed. What is not recognised as markup stays as it is.
"""

from __future__ import annotations

import re

_MARKER = re.compile(r"[ \t]*(?:>[ \t]*){0,8}(?:#{1,6}[ \t]+|(?:[-*+•‣◦]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?")
_BLOCK_ID = re.compile(r"\s+\^[\w-]+\s*$")
_TAGS = re.compile(r"(?:(?:^|\s+)#[^\W\d_][\w/-]*)+\s*$")
_EMBED = re.compile(r"!\[\[[^\[\]\n]{0,300}\]\]")
_ALIASED = re.compile(r"\[\[[^\[\]|\n]{0,300}\|([^\[\]\n]{0,300})\]\]")
_WIKILINK = re.compile(r"\[\[([^\[\]|#\n]{1,300})(?:#[^\[\]\n]{0,300})?\]\]")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\([^()\s]{1,500}\)")
_EMPHASIS = re.compile(
    r"(?<![\w*])\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}(?![\w*])|(?<!\w)_{1,2}(?=[^\s_])|(?<=[^\s_])_{1,2}(?!\w)|`|~~|=="
)
# Zero-width spaces, bidirectional controls and tag characters: nothing a reader sees, often used to hide text.
_INVISIBLE = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


def readable(text: str) -> str:
    """A stored sentence as a person would read it."""
    shown = _INVISIBLE.sub("", text)
    shown = _TAGS.sub("", _BLOCK_ID.sub("", shown))
    shown = "\n".join(line[_marker_end(line) :] for line in shown.splitlines())
    shown = _EMBED.sub("", shown)
    shown = _WIKILINK.sub(r"\1", _ALIASED.sub(r"\1", shown))
    shown = _LINK.sub(r"\1", shown)
    return " ".join(_EMPHASIS.sub("", shown).split())


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without the marks at its edges: list marker, heading hashes, block id, tags, emphasis around it all."""
    start += _marker_end(text[start:end])
    for pattern in (_BLOCK_ID, _TAGS, _BLOCK_ID):
        if tail := pattern.search(text[:end], start):
            end = tail.start()
    for mark in ("***", "**", "__", "*", "_"):
        if end - start > 2 * len(mark) and text.startswith(mark, start) and text.endswith(mark, start, end):
            start, end = start + len(mark), end - len(mark)
            break
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _marker_end(line: str) -> int:
    match = _MARKER.match(line)
    return match.end() if match else 0
