"""A window shows the rarest matches, whole sentences, and never simply the head."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citewell.search.query import lexical_query
from citewell.search.windows import Match, best_window, find_matches, wider_window

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


LONG = "The committee met again and talked about the weather at some length. " * 12


def test_a_heading_that_asks_the_question_brings_what_stands_below_it() -> None:
    text = (
        f"# Guide\n\n{LONG}\n\nA license is needed for a project, and an open one is appropriate too.\n\n{LONG}\n\n"
        f"## Which license is appropriate for my project?\n\nTake MIT.\n\n## Other\n\n{LONG}"
    )
    assert "Take MIT." in window(text, "Which license is appropriate for my project?", {}, 300)


def test_a_list_comes_with_the_line_that_leads_into_it() -> None:
    items = "\n".join(f"- thing {number} for the trip" for number in range(6))
    text = f"{LONG}\n\nFor Kyoto I pack:\n\n{items}\n- a guillemot whistle\n\n{LONG}"
    shown = window(text, "guillemot whistle", {}, 300)
    assert shown.startswith("For Kyoto I pack:")
    assert "a guillemot whistle" in shown


def test_code_comes_under_its_sentence() -> None:
    text = f"{LONG}\n\nUndo the last commit:\n\n```\ngit reset --soft HEAD~1\n```\n\n{LONG}"
    shown = window(text, "undo the last commit", {}, 120)
    assert "Undo the last commit:" in shown
    assert "git reset --soft HEAD~1" in shown


def test_a_late_answer_beats_an_early_mention() -> None:
    text = f"This page is about the ferry.\n\n{LONG}\n\n{LONG}\n\nThe ferry leaves Skelday at noon.\n\n{LONG}"
    assert "leaves Skelday" in window(text, "when does the ferry leave Skelday", {"ferry": 3.0}, 200)


def test_words_that_stand_in_every_block_do_not_decide() -> None:
    text = "\n\n".join(f"The rate limiter limits the rate. {LONG[:200]}" for _ in range(10))
    text += "\n\nThe limiter uses a token bucket."
    assert "token bucket" in window(text, "rate limiter bucket", {"rate": 3.0, "limiter": 3.0, "bucket": 2.0}, 150)


def test_the_title_s_words_do_not_keep_the_window_where_the_title_stands() -> None:
    text = f"---\ntitle: Amazfit Band\n---\n\nThe Amazfit Band is a band.\n\n{LONG}\n\n"
    text += f"## Firmware updates\n\nAsk Gadgetbridge.\n\n{LONG}"
    matches = find_matches(text, lexical_query("Amazfit Band firmware updates", ("en",)), "en")
    weights = {"amazfit": 5.0, "band": 4.0, "firmware": 4.0, "updates": 3.0}
    low, high = best_window(text, matches, weights, 200, (0, 40), {"amazfit", "band"})
    assert "Ask Gadgetbridge." in text[low:high]


def test_a_question_that_only_names_the_document_shows_where_it_begins() -> None:
    text = f"# Habits\n\nSmall steps add up.\n\n{LONG}\n\nMy habits, and more habits, and other habits.\n\n{LONG}"
    assert "Small steps add up." in window(text, "habits", {"habits": 3.0}, 200)


@given(st.integers(0, 1_500), st.integers(20, 400), st.integers(450, 900))
def test_a_wider_window_holds_the_narrower_one(start: int, length: int, size: int) -> None:
    text = f"# Guide\n\n{LONG}\n\n## Oil\n\nThe lamp oil ran out.\n\n{LONG}"
    shown = (min(start, len(text) - 2), min(start + length, len(text) - 1))
    matches = find_matches(text, lexical_query("lamp oil", ("en",)), "en")
    low, high = wider_window(text, matches, {}, size, shown)
    assert low <= shown[0] < shown[1] <= high
    assert high - low <= size


def test_the_header_of_a_long_table_speaks_for_every_row() -> None:
    rows = "".join(f"| skiff {n} | built in {1900 + n} by the yard | Ole Moe |\n" for n in range(1, 81))
    text = f"# Boats\n\n| Name | Built | Owner |\n| --- | --- | --- |\n{rows}"
    shown = window(text, "owner skiff 61", {"owner": 3.0, "skiff": 1.0, "61": 3.0}, 600)
    assert "| skiff 61 |" in shown
