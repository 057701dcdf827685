"""Plain text files: one section; a form feed starts no page, because few of them mean one."""

from __future__ import annotations

from citewell.domain.documents import ReadDocument, Section
from citewell.readers.decode import decode
from citewell.readers.references import url_links
from citewell.readers.written_sections import without_written


def read_plain(data: bytes) -> ReadDocument:
    """The text in these bytes, in whatever encoding, with the URLs it mentions."""
    decoded = decode(data)
    text = without_written(decoded.text)
    sections = (Section(role="user_note", start=0, end=len(text)),) if text.strip() else ()
    return ReadDocument(text=text, title=None, sections=sections, links=url_links(text), warnings=decoded.warnings)
