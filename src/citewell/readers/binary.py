"""Bytes that are no text, whatever their file name says."""

from __future__ import annotations

import codecs
import re

from citewell.readers.decode import wide_encoding

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
