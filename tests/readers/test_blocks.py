"""Blocks: offsets of sections and links are exact whatever the blocks hold."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citewell.readers.compose import JoinedText, TextBlock, compose
from citewell.text.canonical import is_canonical
from citewell.text.documents import Link, Section


def test_blocks_are_joined_by_blank_lines_and_grouped_into_sections() -> None:
    blocks = [
        TextBlock("  One ", links=(Link("url", "https://x.example", 2, 5),)),
        TextBlock(""),
        TextBlock("Two"),
        TextBlock("Three 🌊", "ocr", ("Page",), page=2),
    ]
    assert compose(blocks) == JoinedText(
        "One\n\nTwo\n\nThree 🌊",
        (Section("raw_source", 0, 8), Section("ocr", 10, 17, "Page", ("Page",), page=2)),
        (Link("url", "https://x.example", 0, 3),),
    )


def test_a_bare_address_that_is_the_label_of_a_link_is_one_link() -> None:
    block = TextBlock("https://x.example/a", links=(Link("url", "https://y.example", 0, 19),))
    assert compose([block, TextBlock("https://z.example")]).links == (
        Link("url", "https://y.example", 0, 19),
        Link("url", "https://z.example", 21, 38),
    )


@given(st.lists(st.text(max_size=20), max_size=8))
def test_each_section_is_exactly_its_blocks(texts: list[str]) -> None:
    composed = compose(TextBlock(text, heading_path=(f"h{number}",)) for number, text in enumerate(texts))
    assert is_canonical(composed.text)
    assert "\n\n".join(composed.text[section.start : section.end] for section in composed.sections) == composed.text
