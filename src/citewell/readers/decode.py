"""Bytes become canonical text, in the encoding they say or seem to have; a guess comes with a warning.

Never fails: what no encoding explains is read as Latin-1. Whether bytes are text at all is `kinds.py`'s question.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from citewell.text.canonical import canonicalize

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE_BYTES = 16 * 1024

# What a page may declare (WHATWG labels, and what browsers read them as). A closed list: Python's own codecs
# include some, like unicode_escape and utf-7, that turn harmless bytes into something else.
_DECLARABLE = {
    "utf-8": "utf-8",
    "utf8": "utf-8",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "iso-8859-1": "cp1252",
    "latin1": "cp1252",
    "iso-8859-2": "iso8859-2",
    "iso-8859-5": "iso8859-5",
    "iso-8859-7": "iso8859-7",
    "iso-8859-9": "cp1254",
    "iso-8859-15": "iso8859-15",
    **{f"windows-125{n}": f"cp125{n}" for n in range(9)},
    "windows-874": "cp874",
    "tis-620": "cp874",
    "koi8-r": "koi8-r",
    "koi8-u": "koi8-u",
    "ibm866": "cp866",
    "macintosh": "mac-roman",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "gb18030": "gb18030",
    "big5": "big5hkscs",
    "big5-hkscs": "big5hkscs",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "windows-31j": "cp932",
    "euc-jp": "euc-jp",
    "iso-2022-jp": "iso2022-jp",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
}
_GUESSABLE = [
    *("cp1250", "cp1251", "cp1252", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
# Below this share of bytes beyond ASCII the text is in a Latin script, where guessing between code pages does worse
# than cp1252 (measured: charset_normalizer reads French as cp1250).
_LATIN_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class DecodedText:
    """Canonical text, the encoding it was read in and what should be said about that."""

    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def decode(data: bytes, *, declared: str | None = None) -> DecodedText:
    """The text of these bytes: by their mark, as UTF-8, as declared, or by a guess."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _damaged(data[len(mark) :], encoding)
    return (
        _strict(data, wide_encoding(data))
        or _strict(data, "utf-8")
        or _with_surrogates(data)
        or _strict(data, _DECLARABLE.get((declared or "").strip().lower()))
        or _mostly_utf8(data)
        or _guessed(data)
    )


def wide_encoding(data: bytes) -> str | None:
    """UTF-16 without a mark, told by its zero bytes: in Latin text every second byte is one."""
    sample = data[:_SAMPLE_BYTES]
    half = len(sample) // 2
    if half < 2 or len(data) % 2:
        return None
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if odd > 0.4 * half and even < 0.02 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * half and odd < 0.02 * half else None


def _strict(data: bytes, encoding: str | None) -> DecodedText | None:
    if encoding is None:
        return None
    try:
        return DecodedText(canonicalize(data.decode(encoding)), encoding)
    except UnicodeDecodeError:
        return None


def _with_surrogates(data: bytes) -> DecodedText | None:
    """UTF-8 but for halves of surrogate pairs, which programs on Windows and the JVM let slip into files."""
    try:
        text = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None
    lost = sum("\ud800" <= char <= "\udfff" for char in text)
    return DecodedText(canonicalize(text), "utf-8", (f"damaged UTF-8: unreadable places: {lost}",))


def _damaged(data: bytes, encoding: str) -> DecodedText:
    text = data.decode(encoding, "replace")
    lost = text.count("�") - _written_replacements(data, encoding)
    warnings = (f"damaged {encoding.upper()}: unreadable places: {lost}",) if lost else ()
    return DecodedText(canonicalize(text), encoding, warnings)


def _written_replacements(data: bytes, encoding: str) -> int:
    """How often the file itself holds U+FFFD."""
    return data.count("�".encode(encoding))


def _mostly_utf8(data: bytes) -> DecodedText | None:
    """UTF-8 with a few broken places, as a cut-off file has: far more characters beyond ASCII fit than do not."""
    text = data.decode("utf-8", "replace")
    broken = text.count("�")
    fitting = sum(not char.isascii() for char in text[: 4 * _SAMPLE_BYTES]) - broken
    return _damaged(data, "utf-8") if fitting > 4 * broken else None


def _guessed(data: bytes) -> DecodedText:
    for encoding in (_guess(data), "cp1252", "latin-1"):
        decoded = _strict(data, encoding)
        if decoded is not None:
            return DecodedText(decoded.text, decoded.encoding, (f"not UTF-8: read as {decoded.encoding}",))
    raise AssertionError("Latin-1 reads every byte")


def _guess(data: bytes) -> str | None:
    sample = data[:_SAMPLE_BYTES]
    if sum(byte > 127 for byte in sample) < _LATIN_SHARE * len(sample):
        return None
    from charset_normalizer import from_bytes

    # A sample that ends inside a character fits no encoding, so it ends with a line where there is one.
    whole_lines = sample[: sample.rfind(b"\n") + 1] if len(data) > len(sample) else sample
    best = from_bytes(whole_lines or sample, cp_isolation=_GUESSABLE).best()
    return None if best is None else best.encoding
