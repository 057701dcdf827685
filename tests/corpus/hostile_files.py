"""Files built to hang, swallow memory, lead elsewhere or confuse: what `add` must survive (attacks.md B4 to B9)."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from io import BytesIO

from readers.pdf_bytes import assemble, pdf_bytes, stream
from readers.test_epub import PAGE, book
from readers.zip_bytes import W, paragraph, word_bytes, zip_bytes

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
BILLION = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY l0 "lol">{LAUGHS}]>'
OUTSIDE = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
REPEATED = (
    "a",
    "[",
    "#",
    "(",
    "*",
    "|",
    ">",
    "- ",
    "`",
    "<",
    "![[",
    "\\",
    "&",
    "_",
    "$",
    "%%",
    "---\n",
    "\n",
    "|-",
    "!",
)


def hostile_files() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Each with its name, made when it is needed: some are large."""
    yield from _pdfs()
    yield from _pages()
    yield from _entities()
    yield from _archives()
    yield from _encodings()


def _pdfs() -> Iterator[tuple[str, Callable[[], bytes]]]:
    yield "pdf/double-flate.pdf", double_flate
    yield "pdf/nested-forms.pdf", nested_forms
    yield "pdf/kids-cycle.pdf", kids_cycle
    yield "pdf/100k-pages.pdf", many_pages
    yield "pdf/encrypted.pdf", lambda: pdf_bytes([["Secret words."]], extra_trailer=b"/Encrypt << /Filter /Standard >>")
    yield "pdf/truncated.pdf", lambda: pdf_bytes([["Some words on a page."]] * 40)[:3_000]


def double_flate() -> bytes:
    """A page whose content unpacks twice, to 512 MB of nothing."""
    packer = zlib.compressobj(9)
    once = b"".join(packer.compress(b" " * 1_000_000) for _ in range(512)) + packer.flush()
    content = stream(zlib.compress(once, 9), b"/Filter [/FlateDecode /FlateDecode]")
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>"
    catalog, pages = b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>"
    return assemble([catalog, pages, page, content], b"/Root 1 0 R")


def nested_forms() -> bytes:
    """Two kilobytes that draw a million words: each form draws the next one ten times."""
    font = b"/Font << /F1 3 0 R >>"
    forms = [
        stream(
            b" ".join([b"/X Do"] * 10),
            b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X %d 0 R >> >>" % (7 + number),
        )
        for number in range(6)
    ]
    word = stream(
        b"BT /F1 9 Tf 9 9 Td (abc) Tj ET", b"/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << %s >>" % font
    )
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 5 0 R /Resources << /XObject << /X 6 0 R >> >> >>"
    )
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        page,
        stream(b"/X Do"),
        *forms,
        word,
    ]
    return assemble(objects, b"/Root 1 0 R")


def kids_cycle() -> bytes:
    kids = [b"<< /Type /Pages /Parent 3 0 R /Kids [3 0 R] /Count 9 >>", b"<< /Type /Pages /Kids [2 0 R] /Count 9 >>"]
    return assemble([b"<< /Type /Catalog /Pages 2 0 R >>", *kids], b"/Root 1 0 R")


def many_pages() -> bytes:
    """A hundred thousand pages that are one and the same."""
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"
    kids = b"3 0 R " * 100_000
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [%s] /Count 100000 >>" % kids, page]
    return assemble(objects, b"/Root 1 0 R")


def _pages() -> Iterator[tuple[str, Callable[[], bytes]]]:
    yield "html/attributes.html", lambda: b"<p " + b"".join(b"a%d=1 " % n for n in range(300_000)) + b">words</p>"
    yield "html/nesting.html", lambda: b"<html><body>" + b"<div>" * 200_000 + b"deep words"
    yield "html/one-line.html", lambda: b"<html><body><p>" + b"word " * 10_000_000 + b"</p>"
    yield "text/one-line.md", lambda: b"word " * 1_000_000


def _entities() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Billion laughs and external entities in every format that is XML underneath."""
    for name, head, entity in (("laughs", BILLION, "&l11;"), ("outside", OUTSIDE, "&e;")):
        body = f"<w:document {W}><w:body>{paragraph(entity)}</w:body></w:document>"
        chapter = PAGE.format(f"<p>{entity}</p>").split("<html", 1)[1]
        yield from _as_files(
            {
                f"xml/{name}.svg": f'{head}<svg xmlns="http://www.w3.org/2000/svg"><text>{entity}</text></svg>',
                f"xml/{name}.opml": f'{head}<opml><body><outline text="{entity}" xmlUrl="https://x.example"/></body></opml>',
                f"xml/{name}.rss": f"{head}<rss><channel><item><title>{entity}</title></item></channel></rss>",
                f"xml/{name}.xml": f"{head}<feed><entry><title>{entity}</title></entry></feed>",
                f"xml/{name}.docx": word_bytes("", {"word/document.xml": head + body}),
                f"xml/{name}.epub": zip_bytes(book(**{"OEBPS/text/one.xhtml": f"{head}<html{chapter}"})),
                f"xml/{name}.html": f"{head}<html><body><p>{entity}</p></body></html>",
            }
        )


def _archives() -> Iterator[tuple[str, Callable[[], bytes]]]:
    def bomb() -> str:
        return f"<w:document {W}><w:body>" + paragraph("word " * 60_000_000) + "</w:body></w:document>"

    yield "zip/bomb.docx", lambda: word_bytes("", {"word/document.xml": bomb()})
    yield "zip/bomb.epub", lambda: zip_bytes(book(**{"OEBPS/text/one.xhtml": " " * 400_000_000}))
    yield "zip/climbing.epub", lambda: zip_bytes(_climbing())
    yield "zip/linked.docx", _linked


def _climbing() -> dict[str, str | bytes]:
    package = str(book()["OEBPS/book.opf"]).replace("text/one.xhtml", "../../../../etc/passwd")
    return {**book(), "OEBPS/book.opf": package, "../../../../etc/passwd": "climbed"}


def _linked() -> bytes:
    buffer = BytesIO(word_bytes(""))
    with zipfile.ZipFile(buffer, "a") as archive:
        link = zipfile.ZipInfo("word/footnotes.xml")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    return buffer.getvalue()


def _encodings() -> Iterator[tuple[str, Callable[[], bytes]]]:
    words = "Kelp søker lys – 海藻."
    yield from _as_files(
        {
            "enc/utf7.md": words.encode("utf-7"),
            "enc/utf16-bom.md": words.encode("utf-16"),
            "enc/utf16le.md": ("\n" + words * 20).encode("utf-16-le"),
            "enc/utf16be.txt": ("\n" + words * 20).encode("utf-16-be"),
            "enc/nul.md": b"before\0after",
            "enc/surrogates.md": "lone \ud800 half".encode("utf-8", "surrogatepass"),
            "enc/naughty.md": "\n".join(NAUGHTY),
            "enc/late-nul.txt": "words " * 20_000 + "\0" * 50,
        }
    )


def _as_files(files: dict[str, str | bytes]) -> Iterator[tuple[str, Callable[[], bytes]]]:
    for path, content in files.items():
        data = content.encode() if isinstance(content, str) else content
        yield path, lambda data=data: data  # type: ignore[misc]


NAUGHTY = (
    "undefined", "NULL", "-1E+02", "0x0", "NaN", "1/0", "١٢٣", "Ω≈ç√∫˜µ≤≥÷", "田中さんにあげて下さい", "ﺍﻟْﻌَﺮَﺒِﻴَّﺔ",
    "\u202etest\u202c", "\u2066x\u2069", "Z\u0351\u036b\u0343\u0300algo\u0321\u0322", "👩‍👩‍👧‍👦", "🇺🇸🇷🇺",
    "\ufeffbom", "\u200b\u200d",
    "<script>alert(1)</script>", "javascript:alert(1)", "' OR 1=1 --", "\"; DROP TABLE documents; --", "%s%n%d", "{0}",
    "$(touch x)", "`id`", "../../etc/passwd", "file:///etc/passwd", "\x07\x1b[31mred\x1b[0m", "a\u0300" * 200, "\u0f3c",
    "CON", "AUX", "İstanbul ıI", "ß ẞ ﬃ", "\U000e0041\U000e0042 tag", "[[", "]]", "![[", "%%", "---", "```", "|||", "﷽",
)  # fmt: skip
