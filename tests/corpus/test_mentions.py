"""Names in running text: what is found without any list of names, in which scripts, and how fast."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.search.names import (
    CaseCounts,
    Pair,
    abbreviations,
    base_name,
    hidden,
    introduced_names,
    is_name_like,
    mentions_in,
    name_key,
    occurrences,
    reads_as_name,
)


def names(text: str, language: str | None = "en") -> list[str]:
    """The names a text mentions beyond doubt."""
    return [found.name for found in mentions_in(text, language, CaseCounts.of([hidden(text)])) if not found.is_weak]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We met Agnes Tulloch at noon.", ["Agnes Tulloch"]),
        ("Yesterday Agnes Tulloch rang.", ["Agnes Tulloch"]),
        ("The boat is called Marigold now.", ["Marigold"]),
        ("A talk at the University of Leith was short.", ["University of Leith"]),
        ("It was signed by J. Ross and by Dr. Maëlle Kervadec.", ["J. Ross", "Maëlle Kervadec"]),
        ("Write to @kelpwife or to ann@example.org.", ["@kelpwife"]),
        ("It runs on PostgreSQL and an iPhone.", ["PostgreSQL", "iPhone"]),
        ("See https://github.com/tidewick/core for it.", ["tidewick/core"]),
        ("Agnes's letters and the Keeper's log", ["Keeper"]),
        ("Мы встретили Анну Каренину вчера.", ["Анну Каренину"]),
        ("Η συνάντηση με την Μαρία Κάλλας έγινε.", ["Μαρία Κάλλας"]),
        ("In May or on Monday, and/or 24/7, at 3 kW.", []),
        ("The note. Then another. Next one.", []),
        ("`Agnes Tulloch` in code, [x](Agnes/Tulloch.md)", []),
    ],
)
def test_names_are_told_by_how_they_are_written(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_a_word_that_is_mostly_written_small_is_no_name() -> None:
    assert names("The Kelp grows. We cut kelp, dry kelp and eat kelp.") == []


def test_german_nouns_are_no_names_but_names_of_two_words_are() -> None:
    assert names("Wir haben die neue Wärmepumpe mit Clara Schumann bestellt.", "de") == ["Clara Schumann"]


def test_every_mention_stands_where_it_says() -> None:
    text = "Über Ærø 🦀 fuhr Solveig Haraldsen\nmit @kelpwife nach Kirkhaven."
    for found in mentions_in(text, "en", CaseCounts.of([text])):
        assert text[found.start : found.end].replace("\n", " ") == found.name


@given(st.text(alphabet="AaBb .@(\n[]/'é昆Ñ-_`<0"))
def test_any_text_gives_exact_spans_and_no_error(text: str) -> None:
    for found in mentions_in(text, "en", CaseCounts.of([text])):
        assert text[found.start : found.end].replace("\n", " ") == found.name
    for place in occurrences(text, ["Aa", "昆", "É b"]):
        assert name_key(text[place.start : place.end]) == place.key
    list(abbreviations(text))


@pytest.mark.parametrize(
    "pattern",
    ["A", "(", "A ", "Ab ", "@", "[[", "](", "`a", "<", "A(", "a/b-", "A\n", "Ab & ", ".A", "名（", "\n#", "'"],
)
def test_a_hundred_thousand_hostile_characters_stay_fast(pattern: str) -> None:
    text = pattern * (100_000 // len(pattern))
    started = time.process_time()
    mentions_in(text, "en", CaseCounts.of([text]))
    list(abbreviations(text))
    list(introduced_names(text))
    list(occurrences(text, ["Ab", "A b", "名"]))
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Skelday Community Energy (SCE) met.", [Pair("Skelday Community Energy", "SCE")]),
        ("The Ministry of Sea Affairs (MSA) met.", [Pair("Ministry of Sea Affairs", "MSA")]),
        ("SCE (Skelday Community Energy) met.", [Pair("Skelday Community Energy", "SCE")]),
        ("Solveig Haraldsen (Sol) rang.", [Pair("Solveig Haraldsen", "Sol")]),
        ("我在北京大学（北大）读书。", [Pair("北京大学", "北大")]),
        ("Agnes (Kirkhaven) rang, and so did Bert (aged 9).", []),
    ],
)
def test_a_short_form_in_brackets_counts_where_it_is_spelled_from_the_long_one(text: str, expected: list[Pair]) -> None:
    assert list(abbreviations(text)) == expected


def test_names_are_compared_without_case_accents_handles_and_possessives() -> None:
    assert name_key("@KelpWife") == name_key("kelpwife's") == "kelpwife"
    assert name_key("  Maëlle\nKervadec ") == name_key("maelle kervadec")
    assert base_name("Ewan Ross (slater)") == "Ewan Ross"
    assert [is_name_like(name) for name in ("2024-05-01", "昆布", "x", "Big Maggie")] == [False, True, False, True]
    assert [reads_as_name(name) for name in ("Snag list", "Budget", "Big Maggie", "昆布")] == [False, False, True, True]


def test_a_single_capitalised_name_is_found_only_with_its_capital() -> None:
    text = "May may come. Ask May, or @may."
    assert [text[place.start : place.end] for place in occurrences(text, ["May"])] == ["May", "May", "@may"]
    spaced = "Maelle  Kervadec and MAËLLE KERVADEC"
    assert len(list(occurrences(spaced, ["Maëlle Kervadec"]))) == 2
