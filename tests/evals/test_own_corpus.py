"""`eval corpus`: questions from somebody's own notes, and why they fail where they do."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell import BadInput, Settings
from citewell.evals.cases import load_cases
from citewell.evals.own_corpus import OwnNote, as_cases, evaluate_corpus, questions_from
from citewell.evals.propose import write_cases
from citewell.evals.results import CorpusReport

NOTES = {
    "lamp.md": "# The lamp\n\nThe lamp of Holm burned colza oil from the northern mill until 1871.\n",
    "halvard.md": "---\nbuilder: Aker Yard\n---\n# Halvard\n\nA halyard is a rope that lifts a sail or a flag.\n",
    "ferry.md": "# The ferry\n\n## Tickets for the winter crossing\n\nThey are sold on board by the mate.\n",
    "broken.xyz": "nothing",
}


def asked(text: str, title: str = "Halvard", *others: OwnNote) -> dict[str, tuple[str, str]]:
    found = questions_from([OwnNote("note:a", title, text), *others], 50)
    return {one.kind: (one.question, one.wanted) for one in found if one.source_key == "note:a"}


def test_each_kind_of_question_is_made_from_what_a_note_says() -> None:
    assert asked(NOTES["halvard.md"]) == {
        "property": ("What is the builder of Halvard?", "Aker Yard"),
        "definition": ("What is halyard?", ""),
    }
    assert asked(NOTES["ferry.md"], "The ferry")["heading"] == ("Tickets for the winter crossing", "")


def test_a_cloze_holds_out_its_value_and_the_order_of_the_words() -> None:
    question, wanted = asked(NOTES["lamp.md"], "The lamp")["cloze"]
    assert wanted == "1871"
    assert "1871" not in question
    assert " ".join(question.split()[:3]) not in NOTES["lamp.md"]


def test_a_list_of_one_is_asked_for_by_its_value_and_an_empty_section_is_not_asked_for() -> None:
    text = '---\ndirector:\n  - "[[Oskar Lindqvist]]"\n---\n## Films of this director\n\n![[Films.base]]\n'
    assert asked(text, "Nine Gales") == {"property": ("What is the director of Nine Gales?", "Oskar Lindqvist")}


def test_what_two_notes_are_called_names_neither() -> None:
    twin = OwnNote("note:b", "Halvard", "---\nbuilder: Other\n---\n")
    assert "property" not in asked(NOTES["halvard.md"], "Halvard", twin)


def test_the_same_notes_give_the_same_questions_and_a_few_are_spread_over_all() -> None:
    notes = [
        OwnNote(f"note:{n}", f"Note {n}", f"# Note {n}\n\nThe keeper of lighthouse{n} counted {n}17 passing ships.\n")
        for n in range(1, 9)
    ]
    few = questions_from(notes, 4)
    assert few == questions_from(notes, 4)
    assert len({one.source_key for one in few}) == 4


def test_a_folder_is_asked_and_its_report_says_what_failed_and_why(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, "utf-8")
    settings = Settings(data_dir=tmp_path / "data", embeddings="off")
    *_, report = evaluate_corpus(folder, settings)
    assert isinstance(report, CorpusReport)
    assert report.documents == 3
    assert [one.path for one in report.not_indexed] == ["broken.xyz"]
    assert report.passed + report.failed == len(report.cases) == report.by_kind[-1].asked
    by_kind = {one.kind: one for one in report.cases}
    assert (by_kind["cloze"].outcome, by_kind["cloze"].rank) == ("right", 1)
    assert by_kind["property"].outcome == "right"
    assert all(one.why for one in report.cases if one.outcome != "right")
    # The user's own corpus was not opened.
    assert not settings.corpus_path.exists()
    path = tmp_path / "cases.yaml"
    write_cases(as_cases(report), path)
    assert len(load_cases([path])[0].cases) == len(report.cases)


def test_a_folder_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no folder"):
        list(evaluate_corpus(tmp_path / "none", Settings(data_dir=tmp_path / "data")))
