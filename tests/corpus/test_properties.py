"""Everything a note carries can be found and quoted: properties, aliases, its title, its file name, its headings."""

from __future__ import annotations

import pytest

from citewell import Citewell
from citewell.store.sqlite import connect
from conftest import AddPath, Write

NOTES: dict[str, str | bytes] = {
    "References/Catan.md": '---\ncategories:\n  - "[[Board games]]"\nrating: 7\nlast: 2023-09-01\n---\n',
    "Notes/2023 Japan trip.md": '---\nstart: 2023-09-12\nend: 2023-09-30\nloc:\n  - "[[Kyoto]]"\n---\n',
    "References/Blade Runner.md": '---\ndirector:\n  - "[[Ridley Scott]]"\nyear: 1982\n---\n',
    "References/Zelda.md": '---\naliases:\n  - BOTW\nsystem: "[[Nintendo Switch]]"\n---\n',
    "vim/show-counts.md": "# Display word count stats\n\nHit `g CTRL-g`.\n",
    "Empty.md": "---\n---\n",
    "Long.md": "---\nauthor: Elias\n---\n# Kombucha\n\n" + "Brew the tea and wait. " * 200,
    "Titled.md": "---\ntitle: The real title\n---\n# Another heading\n\nText.\n",
}


def found(engine: Citewell, query: str) -> list[str]:
    return [row.note_path or "" for row in engine.search(query).results]


@pytest.mark.parametrize(
    ("query", "path", "text"),
    [
        ("Catan", "References/Catan.md", "rating: 7"),
        ("When was my Japan trip?", "Notes/2023 Japan trip.md", "start: 2023-09-12"),
        ("who directed Blade Runner", "References/Blade Runner.md", '- "[[Ridley Scott]]"'),
        ("BOTW", "References/Zelda.md", "Nintendo Switch"),
        ("Kyoto", "Notes/2023 Japan trip.md", "[[Kyoto]]"),
        ("author of kombucha", "Long.md", "author: Elias"),
    ],
)
def test_a_property_is_found_and_shown_with_its_exact_span(corpus: Citewell, query: str, path: str, text: str) -> None:
    row = corpus.search(query).results[0]
    assert row.note_path == path
    assert text in row.text
    (document,) = corpus.corpus.get(row.source_key, content_mode="full").documents
    assert document.text[row.span.start : row.span.end] == row.text


def test_a_trip_known_by_its_properties_alone_is_evidence_for_when_it_was(corpus: Citewell) -> None:
    first = corpus.pack("When was my Japan trip?").evidence[0]
    assert first.note_path == "Notes/2023 Japan trip.md"
    assert "start: 2023-09-12\nend: 2023-09-30" in first.text


def test_the_title_of_a_note_is_its_property_or_its_first_heading(corpus: Citewell) -> None:
    titles = {row.note_path: row.title for query in ("real", "word count") for row in corpus.search(query).results}
    assert titles == {"Titled.md": "The real title", "vim/show-counts.md": "Display word count stats"}


def test_file_name_title_heading_and_folder_are_all_searched(corpus: Citewell) -> None:
    assert [found(corpus, query) for query in ("show counts", "display stats", "vim")] == [["vim/show-counts.md"]] * 3
    assert [found(corpus, query) for query in ("Titled", "real title", "another heading")] == [["Titled.md"]] * 3


def test_a_note_that_has_only_a_name_is_found_by_it(corpus: Citewell) -> None:
    assert found(corpus, "empty") == ["Empty.md"]


def test_a_corpus_read_before_properties_counted_is_read_again(
    engine: Citewell, vault: Write, add_path: AddPath
) -> None:
    folder = vault(NOTES)
    add_path(folder)
    connection = connect(engine.settings.corpus_path)
    connection.execute("UPDATE files SET reader_version = reader_version - 1")
    connection.close()
    assert add_path(folder).updated == len(NOTES)
