"""Office documents: headings, tables, slides and sheets keep their place; broken and locked files say what is wrong."""

from __future__ import annotations

import pytest

from citewell.errors import Unreadable
from citewell.readers.kinds import read_file
from citewell.readers.office import MAX_SHEETS, read_office
from citewell.readers.tables import MAX_ROWS
from citewell.text.documents import Link, ReadDocument, Section
from readers.zip_bytes import A, P, W, paragraph, relations, shape, sheets_bytes, slides_bytes, word_bytes, zip_bytes


def test_a_word_document_is_read_under_its_headings() -> None:
    body = (
        paragraph("Tides", "berschrift1")
        + paragraph("The gauge at Kirkhaven.")
        + paragraph("Datum", "berschrift2")
        + '<w:p><w:r><w:t>See </w:t></w:r><w:hyperlink r:id="link"><w:r><w:t>the site</w:t></w:r></w:hyperlink>'
        "<w:r><w:t>.</w:t></w:r></w:p>" + paragraph("Sensors", "berschrift1") + paragraph("Radar.")
    )
    data = word_bytes(body, link="hyperlink https://x.example/a")
    text = "# Tides\n\nThe gauge at Kirkhaven.\n\n## Datum\n\nSee the site.\n\n# Sensors\n\nRadar."
    assert read_file(data, "report.docx") == ReadDocument(
        text=text,
        title="Tide report",
        sections=(
            Section("raw_source", 0, 32, "Tides", ("Tides",)),
            Section("raw_source", 34, 57, "Datum", ("Tides", "Datum")),
            Section("raw_source", 59, len(text), "Sensors", ("Sensors",)),
        ),
        links=(Link("url", "https://x.example/a", 48, 56),),
        author="Ann Lee",
        created="2024-01-31T12:00:00+00:00",
        modified="2024-02-01T08:00:00+00:00",
        meta_text="Tide report\nKirkhaven",
    )


def test_a_word_table_becomes_markdown() -> None:
    cells = [["Site", "Depth"], ["Kirk|haven", "4.2 m"]]
    rows = "".join("<w:tr>" + "".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) + "</w:tr>" for row in cells)
    text = read_office(word_bytes(f"<w:tbl>{rows}</w:tbl>")).text
    assert text == "| Site | Depth |\n| --- | --- |\n| Kirk\\|haven | 4.2 m |"


def test_what_a_reader_of_the_document_does_not_see_is_left_out() -> None:
    body = (
        "<w:p><w:r><w:t>Kept</w:t><w:tab/><w:t>words</w:t></w:r><w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>moved away</w:t></w:r></w:moveFrom><w:ins><w:r><w:t> and new</w:t></w:r></w:ins>"
        "<w:r><w:instrText>PAGE</w:instrText></w:r></w:p>"
    )
    assert read_office(word_bytes(body)).text == "Kept\twords and new"


def test_notes_and_comments_stand_at_the_end_under_their_own_heading() -> None:
    notes = f"<w:footnotes {W}><w:footnote>{paragraph('As measured.')}</w:footnote></w:footnotes>"
    data = word_bytes(paragraph("Body."), {"word/footnotes.xml": notes}, f="footnotes footnotes.xml")
    read = read_office(data)
    assert read.text == "Body.\n\n# Footnotes\n\nAs measured."
    assert read.sections[-1] == Section("raw_source", 7, 32, "Footnotes", ("Footnotes",))


def test_slides_come_in_the_order_of_the_show_with_their_numbers_and_notes() -> None:
    first = shape("Why tides", kind="ctrTitle") + shape("The moon", "The sun") + shape("7", kind="sldNum")
    second = shape("No title here")
    notes = f"<p:notes {P} {A}>{shape('Mention the sun.', kind='body')}</p:notes>"
    more = {
        "ppt/slides/_rels/slide2.xml.rels": relations(n="notesSlide ../notesSlides/notesSlide1.xml"),
        "ppt/notesSlides/notesSlide1.xml": notes,
    }
    text = "## Why tides\n\nThe moon\nThe sun\n\nMention the sun.\n\n## Slide 2\n\nNo title here"
    assert read_office(slides_bytes([first, second], more)) == ReadDocument(
        text=text,
        title=None,
        sections=(
            Section("raw_source", 0, 30, "Why tides", ("Why tides",), page=1),
            Section("raw_source", 32, 48, "Speaker notes", ("Why tides", "Speaker notes"), page=1),
            Section("raw_source", 50, len(text), "Slide 2", ("Slide 2",), page=2),
        ),
    )


def test_a_table_on_a_slide_becomes_markdown() -> None:
    cell = "<a:tc><a:txBody><a:p><a:r><a:t>{}</a:t></a:r></a:p></a:txBody></a:tc>"
    table = f"<a:tbl><a:tr>{cell.format('a')}{cell.format('b')}</a:tr></a:tbl>"
    assert "| a | b |" in read_office(slides_bytes([f"<p:graphicFrame>{table}</p:graphicFrame>"])).text


def test_a_sheet_is_one_line_a_row_with_the_names_of_its_columns() -> None:
    rows = (
        '<row><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c>'
        '<c r="C1" t="inlineStr"><is><t>Ok</t></is></c></row>'
        '<row><c r="A2" t="s"><v>2</v></c><c r="B2" s="1"><v>45322</v></c><c r="C2" t="b"><v>1</v></c></row>'
        '<row><c r="A3"><v>4.2000000000000002</v></c><c r="C3" t="str"><f>A3</f><v>x</v></c></row>'
    )
    data = sheets_bytes({"Sites": rows, "Empty": ""}, shared=("Site", "Date", "Kirkhaven"))
    text = "## Sites\n\nSite: Kirkhaven; Date: 2024-01-31; Ok: TRUE\n\nSite: 4.2; Ok: x"
    read = read_office(data)
    assert read.text == text
    assert read.sections == (Section("raw_source", 0, len(text), "Sites", ("Sites",), page=1),)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ('<c s="1"><v>45322</v></c>', "2024-01-31"),
        ('<c s="2"><v>45322.5</v></c>', "2024-01-31 12:00:00"),
        ('<c s="2"><v>0.5</v></c>', "12:00"),
        ('<c s="3"><v>3.5</v></c>', "3.5"),
        ('<c s="1"><v>9999999999</v></c>', "9999999999"),
        ('<c t="s"><v>99</v></c><c><v>1</v></c>', "1"),
        ('<c t="e"><v>#DIV/0!</v></c>', "#DIV/0!"),
        ("<c><v>12345678901234567890</v></c>", "12345678901234567890"),
    ],
)
def test_a_cell_shows_what_the_program_shows(cell: str, shown: str) -> None:
    assert read_office(sheets_bytes({"S": f"<row>{cell}</row>"})).text == f"## S\n\n{shown}"


def test_long_sheets_are_cut_with_a_warning() -> None:
    rows = "".join(f"<row><c><v>{number}</v></c></row>" for number in range(MAX_ROWS + 5))
    read = read_office(sheets_bytes({"Long": rows}))
    assert read.warnings == (f"only the first {MAX_ROWS} rows of sheet Long were read",)
    assert read.text.endswith(f"\n\n{MAX_ROWS - 1}")
    assert MAX_SHEETS < MAX_ROWS


def test_a_cell_far_to_the_right_costs_nothing() -> None:
    assert (
        read_office(sheets_bytes({"S": '<row><c r="A1"><v>1</v></c><c r="XFD1"><v>2</v></c></row>'})).text
        == "## S\n\n1"
    )


def test_the_strict_form_of_the_standard_reads_the_same() -> None:
    strict = "http://purl.oclc.org/ooxml"
    members = {
        "_rels/.rels": relations(a="officeDocument word/document.xml"),
        "word/document.xml": f'<w:document xmlns:w="{strict}/wordprocessingml/main"><w:body>{paragraph("Strict.")}'
        "</w:body></w:document>",
    }
    assert read_office(zip_bytes(dict(members))).text == "Strict."


BOMB = '<!DOCTYPE d [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>'
OUTSIDE = '<!DOCTYPE d [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "broken or cut off"),
        (b"PK\x03\x04", "broken or cut off"),
        (b"\xd0\xcf\x11\xe0rest", "encrypted or in an old format"),
        (zip_bytes({"a.txt": "x"}), "names no main part"),
        (zip_bytes({"_rels/.rels": relations(a="officeDocument ../../etc/passwd")}), "not a Word"),
        (zip_bytes({"_rels/.rels": relations(a="officeDocument a.xml"), "a.xml": "<x/>"}), "not a Word"),
        (zip_bytes({"_rels/.rels": relations(a="officeDocument a.xml"), "a.xml": "<x>"}), "not well-formed"),
        (zip_bytes({"_rels/.rels": BOMB + relations(a="officeDocument a.xml")}), "not well-formed|declares entities"),
        (zip_bytes({"_rels/.rels": f"{OUTSIDE}<d>&a;</d>"}), "declares entities"),
        (word_bytes(""), "no text in this document"),
        (word_bytes("<w:p>" * 300), "not well-formed"),
        (word_bytes(paragraph("x"))[:-40], "broken"),
        (sheets_bytes({"S": "<row><c>"}), "not well-formed"),
    ],
)
def test_a_document_that_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_office(data)
