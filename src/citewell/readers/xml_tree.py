"""Untrusted XML becomes a tree. No document type with declarations of its own, no entities, no network.

libxml2's own limits stay on (256 nested elements, 10 MB in one text); what breaks them is Unreadable.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from citewell.domain.errors import Unreadable
from citewell.readers.decode import decode

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
