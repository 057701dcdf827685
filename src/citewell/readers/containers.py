"""Members of an untrusted zip container (Office, EPUB), read in memory and never written anywhere.

Sizes are counted while unpacking, because what the directory claims proves nothing. Links, absolute names and names
that climb out are as if they were not there.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from typing import Any

from citewell.errors import Unreadable
from citewell.readers.decode import decode

MAX_MEMBERS = 50_000
MAX_MEMBER_BYTES = 64 * 1024 * 1024
MAX_TOTAL_BYTES = 256 * 1024 * 1024
# XML of spreadsheets shrinks to a fiftieth; a bomb to a thousandth.
MAX_RATIO = 250
_ALWAYS_FINE = 1024 * 1024

_DIRECTORY_ENTRY = b"PK\x01\x02"
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_IS_ENCRYPTED = 0x1
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    LZMAError,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)


class Archive:
    """The readable members of a zip file, by name."""

    def __init__(self, data: bytes, what: str) -> None:
        if data.startswith(_OLD_OFFICE):
            raise Unreadable(f"{what} is encrypted or in an old format", fix="Save an unlocked copy in today's format.")
        if data.count(_DIRECTORY_ENTRY) > MAX_MEMBERS:
            raise Unreadable(f"{what} has more than {MAX_MEMBERS} members")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _BROKEN as error:
            raise Unreadable(f"{what} is broken or cut off") from error
        self._what = what
        self._unpacked = 0
        self._members = {info.filename: info for info in self._zip.infolist() if _is_inside(info)}

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """A member's bytes; raises Unreadable when it is missing, locked, broken or too large."""
        info = self._members.get(name)
        if info is None:
            raise Unreadable(f"{self._what} is incomplete: {name[:100]} is missing")
        if info.flag_bits & _IS_ENCRYPTED:
            raise Unreadable(f"{self._what} is encrypted", fix="Save an unlocked copy.")
        limit = self._limit(info)
        try:
            with self._zip.open(info) as member:
                data = member.read(limit + 1)
        except _BROKEN as error:
            raise Unreadable(f"{self._what} is broken: {name[:100]} cannot be unpacked") from error
        self._unpacked += len(data)
        if len(data) > limit:
            raise Unreadable(f"{self._what} unpacks to more than is sensible: {name[:100]}")
        return data

    def find(self, name: str) -> bytes | None:
        """A member's bytes, or None when there is no such member."""
        return self.read(name) if name in self._members else None

    def _limit(self, info: zipfile.ZipInfo) -> int:
        by_ratio = max(_ALWAYS_FINE, MAX_RATIO * info.compress_size)
        return max(0, min(MAX_MEMBER_BYTES, by_ratio, MAX_TOTAL_BYTES - self._unpacked))


def _is_inside(info: zipfile.ZipInfo) -> bool:
    name = info.filename
    climbs = ".." in name.replace("\\", "/").split("/")
    return not (climbs or name.startswith(("/", "\\")) or info.is_dir() or stat.S_ISLNK(info.external_attr >> 16))


# Untrusted XML becomes a tree. No document type with declarations of its own, no entities, no network.
#
# libxml2's own limits stay on (256 nested elements, 10 MB in one text); what breaks them is Unreadable.


MAX_ELEMENTS = 2_000_000

_ENCODING = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w-]+)", re.IGNORECASE)
_PROLOG = re.compile(r"(?:\s++|<\?.*?\?>|<!--.*?-->)*+", re.DOTALL)
_PLAIN_DOCTYPE = re.compile(r"<!DOCTYPE\s[^\[>]*+>")
# What XML may not hold; writers that forget this are common, and the parser would refuse the whole file.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_OPTIONS: dict[str, Any] = {
    "encoding": "utf-8",
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "dtd_validation": False,
    "attribute_defaults": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}


def xml_tree(data: bytes, what: str, *, is_lenient: bool = False) -> Any:
    """The root element; a lenient reading takes what there is of a damaged file."""
    from lxml import etree

    markup = _checked(data, what)
    if markup.count(b"<") > 2 * MAX_ELEMENTS:
        raise Unreadable(f"{what} has more than {MAX_ELEMENTS} elements")
    try:
        root = etree.fromstring(markup, etree.XMLParser(**_OPTIONS, collect_ids=False, recover=is_lenient))
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"{what} is not well-formed XML") from error
    if root is None:
        raise Unreadable(f"{what} is not well-formed XML")
    return root


def xml_elements(data: bytes, tag: str, what: str) -> Iterator[Any]:
    """Each element of this name in turn; it is emptied when the next is asked for, so memory stays small."""
    from lxml import etree

    source = io.BytesIO(_checked(data, what))
    try:
        for _, element in etree.iterparse(source, events=("end",), tag=tag, **_OPTIONS):
            yield element
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
    except etree.XMLSyntaxError as error:
        raise Unreadable(f"{what} is not well-formed XML") from error


def local_name(element: Any) -> str:
    """The name of an element without its namespace; empty for what is no element."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _checked(data: bytes, what: str) -> bytes:
    """The same document in UTF-8, once its prolog is known to declare nothing."""
    declared = _ENCODING.match(data[:400])
    text = decode(data, declared=None if declared is None else declared[1].decode("ascii")).text
    text = _NOT_XML.sub("", text)
    prolog = _PROLOG.match(text)
    start = 0 if prolog is None else prolog.end()
    if text.startswith("<!DOCTYPE", start):
        plain = _PLAIN_DOCTYPE.match(text, start)
        if plain is None:
            raise Unreadable(f"{what} declares entities of its own: not read")
        # Cut out, because the parser goes and looks for the file it names, whatever the options say.
        start = plain.end()
    return text[start:].encode("utf-8")
