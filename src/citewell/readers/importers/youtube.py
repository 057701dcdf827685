"""YouTube: playlists and the watch history of a Takeout, and caption files named after their video."""

from __future__ import annotations

import csv
import io
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

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
    moment,
    noting_left_out,
)
from citewell.readers.kinds import suffix_of, text_bytes
from citewell.readers.subtitles import read_subtitles
from citewell.text.documents import ReadDocument

_ID = r"[A-Za-z0-9_-]{11}"
_VIDEO_ID = re.compile(_ID)
_PLAYLIST = re.compile(rb"(?:\xef\xbb\xbf|\n|^)\"?Video[ -]?ID\"?,", re.IGNORECASE)
_HISTORY = re.compile(rb"\"header\"\s*:\s*\"YouTube(?: Music)?\"")
_WATCHED = re.compile(rf"https?://(?:www\.|m\.|music\.)?youtube\.com/watch\?(?:[^#\s]{{0,200}}&)?v=({_ID})")
# As yt-dlp names them: `A talk [dQw4w9WgXcQ].en.vtt`.
_CAPTIONS = re.compile(rf"(?P<title>.*?)\s?\[(?P<id>{_ID})\](?:\.[A-Za-z0-9-]{{2,20}})?\.(?:vtt|srt)", re.IGNORECASE)
_PLAYLIST_NAME = re.compile(r"-videos$|^Watch later videos$", re.IGNORECASE)


class YoutubePlaylist:
    """`Watch later-videos.csv`: ids and when each was added. Titles are not in it."""

    name = "youtube_playlist"

    def matches(self, path: str, head: bytes) -> bool:
        return suffix_of(path) == ".csv" and _PLAYLIST.search(head) is not None

    def documents(self, data: bytes, path: str) -> Iterable[ImportedDocument]:
        return noting_left_out(_playlist(export_text(data, path), path), "videos")


class YoutubeHistory:
    """`watch-history.json`: what was watched, the newest first. Each video is one document, saved when last watched."""

    name = "youtube_history"

    def matches(self, path: str, head: bytes) -> bool:
        return suffix_of(path) == ".json" and _HISTORY.search(head) is not None

    def documents(self, data: bytes, path: str) -> Iterable[ImportedDocument]:
        return noting_left_out(_history(export_text(data, path)), "watched videos")


class YoutubeCaptions:
    """Subtitles that were saved with the id of their video in the name."""

    name = "youtube_captions"

    def matches(self, path: str, head: bytes) -> bool:
        return _CAPTIONS.fullmatch(posixpath.basename(path)) is not None

    def documents(self, data: bytes, path: str) -> Iterable[ImportedDocument]:
        named = _CAPTIONS.fullmatch(posixpath.basename(path))
        read = read_subtitles(text_bytes(data, path))
        if named is not None:
            url = _address(named["id"])
            read = replace(read, title=read.title or line(named["title"]) or None, url=read.url or url)
        yield ImportedDocument(read, "youtube")


def _playlist(text: str, path: str) -> Iterator[ImportedDocument | None]:
    rows = csv.reader(io.StringIO(text, newline=""))
    stem = posixpath.splitext(posixpath.basename(path))[0]
    tags = distinct((line(_PLAYLIST_NAME.sub("", stem) or "Watch later"),))
    is_listing = False
    try:
        for row in rows:
            first = row[0].strip() if row else ""
            if _VIDEO_ID.fullmatch(first) and is_listing:
                yield _video(first, "", "", saved=row[1] if len(row) > 1 else None, tags=tags)
            elif is_listing and first:
                yield None
            is_listing = is_listing or re.fullmatch(r"\ufeff?Video[ -]?ID", first, re.IGNORECASE) is not None
    except csv.Error:
        yield None


def _history(text: str) -> Iterator[ImportedDocument | None]:
    seen: set[str] = set()
    for entry in map(fields_of, json_entries(text)):
        if any(line(fields_of(detail).get("name")) == "From Google Ads" for detail in list_of(entry.get("details"))):
            continue
        watched = _WATCHED.match(address(entry.get("titleUrl")) or "")
        if watched is None:
            yield None
        elif watched[1] not in seen:
            seen.add(watched[1])
            yield _watched(watched[1], entry)


def _watched(identifier: str, entry: Mapping[str, object]) -> ImportedDocument:
    title = line(entry.get("title")).removeprefix("Watched ")
    channel = next((line(fields_of(item).get("name")) for item in list_of(entry.get("subtitles"))), "")
    # A video that has no title any more is listed by its address.
    return _video(identifier, "" if address(title) else title, channel, saved=entry.get("time"), tags=())


def _video(identifier: str, title: str, channel: str, *, saved: object, tags: tuple[str, ...]) -> ImportedDocument:
    shown = title or f"YouTube video {identifier}"
    about = f"Channel: {channel}\n{_address(identifier)}" if channel else _address(identifier)
    composed = compose([TextBlock(shown), TextBlock(about)])
    read = ReadDocument(
        text=composed.text,
        title=shown,
        sections=composed.sections,
        links=composed.links,
        tags=tags,
        author=channel or None,
        url=_address(identifier),
    )
    return ImportedDocument(read, "youtube", part=identifier, kind="item", saved=moment(saved))


def _address(identifier: str) -> str:
    return f"https://www.youtube.com/watch?v={identifier}"
