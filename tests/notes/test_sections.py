"""The section is put into a note without touching a byte outside of it, whatever the note holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell import Conflict
from citewell.notes.section import (
    NoteFormat,
    SectionContent,
    SectionPlacement,
    find_section,
    place_section,
    without_section,
)
from citewell.readers.written_sections import HEADING, KEPT_HEADING, MARK, without_written
from citewell.text.canonical import canonicalize

FIRST = SectionContent(
    ("### Harbour dues", "- Dues rose in 1893 ([[Ledger]]).", "", "### Ships", "- The Halvard."), "run-1", "2026-11-16"
)
SECOND = SectionContent(("### Harbour dues", "- Dues rose in 1894 ([[Ledger]])."), "run-2", "2026-11-17")
SPEC = json.loads((Path(__file__).parent / "commonmark" / "examples.json").read_text("utf-8"))
# What these examples leave open swallows whatever comes after it: a fence, a script, a comment, a declaration.
UNCLOSED = ("```", "~~~", "<script", "<pre", "<style", "<!--", "<?", "<!", "<![CDATA[", "%%")


def placed(text: str, written: SectionContent = FIRST, form: NoteFormat = "markdown") -> str:
    return place_section(text, form, written).text


def as_read(text: str) -> str:
    """As a reader hands it on: without a mark at its start, its newlines of one kind."""
    return canonicalize(text.removeprefix("\ufeff"))


@pytest.mark.attack("V4")
@pytest.mark.parametrize("example", SPEC, ids=lambda entry: str(entry["example"]))
def test_no_byte_of_a_commonmark_example_changes(example: dict[str, str]) -> None:
    """As a note without a section, and above and below one."""
    note = example["markdown"]
    try:
        appended = placed(note)
    except Conflict:
        # Refused only where the example leaves a block open to the end of the file.
        assert any(mark in note for mark in UNCLOSED)
        assert find_section(f"{note}\n\n{HEADING}\n", "markdown") is None
        return
    assert appended.startswith(note)
    assert appended.count(MARK) == 1
    again = placed(appended, SECOND)
    assert again.startswith(note)
    assert MARK in again
    assert "1894" in again
    assert "1893" not in again
    assert without_written(canonicalize(again)) == canonicalize(note)
    enclosed = f"{again}\n# Next\n\n{note}"
    renewed = placed(enclosed, FIRST)
    assert renewed.startswith(note)
    assert renewed.endswith(f"\n# Next\n\n{note}")


@pytest.mark.attack("V4")
@pytest.mark.parametrize(
    "note",
    [
        "```\n## Research\nours\n```\n",
        "~~~~ text\n## Research\n~~~\n~~~~\n",
        "<!--\n## Research\n-->\n",
        "%%\n## Research\n%%\n",
        "$$\n## Research\n$$\n",
        "> ## Research\n> quoted\n",
        "- ## Research\n  item\n",
        "1. one\n\n   ## Research\n",
        "    ## Research\n",
        "---\ntitle: x\n## Research\n---\nbody\n",
        "---\n## Research\n---\n",
        "\ufeff---\ntitle: x\n## Research\n---\nbody\n",
        "<div>\n## Research\n</div>\n",
        "# Research\n",
        "### Research\n",
        "## Research notes\n",
        "## research\n",
        "##Research\n",
        "\\## Research\n",
        "Research\n===\n",
    ],
)
def test_what_only_looks_like_the_section_is_left_alone(note: str) -> None:
    assert find_section(note, "markdown") is None
    result = placed(note)
    assert result.startswith(note)
    assert result.count(MARK) == 1


@pytest.mark.attack("V5")
@pytest.mark.parametrize(
    "heading",
    ["## Research", "##   Research  ", "## Research ##", "Research\n---", "  ## Research", " Research \n-------"],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_the_section_is_known_in_every_spelling_of_its_heading(heading: str, newline: str, bom: str) -> None:
    before = f"{bom}# Note\n\nText\n\n".replace("\n", newline)
    after = "## Next\nmore".replace("\n", newline)
    spelt = heading.replace("\n", newline)
    result = placed(f"{before}{spelt}{newline}{after}")
    assert result.startswith(before + spelt)
    assert result.endswith(newline + after)
    assert "\n" not in result.replace(newline, "")
    assert not place_section(result, "markdown", FIRST).changed


@pytest.mark.attack("V5")
def test_of_two_sections_the_one_with_our_signature_is_ours() -> None:
    own = "## Research\nmy own\n\n"
    note = placed(own + "## Other\n").replace(own, "")
    both = own + "# Part two\n\n" + placed("x\n")
    result = placed(both, SECOND)
    assert result.startswith(own)
    assert "1894" in result
    assert note


@pytest.mark.attack("V5")
def test_of_two_sections_of_the_users_the_first_is_taken_and_the_second_stays() -> None:
    result = placed("## Research\none\n\n## Research\ntwo\n")
    assert result.endswith("\n## Research\ntwo\n")
    assert f"{KEPT_HEADING}\n\none\n" in result


@pytest.mark.attack("V6")
def test_lines_the_user_wrote_among_ours_move_below_and_stay_for_ever() -> None:
    note = placed("# Note\n")
    edited = note.replace("- The Halvard.", "- The Halvard.\n- I saw her *twice*.\n\n  In 1891.")
    edited = edited.replace("Dues rose in 1893", "Dues **rose** in 1893")
    renewed = placed(edited, SECOND)
    below = renewed.split(KEPT_HEADING)[1]
    assert below == "\n\n- Dues **rose** in 1893 ([[Ledger]]).\n\n- I saw her *twice*.\n\n  In 1891.\n"
    assert placed(renewed, FIRST).split(KEPT_HEADING)[1] == below
    assert placed(placed(renewed, FIRST), SECOND) == renewed


@pytest.mark.attack("V6")
def test_text_below_the_signature_stays_where_it_is() -> None:
    note = placed("# Note\n") + "\nMy own last word.\n```\n## Research\n```\n"
    renewed = placed(note, SECOND)
    assert renewed.endswith(" -->\n\nMy own last word.\n```\n## Research\n```\n")
    assert KEPT_HEADING not in renewed


@pytest.mark.attack("V6")
def test_a_section_that_was_the_users_keeps_every_word() -> None:
    renewed = placed("## Research\n\n- [ ] ask Ada\n\n\tcode\n## Next\n")
    assert renewed.endswith(f"{KEPT_HEADING}\n\n- [ ] ask Ada\n\n\tcode\n\n## Next\n")


@pytest.mark.attack("V13")
def test_the_same_lines_again_change_nothing_though_run_and_date_differ() -> None:
    note = placed("# Note\n")
    assert place_section(note, "markdown", SectionContent(FIRST.lines, "run-9", "2030-01-01")) == SectionPlacement(
        note, changed=False
    )


def test_a_note_that_ends_in_an_open_fence_is_refused() -> None:
    with pytest.raises(Conflict, match="open code block"):
        placed("```python\nprint()\n")


def test_plain_text_has_a_section_only_where_we_wrote_one() -> None:
    note = "Some text\n## Research\nmy own words\n"
    result = placed(note, form="plain")
    assert result.startswith(note)
    renewed = placed(result + "\nand after\n", SECOND, "plain")
    assert renewed.startswith(note)
    assert renewed.endswith(" -->\n\nand after\n")
    assert "1893" not in renewed


def test_a_topic_is_drawn_from_the_note_without_what_we_wrote() -> None:
    note = placed("# Note\n").replace("- The Halvard.", "- The Halvard.\nmine")
    assert without_section(note, "markdown") == "# Note\n\nmine\n"


PIECES = st.sampled_from(
    [
        *(
            "# A\n",
            "## Research\n",
            "## Research ##\n",
            "Research\n---\n",
            "## Next\n",
            "text ",
            "word\n",
            "\n",
            "\r\n",
            "\r",
        ),
        *(
            "```\n",
            "~~~\n",
            "> quote\n",
            "- item\n",
            "    code\n",
            "<!-- c -->\n",
            "%%\n",
            "$$\n",
            "---\n",
            "| a | b |\n",
        ),
        *(
            "[[Ledger]]",
            "\u2028",
            "\x0b",
            "\x85",
            "é",
            "👩\u200d👧",
            "\ufeff",
            "\t",
            "- The Halvard.\n",
            KEPT_HEADING + "\n",
        ),
    ]
)
NOTES = st.one_of(st.lists(PIECES, max_size=25).map("".join), st.text(st.characters(codec="utf-8"), max_size=200))


@settings(max_examples=400, deadline=None)
@given(NOTES, st.sampled_from(["markdown", "plain"]))
def test_outside_of_the_section_every_character_stays(note: str, form: NoteFormat) -> None:
    section = find_section(note, form)
    try:
        result = placed(note, FIRST, form)
    except Conflict:
        return
    start, end = (section.start, section.end) if section else (len(note), len(note))
    assert result.startswith(note[:start])
    assert result.endswith(note[end:])
    # Nothing of the user's is lost from inside of it either.
    inside = [line for line in note[start:end].replace("\r", "\n").split("\n") if line.strip()]
    left = result[start : len(result) - len(note[end:])].replace("\r", "\n").split("\n")
    for line in inside:
        assert line in left
        left.remove(line)
    assert placed(result, FIRST, form) == result
    if section is None:
        assert without_written(as_read(result)) == as_read(note)


@settings(max_examples=200, deadline=None)
@given(NOTES, st.integers(0, 30), st.text(st.sampled_from("abc \n-#`>"), max_size=30))
def test_whatever_the_user_adds_to_a_section_outlives_it(note: str, place: int, added: str) -> None:
    try:
        first = placed(note)
        lines = first.split("\n")
        edited = "\n".join([*lines[: -1 - place], added, *lines[-1 - place :]])
        second = placed(edited, SECOND)
    except Conflict:
        return
    kept = second.split("\n")
    for line in added.split("\n"):
        assert not line.strip() or line in kept
    assert placed(second, SECOND) == second
