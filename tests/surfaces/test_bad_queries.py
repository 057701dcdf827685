"""Whatever is typed, and whatever is missing: the program answers, or says in one sentence why it does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, Filters, Settings
from citewell.cli.main import run
from citewell.store.sqlite import connect
from conftest import Write
from toy_embedder import WordEmbedder

NOTES: dict[str, str | bytes] = {
    "kelp.md": "# Kelp\nKelp is seeded in autumn 🌊 and cut in May. Vitamin C is in it.",
    "arabic.md": "# المنارة\nالمنارة القديمة في الميناء أضيئت لأول مرة عام 1859.",
    "hebrew.md": "# המגדלור\nהמגדלור הישן עומד בנמל ומאיר את הים בלילה.",
    "mixed.md": "# 海带 и kelp\nВодоросли 海带 kelp растут у берега вместе.",
}

Cli = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def program(corpus: Citewell, capfdbinary: pytest.CaptureFixture[bytes]) -> Cli:
    """Runs a command over the notes: exit code, the JSON document it printed, what it said on stderr."""

    def call(*arguments: str) -> tuple[int, Any, str]:
        code = run(["--data-dir", str(corpus.settings.data_dir), *arguments])
        printed = capfdbinary.readouterr()
        return code, json.loads(printed.out), printed.err.decode("utf-8")

    return call


COMMANDS = (("search", "--json"), ("research", "--retrieval-only", "--json"))


@pytest.mark.parametrize("command", COMMANDS, ids=["search", "pack"])
@pytest.mark.parametrize(
    "query",
    [
        "x",
        "C",
        "7",
        "AND OR NOT",
        "( ) OR (",
        '" * AND',
        "NEAR(",
        "🌊",
        "🌊🌊🌊 👩‍👩‍👧‍👦",
        "\u202eنمل\u202c",
        "\u200f\u200e",
        "ا",
        "?!…",
        "\u0301\u0301\u0301",
        "\ufeff",
        "ﷺ",
        "a" * 7_999,
        "kelp " * 1_599,
        '"' * 500,
        "@ # . -",
    ],
)
def test_any_query_gets_an_answer_that_fits_its_shape(program: Cli, command: tuple[str, ...], query: str) -> None:
    code, document, said = program(*command, "--", query)
    assert code == 0, said
    rows = document["results" if command[0] == "search" else "evidence"]
    assert len(rows) <= 8
    assert "Traceback" not in said


@pytest.mark.parametrize("command", COMMANDS, ids=["search", "pack"])
@pytest.mark.parametrize(
    ("query", "says"), [("", "empty"), (" \t\n", "empty"), ("k" * 100_000, "at most 8,000"), ("海" * 40_000, "8,000")]
)
def test_nothing_and_far_too_much_are_refused_in_a_sentence(
    program: Cli, command: tuple[str, ...], query: str, says: str
) -> None:
    code, document, _ = program(*command, "--", query)
    assert code == 2
    assert says in document["error"]["message"]
    assert document["error"]["fix"]


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("متى أضيئت المنارة", "arabic"),
        ("\u202bالمنارة\u202c", "arabic"),
        ("איפה עומד המגדלור", "hebrew"),
        ("kelp 海带", "mixed"),
        ("водоросли kelp المنارة", "mixed"),
        ("kelp 🌊 autumn", "kelp"),
        ("Vitamin C", "kelp"),
    ],
)
def test_every_script_and_a_mix_of_them_finds_its_note(program: Cli, query: str, key: str) -> None:
    _, document, _ = program("search", "--json", "--", query)
    assert document["results"][0]["source_key"] == f"note:vault/{key}"


def test_a_filter_that_excludes_everything_is_said_and_is_no_failure(program: Cli) -> None:
    code, document, said = program("search", "kelp", "--tag", "nowhere", "--json")
    assert (code, document["results"], document["eligible_documents"]) == (0, [], 0)
    assert "The filters leave no document to search." in said
    code, document, _ = program("research", "kelp", "--retrieval-only", "--not-in", ".", "--since", "2999", "--json")
    assert (code, document["evidence"]) == (0, [])
    assert document["next_steps"]


DERIVED = ("index_segments", "index_terms", "index_postings", "index_chunks", "index_common")


@pytest.mark.parametrize("tables", [DERIVED, *((table,) for table in DERIVED)], ids=["all of it", *DERIVED])
def test_an_engine_that_is_serving_goes_on_when_its_index_is_taken_away_under_it(
    corpus: Citewell, tables: tuple[str, ...], tmp_path: Path
) -> None:
    """Another process empties the derived tables; the words still find, and the next `add` makes the index anew."""
    before = [row.source_key for row in corpus.search("kelp").results]
    packed = {row.source_key for row in corpus.pack("kelp autumn").evidence}
    assert set(before) == {"note:vault/kelp", "note:vault/mixed"}
    other = connect(corpus.settings.corpus_path)
    for table in tables:
        other.execute(f"DELETE FROM {table}")
    other.close()
    assert {row.source_key for row in corpus.search("kelp").results} == set(before)
    assert {row.source_key for row in corpus.pack("kelp autumn").evidence} == packed
    for _ in corpus.corpus.sync(tmp_path / "vault"):
        pass
    assert [row.source_key for row in corpus.search("kelp").results] == before
    assert corpus.store.check_integrity() == []


def test_a_corpus_of_one_document_answers_by_every_lane(tmp_path: Path, vault: Write) -> None:
    engine = Citewell(Settings(data_dir=tmp_path / "data", embeddings="on"), open_embedder=WordEmbedder)
    for _ in engine.corpus.sync(vault({"only.md": "The automobile is loud."})):
        pass
    for _ in engine.corpus.encode():
        pass
    for mode in ("lexical", "semantic", "hybrid"):
        found = engine.search("loud automobile", mode=mode)
        assert [row.source_key for row in found.results] == ["note:vault/only"], mode
    pack = engine.pack("Is the automobile loud?")
    assert [row.source_key for row in pack.evidence] == ["note:vault/only"]
    assert pack.coverage.missing_concepts == ()
    assert engine.search("turbine", mode="lexical").results == ()
    assert engine.search("loud", filters=Filters(tags=("none",))).results == ()
    engine.close()


def test_an_empty_corpus_says_what_to_do(tmp_path: Path) -> None:
    engine = Citewell(Settings(data_dir=tmp_path / "data"))
    assert "add a folder" in engine.search("kelp").warnings[0]
    assert "nothing has been added yet" in engine.pack("longlnies").coverage.recall_note
    engine.close()
