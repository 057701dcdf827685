"""A Markdown note as a document: text, sections, title, tags."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citewell.readers.markdown import markdown_document, read_markdown
from citewell.text.documents import Link, ReadDocument, Section

NOTE = """---
title: Tide gauges
tags: [Gauge, "#harbour/north"]
related: "[[Other note]]"
---
Before any heading.

# Sensors
About sensors. #gauge #new

## Radar
See [[Radar notes]].

# Power
"""


def test_a_note_is_read_whole() -> None:
    """The text stays as it is; its properties are the first section, the others tile the body under their headings."""
    note = read_markdown(NOTE.encode())
    body = NOTE.index("Before")
    sensors, radar, power = (NOTE.index(heading) for heading in ("# Sensors", "## Radar", "# Power"))
    assert note == ReadDocument(
        text=NOTE,
        title="Tide gauges",
        sections=(
            Section("user_note", 4, NOTE.index("\n---\n", 4)),
            Section("user_note", body, sensors),
            Section("user_note", sensors, radar, "Sensors", ("Sensors",)),
            Section("user_note", radar, power, "Radar", ("Sensors", "Radar")),
            Section("user_note", power, len(NOTE), "Power", ("Power",)),
        ),
        links=(
            Link("wikilink", "Other note", NOTE.index("[[O"), NOTE.index("[[O") + 14),
            Link("wikilink", "Radar notes", NOTE.index("[[R"), NOTE.index("[[R") + 15),
        ),
        tags=("Gauge", "harbour/north", "new"),
        heading="Sensors",
    )


def test_the_only_heading_of_the_first_level_or_one_that_opens_the_note_is_its_title() -> None:
    note = markdown_document("## Sub\n\nText\n\n# Main\n")
    assert (note.title, note.heading) == ("Main", "Main")
    assert markdown_document("# One\n\nText\n\n# Two\n").title == "One"
    several = markdown_document("Text first.\n\n# One\n\n# Two\n")
    assert (several.title, several.heading) == (None, "One")
    assert markdown_document("# {{title}}\n\nText\n").title is None
    assert markdown_document("---\ntitle: Own\n---\n# Main\n").title == "Own"
    assert markdown_document("just text").heading is None


def test_a_skipped_level_still_nests() -> None:
    sections = markdown_document("# A\n#### D\n## B\n").sections
    assert [section.heading_path for section in sections] == [("A",), ("A", "D"), ("A", "B")]


def test_an_empty_note_has_no_sections_and_one_of_properties_has_one() -> None:
    assert markdown_document("") == ReadDocument(text="", title=None, sections=())
    assert markdown_document(" \n\n").sections == ()
    assert markdown_document("---\n---\n").sections == ()
    assert markdown_document("---\ntitle: x\n---\n").sections == (Section("user_note", 4, 12),)


def test_windows_line_ends_and_marks_do_not_shift_offsets() -> None:
    note = read_markdown("\ufeff# Ä\r\n\r\n[[b]]\r\n".encode())
    assert note.text == "# Ä\n\n[[b]]\n"
    assert note.links == (Link("wikilink", "b", 5, 10),)


PIECES = st.sampled_from(
    [
        *(
            "# h\n",
            "## h ##\n",
            "h\n===\n",
            "h\n---\n",
            "---\n",
            "title: x\n",
            "```\n",
            "~~~\n",
            "%%",
            "<!--",
            "-->",
            "\n\n",
        ),
        *(
            "[[a#b|c]]",
            "![[e]]",
            "[t](u.md)",
            "https://x.org/a.",
            "<https://x.org>",
            "#tag ",
            "`",
            "$",
            "\\",
            "- ",
            "> ",
        ),
        *("\r\n", "\r", "\x00", "\ud800", "\u2028", "\x0b", "e\u0301", "שלום", "👩‍💻", "é", "日本"),
    ]
)
TEXTS = st.one_of(
    st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=40).map("".join),
    st.text(st.characters(codec=None), max_size=200),
)


@given(TEXTS)
def test_any_text_is_read_with_exact_offsets(text: str) -> None:
    """Sections tile the body, and every link starts and ends with the characters that make it one."""
    note = markdown_document(text)
    assert_tiles(note)
    for link in note.links:
        quoted = note.text[link.start : link.end]
        assert quoted.startswith(("[", "![", "<", "h", "H"))
        assert quoted.endswith(("]", ")", ">")) or quoted.lower().startswith("http") or "]:" in quoted
    for tag in note.tags:
        assert tag in note.text


def assert_tiles(note: ReadDocument) -> None:
    covered = 0
    for section in note.sections:
        assert covered <= section.start < section.end
        assert covered == 0 or not note.text[covered : section.start].strip()
        covered = section.end
    assert not note.sections or covered == len(note.text) or not note.text[covered:].strip()


@given(st.binary(max_size=300))
def test_any_bytes_are_read(data: bytes) -> None:
    assert_tiles(read_markdown(data))
