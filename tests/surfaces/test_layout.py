"""Lines on a screen: no line is wider than it, whatever the script, and columns stay under each other."""

from __future__ import annotations

import doctest
import inspect
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from citewell.cli import console
from citewell.cli.console import StyledText, cells, one_line, plain, safe, shortened, table, wrapped
from citewell.cli.excerpts import quote_lines, shown_text, snippet


def shown(quote: str, width: int = 60, bold: tuple[int, int] = (0, 0), header: str = "") -> list[str]:
    """A quote's lines, with what is bold between « and »."""
    lines = quote_lines(quote, width, [bold], header)
    return ["".join(f"«{one.text}»" if one.how == "bold" else one.text for one in line).rstrip() for line in lines]


def test_the_worked_examples_hold() -> None:
    examples = re.sub(r"^# ?", "", inspect.getsource(console), flags=re.MULTILINE).partition("from __future__")[0::2]
    parsed = doctest.DocTestParser().get_doctest("".join(examples), vars(console), "console", None, None)
    assert parsed.examples
    assert doctest.DocTestRunner().run(parsed).failed == 0


@given(st.text(), st.integers(min_value=2, max_value=40))
def test_no_line_is_wider_than_the_screen_and_no_word_is_lost(text: str, width: int) -> None:
    cleaned = " ".join(safe(text).split())
    lines = [plain(line) for line in wrapped([StyledText(cleaned)], width)]
    assert all(cells(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == cleaned.replace(" ", "")


@given(st.text(alphabet="ab é海帯のلح👍🏽e\u0301 –…", max_size=30))
def test_widths_are_those_of_a_terminal(text: str) -> None:
    assert cells(text) == cell_len(text)
    assert cells(shortened(text, 10)) <= 10


@pytest.mark.parametrize("name", ["plain", "海带养殖场", "🌊 wave", "e\u0301te\u0301", "المنارة"])
def test_the_second_column_starts_at_the_same_cell_in_every_script(name: str) -> None:
    lines = [plain(line) for line in table(("name", "is"), [(name, "one"), ("a longer name", "two")], 80)]
    starts = {cells(line[: line.index(word)]) for line, word in zip(lines, ("is", "one", "two"), strict=True)}
    assert starts == {len("a longer name") + 2}


def test_a_table_that_is_too_wide_goes_on_below_in_its_own_column() -> None:
    lines = table(("run", "question"), [("a1", "how deep do the kelp longlines sit?")], 24)
    assert [plain(line) for line in lines] == ["run  question", "a1   how deep do the", "     kelp longlines sit?"]


@pytest.mark.parametrize(
    ("hostile", "left"),
    [
        ("a\x1b[2Jb", "ab"),
        ("a\x1b]0;owned\x07b", "ab"),
        ("a\x9b8mb", "ab"),
        ("a\x07\x08\x00b\x7f", "ab"),
        ("a\u202eb\u2066c", "abc"),
        ("\x1b\x1b[31m", ""),
        ("a\tb", "a    b"),
    ],
)
def test_what_a_terminal_would_obey_is_left_out(hostile: str, left: str) -> None:
    assert safe(hostile) == left
    assert "\x1b" not in one_line(hostile * 100, 20)


def test_paragraphs_are_wrapped_anew_and_items_stand_behind_their_marks() -> None:
    quote = (
        "The tide gauge on the pier was moved in the spring of 2019\nbecause of the ferry.\n\n"
        "- a first item that is long enough to be broken\n  - one below it\n1. a step"
    )
    assert shown(quote, 40) == [
        "The tide gauge on the pier was moved in",
        "the spring of 2019 because of the ferry.",
        "",
        "- a first item that is long enough to be",
        "  broken",
        "  - one below it",
        "1. a step",
    ]


def test_short_lines_end_where_they_end() -> None:
    assert shown("Nadia: late again.\nSol: never silent.") == ["Nadia: late again.", "Sol: never silent."]


def test_code_is_neither_wrapped_nor_stripped_of_anything() -> None:
    quote = "Run:\n\n```bash\ncurl [x](y) **z** | tee a-very-long-file-name.txt\n\ndone\n```"
    assert shown(quote, 30) == [
        "Run:",
        "",
        "    curl [x](y) **z** | tee a-very-long-file-name.txt",
        "",
        "    done",
    ]


def test_the_decisive_span_is_bold_though_markup_around_it_is_hidden() -> None:
    quote = "See [[Oil|the oil]] and [a log](https://log.example/(1887)). The **lamp** was lit in 1859. ^lit"
    start = quote.index("The **")
    assert shown(quote, 100, (start, quote.index(" ^"))) == ["See the oil and a log. «The lamp was lit in 1859.»"]


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("![a jar](/pix/jar.webp)", "a jar"),
        ('see [leave]({% page "/leave/" %}) now', "see leave now"),
        ("a <a href='x'>link</a>, x < y, <name>", "a link, x < y, <name>"),
        (r"author\*in \- so", "author*in - so"),
        ("*Cost per use* is 2 * 3 * 4, `*a*`, a*b*c", "Cost per use is 2 * 3 * 4, `*a*`, a*b*c"),
        ("`[[not a link]]` and a[0][1]", "`[[not a link]]` and a[0][1]"),
    ],
)
def test_markup_is_shown_as_it_reads(text: str, reads: str) -> None:
    assert shown_text(text) == reads


def test_a_row_of_a_table_stands_under_the_header_of_the_whole_table() -> None:
    quote = "| Voltwerk | £412,000 |\n| Halvind | £398,500 |"
    lines = shown(quote, 60, (0, 10), "| bidder | price |\n|---|---|")
    assert lines == ["bidder    price", "«Voltwerk  £412,000»", "Halvind   £398,500"]


def test_a_snippet_shows_where_most_of_the_words_stand_together() -> None:
    text = "The lamp. " + "Weather was seen. " * 40 + "Then Josiah Pell lit the lámp at five. " + "More weather. " * 30
    pieces = snippet(text, ("lamp", "pell", "lit"), 200)
    assert [piece.text for piece in pieces if piece.how == "bold"] == ["Pell", "lit", "lámp"]
    assert plain(pieces).startswith("… ")
    assert len(plain(pieces)) <= 204


def test_a_snippet_passes_over_properties_that_add_nothing() -> None:
    text = "---\ntitle: Regicide\ndate: 2021\n---\nRegicide is a game for 1 to 4 players."
    assert plain(snippet(text, ("regicide", "players"), 300)) == "Regicide is a game for 1 to 4 players."
    assert plain(snippet(text, ("regicide", "2021"), 300)).startswith("--- title: Regicide")
