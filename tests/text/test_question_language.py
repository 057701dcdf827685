"""A question is told by its function words, which are then not searched for; English keeps its own short list."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from citewell import Citewell
from citewell.cli.main import cli
from citewell.search.query import normalize
from citewell.text.languages import LANGUAGE_NAMES, function_words, question_language
from conftest import Write, add
from synthesis.evidence import answer, source


@pytest.mark.parametrize(
    ("question", "language", "meant"),
    [
        ("Wie lange muss Limoncello ziehen?", "de", ["lange", "limoncello", "ziehen"]),
        ("¿Cuál fue mi libro favorito de 2025?", "es", ["libro", "favorito", "2025"]),
        ("Quel est le prix du billet ?", "fr", ["prix", "billet"]),
        ("How do I make croissants?", "en", ["croissants"]),
        ("heat pump noise", None, ["heat", "pump", "noise"]),
        ("die hard cast", None, ["die", "hard", "cast"]),
    ],
)
def test_function_words_of_the_questions_language_are_not_searched_for(
    question: str, language: str | None, meant: list[str]
) -> None:
    assert question_language(question) == language
    assert [token.folded for token in normalize(question).content] == meant


@pytest.mark.parametrize("language", LANGUAGE_NAMES)
def test_every_language_with_a_stemmer_has_function_words(language: str) -> None:
    assert len(function_words(language)) > 80


def test_a_question_of_function_words_alone_keeps_them() -> None:
    assert [token.folded for token in normalize("¿qué es esto?").content] == ["que", "es", "esto"]


def test_a_question_in_another_language_than_what_was_found_says_so() -> None:
    note = source("# Limoncello\n\nLet the peel of the lemons steep in alcohol, and wait for it.\n", "Limoncello")
    draft = answer("Wie teuer ist der Limoncello von der Tante?", note)
    assert draft.refused
    assert "The question is in German, what was found in English." in draft.sentences[0].text
    english = answer("How expensive is the limoncello of my aunt?", note)
    assert english.refused
    assert "The question is in" not in english.sentences[0].text


def test_that_nothing_is_saved_in_the_language_of_the_question_is_said(engine: Citewell, vault: Write) -> None:
    add(engine, vault({"Tea.md": "The kettle was bought in May for the office of the two teams and it is red."}))
    shown = CliRunner().invoke(
        cli, ["--data-dir", str(engine.settings.data_dir), "research", "Wie teuer ist der Wasserkocher?", "--no-trace"]
    )
    assert "The question is in German, what you saved in English." in " ".join(shown.stdout.split())
