"""What Citewell wrote into a note is never found, quoted or followed; what the user wrote into it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell import Citewell
from citewell.notes.section import SectionContent, place_section
from citewell.readers.kinds import read_plain
from citewell.readers.markdown import markdown_document

FALSE = "The Halvard carried nine thousand zebras to Tromsø."
OWN = "Ada told me the Halvard was painted green."
NOTE = "# Halvard\n\nThe Halvard sailed in 1893 under captain Lund.\n"
SECTION = SectionContent(("### Cargo of the Halvard", f"- {FALSE} [[Zebra ledger]] #zebra"), "run-1", "2026-11-16")


def note_with_section() -> str:
    written = place_section(NOTE, "markdown", SECTION).text
    return written.replace(" #zebra\n", f" #zebra\n{OWN} [[Painters]]\n")


def test_a_note_reads_the_same_with_its_section_and_without() -> None:
    written = place_section(NOTE, "markdown", SECTION).text
    assert markdown_document(written) == markdown_document(NOTE)
    plain = place_section(NOTE, "plain", SECTION).text
    assert read_plain(plain.encode()) == read_plain(NOTE.encode())


def test_the_users_lines_of_a_section_are_the_users() -> None:
    read = markdown_document(note_with_section())
    assert OWN in read.text
    assert FALSE not in read.text
    assert [link.target for link in read.links] == ["Painters"]
    assert read.tags == ()


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: text.replace("- The Halvard carried", "* The  Halvard carried"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("## Research", "## My research"),
        lambda text: text.replace("## Research", "```\n## Research"),
        lambda text: "> " + text.replace("### Cargo", "## Mine\n### Cargo"),
        lambda text: f"Copied from elsewhere.\n\n{text[text.index('### Cargo') :]}",
    ],
)
def test_a_section_is_known_however_the_note_around_it_changes(changed: object) -> None:
    assert callable(changed)
    assert FALSE.split()[-3] not in markdown_document(changed(note_with_section())).text


@pytest.mark.attack("P5")
def test_a_false_sentence_of_ours_is_neither_searched_nor_quoted(engine: Citewell, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "halvard.md").write_text(note_with_section(), "utf-8")
    (vault / "copy.md").write_text("Copied.\n\n" + note_with_section().split("\n\n", 2)[2], "utf-8")
    (vault / "other.md").write_text("# Tromsø\n\nZebras were seen in Tromsø in 1901, in a circus.\n", "utf-8")
    list(engine.corpus.sync(vault))
    for question in ("nine thousand zebras", "How many zebras did the Halvard carry?", "Zebra ledger", "zebra cargo"):
        rows = engine.search(question, limit=50, max_chars=5_000).results
        assert all("nine thousand" not in row.text for row in rows)
        result = engine.runs.wait(engine.start(question))
        assert "nine thousand" not in result.answer
        assert result.pack is not None
        assert all("nine thousand" not in row.text for row in result.pack.evidence)
    keys = [row.source_key for row in engine.search("Halvard", limit=50).results]
    documents = engine.corpus.get(*keys, content_mode="full").documents
    assert documents
    assert all(
        "nine thousand" not in document.text and "Zebra ledger" not in document.links_out for document in documents
    )
    (found,) = [row for row in engine.search("painted green", limit=5).results if row.note_path == "halvard.md"]
    assert OWN in found.text
