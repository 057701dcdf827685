"""PDFs: pages keep their numbers, broken and locked ones say what is wrong."""

from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from citewell.errors import Unreadable
from citewell.readers.pdf import MAX_PAGES, PrintedLine, page_texts, pdf_title, read_pdf
from citewell.text.documents import Link, ReadDocument, Section
from readers.pdf_bytes import assemble, pdf_bytes, stream

LOCK = (
    b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)"
    b" /U (bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb) >> /ID [(a) (a)]"
)


def test_a_pdf_is_read_page_by_page() -> None:
    info = {
        "Title": "Café study",
        "Author": "Ann Lee",
        "Subject": "Tides",
        "CreationDate": "D:20240131120000+01'00'",
        "ModDate": "D:20240201",
    }
    data = pdf_bytes([["First line.", "Second line."], [], ["See https://x.org/a."]], info=info)
    text = "First line.\nSecond line.\n\nSee https://x.org/a."
    assert read_pdf(data) == ReadDocument(
        text=text,
        title="Café study",
        sections=(Section("raw_source", 0, 24, page=1), Section("raw_source", 26, len(text), page=3)),
        links=(Link("url", "https://x.org/a", 30, 45),),
        author="Ann Lee",
        created="2024-01-31T12:00:00+01:00",
        modified="2024-02-01",
        meta_text="Café study\nTides",
        warnings=("pages without a text layer: 1",),
    )


def test_a_word_cut_at_a_line_end_is_whole_again() -> None:
    text = read_pdf(pdf_bytes([["An exam-", "ple of Anglo-", "Saxon text - and", "more."]])).text
    assert text == "An example of Anglo-Saxon text - and more."


def test_the_words_of_the_document_tell_whether_a_hyphen_at_a_line_end_stays() -> None:
    lines = [
        "All information is well documented and known to the whole of the crew on board the ship,",
        "so that any new informa-",
        "tion about the well-",
        "known reef, a co-op-",
        "erative venture with no hydro-",
        "phones at all, comes with its PKI-",
        "based seal.",
    ]
    text = read_pdf(pdf_bytes([lines])).text
    for word in ("new information about", "the well-known reef", "hydrophones", "PKI-based"):
        assert word in text


def test_wrapped_lines_are_one_paragraph_and_the_rest_stay_lines() -> None:
    lines = [
        "The tide gauge at the north quay was replaced in spring after",
        "ice had bent its mast, and nobody noticed the difference in its",
        "readings until June.",
        "• Check the mast every week",
        "• Oil the float",
        "1994 12.5 13.1",
        "1995 12.7 13.4",
    ]
    text = read_pdf(pdf_bytes([lines])).text
    assert "spring after ice had bent its mast, and nobody noticed the difference in its readings until June." in text
    assert "\n• Check the mast every week\n• Oil the float\n" in text
    assert text.endswith("1994 12.5 13.1\n1995 12.7 13.4")


def test_lines_of_code_stay_lines() -> None:
    code = [
        PrintedLine("for (k = 0; k <= z; k++) {", 72, 300, 700, 10, True),
        PrintedLine("  sum -= k;", 72, 150, 688, 10, True),
    ]
    assert page_texts([code]) == ["for (k = 0; k <= z; k++) {\n  sum -= k;"]


@pytest.mark.parametrize(
    "stated",
    [
        "",
        "t.dvi",
        "Microsoft Word - Report_final.doc",
        "untitled",
        "Untitled document",
        "fips201ep-rpl",
        "scan_0042.pdf",
    ],
)
def test_a_title_that_a_program_left_gives_way_to_the_largest_lines_of_the_first_page(stated: str) -> None:
    body = "Wrack is gathered in spring, when the tide is low and the days are dry enough. " * 2
    page = [
        PrintedLine("Spring 2023", 72, 140, 760, 10),
        PrintedLine("Drying Kelp on", 72, 300, 720, 22),
        PrintedLine("Northern Shores", 72, 310, 694, 22),
        *(PrintedLine(body, 72, 520, 660 - 12 * number, 10) for number in range(5)),
    ]
    assert pdf_title(stated, page) == "Drying Kelp on Northern Shores"


def test_a_title_in_the_metadata_that_is_one_stays() -> None:
    assert pdf_title("Node.js in Practice", [PrintedLine("Other", 72, 300, 720, 22)]) == "Node.js in Practice"


def test_a_page_in_one_size_gives_its_first_sensible_line() -> None:
    lines = ["Page 1", "To: All hands", "Subject: New mast for the gauge", "It was bent."]
    assert read_pdf(pdf_bytes([lines], info={"Title": "memo.docx"})).title == "New mast for the gauge"


def test_a_pdf_without_any_title_has_none() -> None:
    assert read_pdf(pdf_bytes([["and it was so, as they said."]], info={"Title": "x.dvi"})).title is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not a readable PDF"),
        (b"hello", "not a readable PDF"),
        (b"%PDF-1.7\n", "not a readable PDF"),
        (pdf_bytes([["x"]])[:300], "not a readable PDF"),
        (pdf_bytes([["x"]], extra_trailer=LOCK), "the PDF is encrypted; save an unlocked copy"),
        (pdf_bytes([]), "not a readable PDF"),
        (pdf_bytes([[], []]), "the PDF has no text layer"),
    ],
)
def test_a_pdf_that_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_pdf(data)


@pytest.mark.attack("B4")
def test_a_page_tree_that_runs_in_circles_is_refused() -> None:
    tree = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R 2 0 R] /Count 100000 >>"]
    with pytest.raises(Unreadable, match="none of its pages"):
        read_pdf(assemble(tree, b"/Root 1 0 R"))


def test_pages_beyond_the_limit_are_left_out_with_a_warning() -> None:
    kids = b" ".join([b"4 0 R"] * (MAX_PAGES + 1))
    content = zlib.compress(b"BT /F1 12 Tf 72 720 Td (x) Tj ET")
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, MAX_PAGES + 1),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R"
        b" /Resources << /Font << /F1 3 0 R >> >> >>",
        stream(content, b"/Filter /FlateDecode"),
    ]
    document = read_pdf(assemble(objects, b"/Root 1 0 R"))
    assert document.warnings[0] == f"only the first {MAX_PAGES} of {MAX_PAGES + 1} pages were read"
    assert document.sections[-1].page == MAX_PAGES


def test_threads_may_read_pdfs_at_the_same_time() -> None:
    data = pdf_bytes([["Page one."], ["Page two."]])
    with ThreadPoolExecutor(8) as pool:
        texts = set(pool.map(lambda _: read_pdf(data).text, range(64)))
    assert texts == {"Page one.\n\nPage two."}
