"""Extractive summaries are sentences of the text, short, and the same each time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citewell.text.summary import CHUNK_CHARS, WHOLE_CHARS, extractive_summary

LAMP = """# Lamp

The lamp of the tower was lit in 1859. We had tea and went home early. The lamp burned oil from Leith until
it was made electric in 1931. Agnes wrote a letter to her cousin.

```sh
lamp --on
```
"""


def test_the_sentences_that_say_most_of_the_subject_come_as_they_stand() -> None:
    said = extractive_summary(LAMP, "Lamp", "en", 110)
    assert said == (
        "The lamp of the tower was lit in 1859. The lamp burned oil from Leith until it was made electric in 1931."
    )


def test_a_query_brings_its_sentences_forward() -> None:
    assert "Agnes wrote a letter" in extractive_summary(LAMP, "Lamp", "en", 60, {"agn", "letter"})


def test_a_text_without_sentences_is_told_by_its_first_lines() -> None:
    said = extractive_summary("---\nauthor: Kelly\nyear: 1994\n---\n", "Out of Control", "en")
    assert "author: Kelly" in said
    rows = "| year | tonnes |\n|---|---|\n" + "".join(f"| {year} | 3 |\n" for year in range(1900, 2000))
    assert len(extractive_summary(rows, "Harvest", "en", CHUNK_CHARS)) <= CHUNK_CHARS


def test_code_is_no_summary() -> None:
    assert "--on" not in extractive_summary(LAMP, "Lamp", "en")


@given(st.text(max_size=3_000), st.text(max_size=30), st.sampled_from((None, "en", "de")))
def test_any_text_has_a_summary_that_fits_and_is_the_same_each_time(
    text: str, title: str, language: str | None
) -> None:
    said = extractive_summary(text, title, language)
    assert len(said) <= WHOLE_CHARS
    assert said == extractive_summary(text, title, language)
