"""For every row of every search over arbitrary Unicode, the stored text at the row's span is the row's text."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from citewell import BadInput, Citewell, EvidenceRow, Settings
from citewell.text.canonical import content_hash

WORDS = [
    *("lamp", "Lampe", "tide", "Ebbe", "café", "cafe\u0301", "ﬁne", "1.0.21"),
    *("東京タワー", "한국어", "हिन्दी", "שלום", "مرحبا", "👩\u200d👩\u200d👧"),
]
BREAKS = [
    "\n",
    "\n\n",
    "\r\n",
    "\n# ",
    "\n- ",
    ". ",
    " ",
    "\u2028",
    "\0",
    "\ud800",
    "\ufeff",
    "\u00ad",
    "[[x]]",
    "#tag",
]
PIECE = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(BREAKS),
    st.text(max_size=12),
    st.sampled_from(["long sentence about the tide " * 60, "x" * 3000]),
)
DOCUMENT = st.lists(PIECE, min_size=1, max_size=40).map(" ".join)


def check(engine: Citewell, row: EvidenceRow) -> None:
    """The promise, checked the way a stranger would: by the key, the hash and the offsets alone."""
    (document,) = engine.corpus.get(f"{row.source_key}@{row.span.content_hash}", content_mode="full").documents
    assert content_hash(document.text) == row.span.content_hash == document.content_hash
    assert document.text[row.span.start : row.span.end] == row.text
    assert row.text.strip() == row.text != ""


@settings(max_examples=40)
@given(
    st.lists(DOCUMENT, min_size=1, max_size=4),
    st.text(st.characters(codec="utf-8"), max_size=20),
    st.integers(50, 900),
)
def test_every_row_is_an_exact_slice_of_the_stored_text(documents: list[str], noise: str, max_chars: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "vault")
        root.mkdir()
        for number, text in enumerate(documents):
            (root / f"n{number}.md").write_bytes(text.encode("utf-8", "surrogatepass"))
        engine = Citewell(Settings(data_dir=Path(folder, "data")))
        list(engine.corpus.sync(root))
        for query in (*WORDS, "long sentence tide", f"{noise} tide"):
            for row in engine.search(query, max_chars=max_chars).results:
                check(engine, row)
                assert len(row.text) <= max_chars
            try:
                pack = engine.pack(query, max_chars_per_doc=max_chars, include_related=True)
            except BadInput:
                continue
            for row in (*pack.evidence, *pack.exact_tag_evidence):
                check(engine, row)
        engine.close()
