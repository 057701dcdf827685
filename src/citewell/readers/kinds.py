"""Which reader a file gets, by its name and its first bytes, and the one call that reads it.

The name decides, because it is what the user sees; bytes that contradict it are refused, not reinterpreted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, assert_never

from citewell.domain.documents import ReadDocument, SourceType
from citewell.domain.errors import Unreadable
from citewell.readers.binary import binary_kind

Reader = Literal["markdown", "plain", "html", "pdf"]


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a file is, and who reads it."""

    source_type: SourceType
    reader: Reader


@dataclass(frozen=True, slots=True)
class Skip:
    """Why a file is left alone."""

    reason: str


_MARKDOWN = FileKind("vault_note", "markdown")
_PLAIN = FileKind("text", "plain")
_HTML = FileKind("web", "html")
_PDF = FileKind("pdf", "pdf")

KINDS: dict[str, FileKind] = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mdx"), _MARKDOWN),
    **dict.fromkeys((".txt", ".text", ".log", ".rst", ".org", ".adoc"), _PLAIN),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _HTML),
    ".pdf": _PDF,
}
_NOT_YET: dict[str, tuple[str, ...]] = {
    "subtitles": (".vtt", ".srt"),
    "Office documents": (".docx", ".pptx", ".xlsx", ".doc", ".ppt", ".xls", ".odt", ".odp", ".ods", ".rtf"),
    "e-books": (".epub", ".mobi", ".azw3"),
    "JSON": (".json", ".jsonl", ".ndjson"),
    "feed lists": (".opml",),
    "XML": (".xml", ".rss", ".atom"),
    "tables": (".csv", ".tsv"),
    "Obsidian canvases": (".canvas", ".base"),
    "web archives": (".mhtml", ".mht", ".webarchive", ".warc"),
    "mail": (".eml", ".mbox"),
    "images": (".png", ".jpg", ".jpeg", ".gif", ".webp", ".heic", ".tif", ".tiff", ".bmp", ".svg", ".avif", ".ico"),
    "audio": (".mp3", ".m4a", ".wav", ".flac", ".ogg", ".opus", ".aac"),
    "video": (".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v"),
    "archives": (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".zst"),
}
_NOT_YET_BY_SUFFIX = {suffix: kind for kind, suffixes in _NOT_YET.items() for suffix in suffixes}
_BOOKMARKS = re.compile(rb"(?:\xef\xbb\xbf)?\s*<!DOCTYPE NETSCAPE-Bookmark-file-1", re.IGNORECASE)


def detect(name: str, head: bytes) -> FileKind | Skip:
    """What to do with a file of this name that begins with these bytes (the first 512 are enough)."""
    suffix = suffix_of(name)
    kind = KINDS.get(suffix)
    if kind is None:
        return Skip(_why_skipped(suffix))
    if kind is _HTML and _BOOKMARKS.match(head):
        return Skip("browser bookmarks: this kind is not imported yet")
    return kind


def suffix_of(name: str) -> str:
    """The extension of a path in lower case, with its dot; empty when it has none."""
    return PurePosixPath(name.replace("\\", "/")).suffix.lower()


def read_file(data: bytes, name: str) -> ReadDocument:
    """The document in this file; raises Unreadable with the reason when there is none."""
    kind = detect(name, data[:512])
    if isinstance(kind, Skip):
        raise Unreadable(kind.reason)
    return _read(data, name, kind.reader)


def _read(data: bytes, name: str, reader: Reader) -> ReadDocument:
    match reader:
        case "markdown":
            from citewell.readers.markdown import read_markdown

            return read_markdown(_text_bytes(data, name))
        case "plain":
            from citewell.readers.plain import read_plain

            return read_plain(_text_bytes(data, name))
        case "html":
            from citewell.readers.html import read_html

            return read_html(_text_bytes(data, name))
        case "pdf":
            from citewell.readers.pdf import read_pdf

            return read_pdf(data)
        case _:
            assert_never(reader)


def _text_bytes(data: bytes, name: str) -> bytes:
    """The same bytes, once they are known to be text."""
    kind = binary_kind(data)
    if kind is None:
        return data
    what = "binary data" if kind == "binary" else f"binary data ({kind})"
    raise Unreadable(f"{what} in a {suffix_of(name)} file", fix="Rename the file to what it is, or leave it out.")


def _why_skipped(suffix: str) -> str:
    if not suffix:
        return "unknown kind of file (no extension)"
    kind = _NOT_YET_BY_SUFFIX.get(suffix)
    return f"unknown kind of file ({suffix})" if kind is None else f"{kind} ({suffix}): this kind is not imported yet"
