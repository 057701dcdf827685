"""A row brings along what belongs to its window and stands above it: headings, lead-in, table header."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell import Citewell, EvidenceRow, RunEvent, RunResult, Span
from citewell.flows.judge import merge_inspection
from citewell.search.given import given_rows, reread
from citewell.search.inspect import window_of_view, with_contexts
from citewell.search.rows import context_of
from citewell.text.documents import SectionView

PORTS = "".join(f"| Port {number} | {number % 17 + 3} | {number % 5} m |\n" for number in range(400))
STEPS = "".join(f"- Check fitting {number} for wear and note its colour in the book.\n" for number in range(200))
CODE = "".join(f"step_{number}()  # the pump runs on\n" for number in range(200))

NOTES: dict[str, str | bytes] = {
    "Fees.md": (
        "# Harbours\n\nWe sailed in May.\n\n## Moorings\n\nWhat we paid a night:\n\n"
        f"| Harbour | Fee | Depth |\n|---|---:|---|\n{PORTS}| Zorbavoe | 77 | 4 m |\n{PORTS}"
    ),
    "Refit.md": (
        "# Refit\n\n## Spring work\n\nThe boat comes out of the water in March. "
        f"Everyone must do all of this before the launch:\n\n{STEPS}- Grease the quadrant bearing.\n{STEPS}"
    ),
    "Bilge.md": (
        "# Bilge\n\n## Pumping\n\n### By script\n\nRun this on the small computer, never on the large one:\n\n"
        f"```python\n# Not a heading\n{CODE}quench_valve()\n{CODE}```\n"
    ),
    "Short.md": "# Short\n\n## Only\n\nThe walrus slept.",
    "Titles.md": f"Yard\n====\n\nHulls\n-----\n\n{'We painted the hull again today. ' * 200}\n\nThe gudgeon cracked.\n",
    "Prose.md": f"# Log\n\n{'It rained all day at sea. ' * 300}\n\nA cormorant landed on deck.\n",
}
SMALL: dict[str, int] = {"limit": 3, "max_chars_per_doc": 300}


def row_of(rows: Iterable[EvidenceRow], name: str) -> EvidenceRow:
    return next(row for row in rows if row.source_key == f"note:vault/{name.lower()}")


def context(row: EvidenceRow) -> list[tuple[str, str]]:
    return [(one.kind, one.text) for one in row.context]


def test_a_table_cut_in_the_middle_has_its_header_lead_in_and_headings(corpus: Citewell) -> None:
    row = row_of(corpus.pack("fee in Zorbavoe", **SMALL).evidence, "Fees")
    assert "Zorbavoe | 77" in row.text
    assert "Harbour |" not in row.text
    assert context(row) == [
        ("heading", "Harbours"),
        ("heading", "Moorings"),
        ("lead_in", "What we paid a night:"),
        ("table_header", "| Harbour | Fee | Depth |"),
    ]


def test_a_list_far_below_its_lead_in_has_it(corpus: Citewell) -> None:
    row = row_of(corpus.search("quadrant bearing", max_chars=300).results, "Refit")
    assert "Grease the quadrant bearing." in row.text
    lead = "The boat comes out of the water in March. Everyone must do all of this before the launch:"
    assert context(row) == [("heading", "Refit"), ("heading", "Spring work"), ("lead_in", lead)]


def test_code_below_its_sentence_has_it_and_no_comment_is_a_heading(corpus: Citewell) -> None:
    row = row_of(corpus.search("quench_valve", max_chars=300).results, "Bilge")
    assert "quench_valve()" in row.text
    assert context(row) == [
        ("heading", "Bilge"),
        ("heading", "Pumping"),
        ("heading", "By script"),
        ("lead_in", "Run this on the small computer, never on the large one:"),
    ]


def test_prose_has_its_headings_only_and_what_the_window_shows_is_not_repeated(corpus: Citewell) -> None:
    assert context(row_of(corpus.search("cormorant", max_chars=300).results, "Prose")) == [("heading", "Log")]
    assert context(row_of(corpus.search("gudgeon", max_chars=300).results, "Titles")) == [
        ("heading", "Yard"),
        ("heading", "Hulls"),
    ]
    assert context(row_of(corpus.search("walrus").results, "Short")) == []


@pytest.mark.parametrize("question", ["fee in Zorbavoe", "quadrant bearing", "quench_valve", "gudgeon", "cormorant"])
def test_every_context_is_an_exact_slice_above_its_row(corpus: Citewell, question: str) -> None:
    for row in corpus.pack(question, **SMALL).evidence:
        for one in row.context:
            assert one.span.content_hash == row.span.content_hash
            assert corpus.store.slice(one.span.content_hash, one.span.start, one.span.end) == one.text
            assert one.span.start < one.span.end <= row.span.start


def test_a_pack_that_is_given_back_has_the_same_context(corpus: Citewell) -> None:
    pack = corpus.pack("fee in Zorbavoe", **SMALL)
    again = reread(corpus.store, pack.query_plan, given_rows(pack))
    assert [row.context for row in again.evidence] == [row.context for row in pack.evidence]
    assert any(row.context for row in again.evidence)


def test_a_wider_window_drops_the_context_it_shows(corpus: Citewell) -> None:
    pack = corpus.pack("quadrant bearing", **SMALL)
    row = row_of(pack.evidence, "Refit")
    (view,) = corpus.corpus.get(row.source_key, content_mode="full").documents
    lead = row.context[-1].span.start
    wider = replace(view, text=view.text[lead : row.span.end], start=lead, end=row.span.end)
    widened = row_of(merge_inspection(pack, with_contexts(corpus.store, [window_of_view(wider)])).evidence, "Refit")
    assert widened.text.startswith("The boat comes out")
    assert context(widened) == [("heading", "Refit"), ("heading", "Spring work")]


def test_a_run_records_it_and_replays_to_the_same_bytes(corpus: Citewell) -> None:
    async def asked() -> list[RunEvent | RunResult]:
        return [event async for event in corpus.stream("fee in Zorbavoe", **SMALL)]

    result = asyncio.run(asked())[-1]
    assert isinstance(result, RunResult)
    assert result.pack is not None
    assert row_of(result.pack.evidence, "Fees").context
    assert corpus.runs.replay(result.run_id).identical


@given(
    st.lists(
        st.sampled_from(
            [
                "# A",
                "## B ##",
                "#",
                "Lead:",
                "- item",
                "  - below",
                "| a | b |",
                "|---|---|",
                "| 1 | 2 |",
                "```",
                "",
                "x",
            ]
        ),
        max_size=30,
    ),
    st.integers(0, 200),
)
def test_whatever_the_text_context_stands_above_the_window(lines: list[str], at: int) -> None:
    text = "\n".join(lines)
    at = min(at, len(text))
    starts = [
        0,
        *(number + 1 for number, letter in enumerate(text) if letter == "\n" and text[number + 1 : number + 2] == "#"),
    ]
    sections = [SectionView("user_note", start, len(text), heading="h") for start in starts if start <= at]
    for one in context_of(Span("h:0-0", at, len(text), "h" * 64), text, 0, sections):
        assert text[one.span.start : one.span.end] == one.text
        assert one.text.strip() == one.text != ""
        assert one.span.end <= at
