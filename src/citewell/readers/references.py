"""References as people write them: URLs, wikilinks and Markdown destinations, each as a `Link` with exact offsets."""

from __future__ import annotations

import re
from urllib.parse import unquote

from citewell.domain.documents import Link
from citewell.text.canonical import canonicalize

# Text in scripts without spaces runs straight into an address, and out of it at its own punctuation.
# A pattern that begins with a literal letter is searched for at C speed, so the rest of a URL stands apart from it.
AFTER_H = (
    r"[tT][tT][pP](?<![0-9A-Za-z_]....)[sS]?://"
    r"[^\s<>\"`|\\\[\]\u3001\u3002\u300a-\u3011\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\u2018-\u201d\u00ab\u00bb]++"
)
_URL = re.compile(rf"[hH]{AFTER_H}")
_WEB = re.compile(r"https?://[^\s/?#.]", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
_TRAILING = ".,;:!?'*_~"
_SIZE = re.compile(r"\d+(?:x\d+)?")
_BAR = re.compile(r"\\?\|")
_PROPERTY_LINK = re.compile(r"\[\[([^\[\]\n]++)\]\]")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def is_web_address(text: str) -> bool:
    """Whether this is an http(s) address with a host, and nothing else."""
    return _WEB.match(text) is not None and len(text.split(maxsplit=1)) == 1 and not text[-1].isspace()


def trim_url(url: str) -> str:
    """A URL found in prose, without the punctuation of the sentence around it."""
    end = len(url)
    unopened = url.count(")") - url.count("(")
    while end:
        if url[end - 1] == ")" and unopened > 0:
            unopened -= 1
        elif url[end - 1] not in _TRAILING:
            break
        end -= 1
    return url[:end]


def url_link(written: str, start: int) -> Link | None:
    """The link of a bare URL that starts at this offset."""
    url = trim_url(written)
    return Link("url", url, start, start + len(url)) if is_web_address(url) else None


def url_links(text: str, start: int = 0, end: int | None = None) -> tuple[Link, ...]:
    """Every bare URL in this stretch of the text."""
    found = (
        url_link(match[0], match.start()) for match in _URL.finditer(text, start, len(text) if end is None else end)
    )
    return tuple(link for link in found if link is not None)


def property_links(text: str, end: int) -> tuple[Link, ...]:
    """The wikilinks before this offset, where front matter holds them: `related: "[[Other note]]"`."""
    found = (
        wikilink(match[1], start=match.start(), end=match.end(), is_embed=False)
        for match in _PROPERTY_LINK.finditer(text, 0, end)
    )
    return tuple(link for link in found if link is not None)


def wikilink(inner: str, *, start: int, end: int, is_embed: bool) -> Link | None:
    """The link of `[[inner]]`; None when it names nothing."""
    target, *rest = _BAR.split(inner, maxsplit=1)
    alias = rest[0].strip() if rest else ""
    if is_embed and _SIZE.fullmatch(alias):
        alias = ""
    return _internal(target, alias, start, end, is_embed)


def markdown_link(label: str, destination: str, *, start: int, end: int, is_image: bool) -> Link | None:
    """The link of `[label](destination)`; None for addresses that are neither web nor notes, such as `mailto:`."""
    destination = _ESCAPE.sub(r"\1", destination.strip())
    alias = " ".join(label.split())
    if is_image:
        alias = _without_size(alias)
    if is_web_address(destination):
        return Link("url", destination, start, end, alias=alias or None)
    if _SCHEME.match(destination):
        return None
    return _internal(canonicalize(unquote(destination)), alias, start, end, is_image)


def _without_size(alt: str) -> str:
    name, bar, size = alt.rpartition("|")
    return name.strip() if bar and _SIZE.fullmatch(size.strip()) else alt


def _internal(written: str, alias: str, start: int, end: int, is_embed: bool) -> Link | None:
    """A link within the vault: `target`, `target#Heading`, `target#Heading#Sub`, `target#^block`."""
    target, _, anchor = written.partition("#")
    target, anchor = target.strip(), anchor.strip()
    if not target and not anchor:
        return None
    is_block = anchor.startswith("^")
    return Link(
        kind="embed" if is_embed else "wikilink",
        target=target,
        start=start,
        end=end,
        alias=alias or None,
        heading=None if is_block else anchor or None,
        block=anchor[1:] or None if is_block else None,
    )
