"""A window shows the rarest matches, whole sentences, and never simply the head."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citewell.planning.lexical import lexical_query
from citewell.retrieval.matching import Match, find_matches
from citewell.retrieval.windows import best_window

FILLER = "The harbour was quiet and the tide was low. " * 40


def window(text: str, query: str, weights: dict[str, float], size: int) -> str:
    matches = find_matches(text, lexical_query(query, ("en",)), "en")
    low, high = best_window(text, matches, weights, size, (0, len(text)))
    return text[low:high]


def test_the_window_is_where_the_rare_word_stands() -> None:
    text = FILLER + "The guillemot nested in the gauge housing. " + FILLER
    shown = window(text, "tide guillemot", {"tide": 0.1, "guillemot": 5.0}, 200)
    assert "guillemot nested in the gauge housing." in shown


def test_different_words_together_beat_one_word_repeated() -> None:
    text = "lamp lamp lamp lamp lamp. " + FILLER + "The lamp oil ran out. " + FILLER
    assert "lamp oil" in window(text, "lamp oil", {"lamp": 1.0, "oil": 1.0}, 120)


def test_a_window_begins_and_ends_with_whole_sentences() -> None:
    text = FILLER + "A rare egret came. " + FILLER
    shown = window(text, "egret", {}, 300)
    assert shown.startswith(("The harbour", "A rare"))
    assert shown.endswith(".")


def test_where_nothing_matches_the_preferred_place_is_shown() -> None:
    text = FILLER + "MARK " + FILLER
    low, high = best_window(text, [], {}, 100, (text.index("MARK"), len(text)))
    assert "MARK" in text[low:high]


@given(
    st.text(min_size=1, max_size=400),
    st.lists(st.tuples(st.integers(0, 399), st.integers(1, 20)), max_size=8),
    st.integers(1, 120),
)
def test_a_window_is_never_longer_than_allowed(text: str, places: list[tuple[int, int]], size: int) -> None:
    spans = [(min(at, len(text) - 1), min(at + length, len(text))) for at, length in sorted(places)]
    matches = [Match(f"t{number % 3}", low, high) for number, (low, high) in enumerate(spans) if low < high]
    low, high = best_window(text, matches, {}, size, (0, len(text)))
    assert 0 <= low <= high <= len(text)
    assert high - low <= size
