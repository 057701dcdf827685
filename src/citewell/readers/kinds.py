"""Which reader a file gets, by its name and its first bytes, and the one call that reads it.

The name decides, because it is what the user sees; bytes that contradict it are refused, not reinterpreted.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Literal, assert_never

from citewell.errors import Unreadable
from citewell.readers.decode import decode, wide_encoding
from citewell.readers.image import INSTALL, has_ocr, read_image
from citewell.readers.markup import url_links
from citewell.readers.subtitles import is_transcript, read_subtitles, read_transcript
from citewell.readers.written_sections import without_written
from citewell.text.documents import Kind, ReadDocument, Section, SourceType

# Bytes that are no text, whatever their file name says.


_SAMPLE_BYTES = 64 * 1024
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_MAGIC = re.compile(
    rb"(?P<PDF>%PDF-\d)|(?P<zip>PK(?:\x03\x04|\x05\x06))|(?P<PNG>\x89PNG)|(?P<JPEG>\xff\xd8\xff)|(?P<GIF>GIF8[79]a)"
    rb"|(?P<ELF>\x7fELF)|(?P<gzip>\x1f\x8b)|(?P<SQLite>SQLite format 3\x00)|(?P<RIFF>RIFF.{4}(?:WAVE|WEBP|AVI ))"
    rb"|(?P<Ogg>OggS\x00)|(?P<MP3>ID3[\x00-\x1f])|(?P<plist>bplist00)|(?P<xz>\xfd7zXZ)|(?P<Office>\xd0\xcf\x11\xe0)"
    rb"|(?P<RAR>Rar!\x1a)|(?P<sevenzip>7z\xbc\xaf)|(?P<zstd>\x28\xb5\x2f\xfd)|(?P<bzip2>BZh\d1AY)",
    re.DOTALL,
)
_CONTROLS = bytes(set(range(32)) - {0x09, 0x0A, 0x0C, 0x0D, 0x1B}) + b"\x7f"
# A stray control character is a blemish of a text; more than these are no text.
_CONTROL_SHARE = 0.1


def binary_kind(data: bytes) -> str | None:
    """What these bytes are instead of text, such as "PNG"; None for text in any encoding."""
    magic = _MAGIC.match(data)
    if magic is not None:
        return magic.lastgroup
    if data.startswith(_MARKS):
        return None
    sample = data[:_SAMPLE_BYTES]
    if (wide := wide_encoding(data)) is not None:
        # Only a guess so far: text in that encoding has letters in it, not control characters.
        sample = sample.decode(wide, "replace").encode("utf-8", "replace")
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    has_zeros_beyond_utf8 = b"\x00" in sample and not _is_utf8(sample)
    return "binary" if has_zeros_beyond_utf8 or controls > _CONTROL_SHARE * len(sample) else None


def _is_utf8(sample: bytes) -> bool:
    """Whether the sample is UTF-8, but for a last character that the cut may have split."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return True


Reader = Literal["markdown", "plain", "html", "pdf", "transcript", "subtitles", "office", "epub", "table", "image"]
HEAD_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a file is, and who reads it."""

    source_type: SourceType
    reader: Reader
    kind: Kind | None = None  # where it is not the one its source type says


@dataclass(frozen=True, slots=True)
class Skip:
    """Why a file is left alone."""

    reason: str


_MARKDOWN = FileKind("vault_note", "markdown")
_PLAIN = FileKind("text", "plain")
_HTML = FileKind("web", "html")
_PDF = FileKind("pdf", "pdf")
_TRANSCRIPT = FileKind("transcript", "transcript")
_SUBTITLES = FileKind("transcript", "subtitles")
_OFFICE = FileKind("office", "office")
_EPUB = FileKind("text", "epub", "source")
_TABLE = FileKind("text", "table")
_IMAGE = FileKind("image", "image")

KINDS: dict[str, FileKind] = {
    **dict.fromkeys((".md", ".markdown", ".mdown", ".mkd", ".mdx"), _MARKDOWN),
    **dict.fromkeys((".txt", ".text", ".log", ".rst", ".org", ".adoc"), _PLAIN),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _HTML),
    ".pdf": _PDF,
    **dict.fromkeys((".vtt", ".srt"), _SUBTITLES),
    **dict.fromkeys((".docx", ".docm", ".pptx", ".pptm", ".ppsx", ".xlsx", ".xlsm"), _OFFICE),
    ".epub": _EPUB,
    **dict.fromkeys((".csv", ".tsv"), _TABLE),
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".gif", ".webp", ".tif", ".tiff", ".bmp"), _IMAGE),
}
# Kinds of which only some files are imported: exports that an importer knows by what is in them.
_ONLY_EXPORTS: dict[str, tuple[str, ...]] = {
    "JSON": (".json", ".jsonl", ".ndjson"),
    "feed lists": (".opml",),
    "XML": (".xml", ".rss", ".atom"),
}
_NOT_YET: dict[str, tuple[str, ...]] = {
    "subtitles": (".ass", ".ssa", ".sub", ".ttml"),
    "Office documents": (".doc", ".ppt", ".xls", ".xlsb", ".odt", ".odp", ".ods", ".rtf"),
    "e-books": (".mobi", ".azw3"),
    "Obsidian canvases": (".canvas", ".base"),
    "web archives": (".mhtml", ".mht", ".webarchive", ".warc"),
    "mail": (".eml", ".mbox"),
    "images": (".heic", ".svg", ".avif", ".ico"),
    "audio": (".mp3", ".m4a", ".wav", ".flac", ".ogg", ".opus", ".aac"),
    "video": (".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v"),
    "archives": (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar", ".zst"),
}
_EXPORT_BY_SUFFIX = {suffix: kind for kind, suffixes in _ONLY_EXPORTS.items() for suffix in suffixes}
_NOT_YET_BY_SUFFIX = {suffix: kind for kind, suffixes in _NOT_YET.items() for suffix in suffixes}
_TALKATIVE = (".txt", ".text")
_BOOKMARKS = re.compile(rb"(?:\xef\xbb\xbf)?\s*<!DOCTYPE NETSCAPE-Bookmark-file-1", re.IGNORECASE)


def detect(name: str, head: bytes) -> FileKind | Skip:
    """What to do with a file of this name that begins with these bytes (HEAD_BYTES are enough)."""
    suffix = suffix_of(name)
    kind = KINDS.get(suffix)
    if kind is None:
        return Skip(_why_skipped(suffix))
    if kind is _HTML and _BOOKMARKS.match(head):
        return Skip("browser bookmarks: this kind is not imported yet")
    if kind is _IMAGE and not has_ocr():
        return Skip(f"images ({suffix}): reading them needs OCR ({INSTALL})")
    if suffix in _TALKATIVE and is_transcript(decode(head[:HEAD_BYTES]).text):
        return _TRANSCRIPT
    return kind


def suffix_of(name: str) -> str:
    """The extension of a path in lower case, with its dot; empty when it has none."""
    base = name.replace("\\", "/").rstrip("/").rpartition("/")[2]
    dot = base.rfind(".")
    return base[dot:].lower() if 0 < dot < len(base) - 1 else ""


def read_file(data: bytes, name: str) -> ReadDocument:
    """The document in this file; raises Unreadable with the reason when there is none."""
    kind = detect(name, data[:HEAD_BYTES])
    if isinstance(kind, Skip):
        raise Unreadable(kind.reason)
    return _read(data, name, kind.reader)


def _read(data: bytes, name: str, reader: Reader) -> ReadDocument:
    match reader:
        case "markdown":
            from citewell.readers.markdown import read_markdown

            return read_markdown(text_bytes(data, name))
        case "plain":
            return read_plain(text_bytes(data, name))
        case "html":
            from citewell.readers.html import read_html

            return read_html(text_bytes(data, name))
        case "pdf":
            from citewell.readers.pdf import read_pdf

            return read_pdf(data)
        case "transcript":
            return read_transcript(text_bytes(data, name))
        case "subtitles":
            return read_subtitles(text_bytes(data, name))
        case "office":
            from citewell.readers.office import read_office

            return read_office(data)
        case "epub":
            from citewell.readers.office import read_epub

            return read_epub(data)
        case "table":
            from citewell.readers.tables import read_table

            return read_table(text_bytes(data, name))
        case "image":
            return read_image(data)
        case _:
            assert_never(reader)


def text_bytes(data: bytes, name: str) -> bytes:
    """The same bytes, once they are known to be text."""
    kind = binary_kind(data)
    if kind is None:
        return data
    what = "binary data" if kind == "binary" else f"binary data ({kind})"
    raise Unreadable(f"{what} in a {suffix_of(name)} file", fix="Rename the file to what it is, or leave it out.")


def _why_skipped(suffix: str) -> str:
    if not suffix:
        return "unknown kind of file (no extension)"
    if suffix in _EXPORT_BY_SUFFIX:
        return f"{_EXPORT_BY_SUFFIX[suffix]} ({suffix}): not an export that Citewell knows"
    kind = _NOT_YET_BY_SUFFIX.get(suffix)
    return f"unknown kind of file ({suffix})" if kind is None else f"{kind} ({suffix}): this kind is not imported yet"


# Plain text files: one section; a form feed starts no page, because few of them mean one.


def read_plain(data: bytes) -> ReadDocument:
    """The text in these bytes, in whatever encoding, with the URLs it mentions."""
    decoded = decode(data)
    text = without_written(decoded.text)
    sections = (Section(role="user_note", start=0, end=len(text)),) if text.strip() else ()
    return ReadDocument(text=text, title=None, sections=sections, links=url_links(text), warnings=decoded.warnings)
