"""What a question says it is not about, taken out of it whole; and `search` keeps to it as a pack does."""

from __future__ import annotations

import pytest

from citewell import Citewell
from citewell.search.query import take_exclusions

NOTES: dict[str, str | bytes] = {
    "Gauges.md": "Tide gauges measure the sea level at the pier.",
    "Pressure.md": "Tide gauges with pressure sensors measure the tide, the gauges are cheap tide gauges.",
    "Floats.md": "Tide gauges with a float are the oldest gauges.",
    "Tagged.md": "---\ntags: [draft]\n---\nTide gauges of the draft measure tide.",
}


@pytest.mark.parametrize(
    ("question", "kept", "excluded"),
    [
        ("heat transfer without discussing boundary layers", "heat transfer", "boundary layers"),
        ("effects of caffeine, without considering energy drinks", "effects of caffeine", "energy drinks"),
        ("tide gauges but not pressure sensors", "tide gauges", "pressure sensors"),
        ("notes on habits except morning routines", "notes on habits", "morning routines"),
        ("Which instruments other than tide gauges are used?", "Which instruments are used?", "tide gauges"),
        ("Which birds other than puffins nest here?", "Which birds nest here?", "puffins"),
        ("Which plants other than sea kale grow here?", "Which plants grow here?", "sea kale"),
        ("Who other than the harbour master signed the letter?", "Who signed the letter?", "harbour master"),
    ],
)
def test_the_whole_of_what_is_excluded_is_taken_out(question: str, kept: str, excluded: str) -> None:
    found = take_exclusions(question)
    assert (found.text, [concept.name for concept in found.concepts]) == (kept, [excluded])


@pytest.mark.parametrize("lead", ["but not", "without discussing", "except", "other than"])
def test_a_search_puts_what_it_excludes_last(corpus: Citewell, lead: str) -> None:
    rows = corpus.search(f"tide gauges {lead} pressure sensors").results
    assert rows[-1].note_path == "Pressure.md"
    assert "excluded:pressure sensors" in [signal.name for signal in rows[-1].signals]
    assert corpus.search("tide gauges").results[0].note_path == "Pressure.md"


def test_a_search_leaves_out_what_it_excludes_by_name(corpus: Citewell) -> None:
    assert "Tagged.md" not in [row.note_path for row in corpus.search("tide gauges not #draft").results]
