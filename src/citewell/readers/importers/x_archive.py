"""Posts and likes of an X (Twitter) archive: `tweets.js`, `like.js`. Short links are written out.

The archive's posts are the user's own words; what they repost or like is someone else's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from html import unescape

from citewell.readers.compose import TextBlock, compose
from citewell.readers.importers.entries import (
    ImportedDocument,
    address,
    distinct,
    export_text,
    fields_of,
    json_entries,
    line,
    list_of,
    noting_left_out,
    prose,
)
from citewell.text.canonical import canonicalize
from citewell.text.documents import ReadDocument, Role

_HEAD = re.compile(r"\s*window\.YTD\.(?P<kind>tweets?|like)\.part\d+\s*=\s*")
_STATUS = re.compile(r"https?://(?:mobile\.)?(?:twitter|x)\.com/(\w{1,15})/status/(\d+)")
_CREATED = "%a %b %d %H:%M:%S %z %Y"
_SHORT = re.compile(r"https?://t\.co/\w+")
_TITLE_CHARS = 80
# What an archive, or who prepared it, says about a picture or video, and what that makes of it.
_MEDIA_TEXTS: tuple[tuple[str, Role], ...] = (
    ("ext_alt_text", "attachment"),
    ("alt_text", "attachment"),
    ("ocr_text", "ocr"),
    ("ocr", "ocr"),
    ("transcript", "transcript"),
)


class XArchive:
    """A data file of the archive, which is JavaScript that sets a variable to JSON."""

    name = "x_archive"

    def matches(self, path: str, head: bytes) -> bool:
        return path.lower().endswith(".js") and _HEAD.match(_start(head)) is not None

    def documents(self, data: bytes, path: str) -> Iterable[ImportedDocument]:
        text = export_text(data, path)
        head = _HEAD.match(text)
        entries = [fields_of(entry) for entry in json_entries(text.rstrip().rstrip(";"), head.end() if head else 0)]
        if head is not None and head["kind"] == "like":
            return noting_left_out((_liked(fields_of(entry.get("like"))) for entry in entries), "likes")
        posts = [fields_of(entry.get("tweet")) or entry for entry in entries]
        account = _account(posts)
        return noting_left_out((_posted(post, account) for post in posts), "posts")


def _start(head: bytes) -> str:
    return head[:200].decode("utf-8", "replace").lstrip("\ufeff")


def _account(posts: Sequence[Mapping[str, object]]) -> str:
    """Whose archive it is: the file does not say, but addresses of pictures in their own posts hold their name."""
    names: Counter[str] = Counter()
    for post in posts:
        for media in _media(post):
            found = _STATUS.match(prose(media.get("expanded_url")))
            if found is not None and found[2] == _id(post):
                names[found[1]] += 1
    return min(names, key=lambda name: (-names[name], name)) if names else ""


def _posted(post: Mapping[str, object], account: str) -> ImportedDocument | None:
    identifier = _id(post)
    media = _media(post)
    text = _expanded(post, media)
    attached = list(_attachments(media))
    if not identifier or not (text or attached):
        return None
    role: Role = "raw_source" if text.startswith("RT @") else "user_note"
    return _imported(identifier, [TextBlock(text, role), *attached], account=account, created=_created(post), post=post)


def _liked(like: Mapping[str, object]) -> ImportedDocument | None:
    identifier = line(like.get("tweetId"))
    text = unescape(prose(like.get("fullText")))
    if not identifier or not text:
        return None
    return _imported(identifier, [TextBlock(text, "raw_source")], account="", created=None, post={})


def _imported(
    identifier: str, blocks: list[TextBlock], *, account: str, created: str | None, post: Mapping[str, object]
) -> ImportedDocument:
    composed = compose(blocks)
    first = composed.text.split("\n", 1)[0]
    read = ReadDocument(
        text=composed.text,
        title=first if len(first) <= _TITLE_CHARS else first[: _TITLE_CHARS - 1].rstrip() + "…",
        sections=composed.sections,
        links=composed.links,
        tags=distinct(line(fields_of(tag).get("text")) for tag in list_of(_entities(post).get("hashtags"))),
        author=f"@{account}" if account else None,
        url=f"https://x.com/{account or 'i/web'}/status/{identifier}",
        created=created,
    )
    return ImportedDocument(read, "x", part=identifier, kind="item", saved=created)


def _expanded(post: Mapping[str, object], media: Sequence[Mapping[str, object]]) -> str:
    """The words of a post with its links written out. The short link to its own pictures goes: they are in the post."""
    targets = {prose(shown.get("url")): "" for shown in media}
    for link in map(fields_of, list_of(_entities(post).get("urls"))):
        targets[prose(link.get("url"))] = address(link.get("expanded_url")) or prose(link.get("url"))
    text = unescape(prose(post.get("full_text")) or prose(post.get("text")))
    return canonicalize(_SHORT.sub(lambda short: targets.get(short[0], short[0]), text)).strip()


def _attachments(media: Sequence[Mapping[str, object]]) -> Iterator[TextBlock]:
    for number, shown in enumerate(media, 1):
        for key, role in _MEDIA_TEXTS:
            yield TextBlock(prose(shown.get(key)), role, (f"Media {number}",))


def _media(post: Mapping[str, object]) -> list[Mapping[str, object]]:
    extended = list_of(fields_of(post.get("extended_entities")).get("media"))
    return [fields_of(media) for media in extended or list_of(_entities(post).get("media"))]


def _entities(post: Mapping[str, object]) -> Mapping[str, object]:
    return fields_of(post.get("entities"))


def _id(post: Mapping[str, object]) -> str:
    return line(post.get("id_str")) or line(post.get("id"))


def _created(post: Mapping[str, object]) -> str | None:
    try:
        return datetime.strptime(line(post.get("created_at")), _CREATED).isoformat()
    except ValueError:
        return None
