"""Small valid PDFs, written object by object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

CMAP_HEAD = (
    b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def\n"
    b"1 begincodespacerange <00> <FF> endcodespacerange\n"
)
CMAP_TAIL = b"endcmap CMapName currentdict /CMap defineresource pop end end"


def pdf_bytes(
    pages: Sequence[Sequence[str]], *, info: Mapping[str, str] | None = None, extra_trailer: bytes = b""
) -> bytes:
    """A PDF with these lines of Latin-1 text on each page."""
    page_ids = [4 + 2 * number for number in range(len(pages))]
    kids = b" ".join(b"%d 0 R" % page_id for page_id in page_ids)
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for page_id, lines in zip(page_ids, pages, strict=True):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (page_id + 1)
        )
        objects.append(stream(content(lines)))
    objects.append(b"<< " + b" ".join(b"/%s %s" % (k.encode(), literal(v)) for k, v in (info or {}).items()) + b" >>")
    return assemble(objects, b"/Root 1 0 R /Info %d 0 R %s" % (len(objects), extra_trailer))


def content(lines: Sequence[str]) -> bytes:
    shown = b" T* ".join(b"%s Tj" % literal(line) for line in lines)
    return b"BT /F1 12 Tf 14 TL 72 720 Td %s ET" % shown


def literal(text: str) -> bytes:
    escaped = text.encode("cp1252").replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(b")", rb"\)")
    return b"(" + escaped + b")"


def stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<< /Length %d %s >>\nstream\n%s\nendstream" % (len(data), entries, data)


def assemble(objects: Sequence[bytes], trailer: bytes) -> bytes:
    """The objects, numbered from 1, with their cross-reference table."""
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, trailer, table)
    return bytes(out)
