"""The semantic lane end to end over a real corpus: what it finds, what it never does, and how encoding goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from citewell import Citewell, EncodeReport, Filters, Settings, Unavailable
from citewell.models.embeddings import Embedder
from citewell.search.lanes import encode_corpus
from citewell.store.port import VectorCoverage
from citewell.store.sqlite import fetch_rows, fetch_value
from citewell.store.vectors import VectorStore
from conftest import SteadyClock, Write, add, sqlite_corpus
from toy_embedder import DIMENSION, WordEmbedder, vector

NOTES: dict[str, str | bytes] = {
    "garage.md": "---\ntags: [home]\n---\n# Garage\n\nThe automobile wants tyres.\n",
    "sea.md": "# Sea\n\nKelp grows on ropes in the harbour.\n",
    "heat.md": "# Heating\n\nThe pump is loud at night.\n",
    "train.md": "# Train\n\nThe car to the harbour.\n",
}


def _engine(data: Path, embedder: Embedder | None = None, embeddings: str = "off") -> Citewell:
    model = embedder or WordEmbedder()
    return Citewell(Settings(data_dir=data, embeddings=embeddings), SteadyClock(), lambda: model)


@pytest.fixture
def encoded(tmp_path: Path, vault: Write) -> Iterator[Citewell]:
    engine = _engine(tmp_path / "data")
    add(engine, vault(NOTES))
    list(engine.corpus.encode())
    yield engine
    engine.close()


def _keys(engine: Citewell, query: str, mode: str | None = None, **options: object) -> list[str]:
    found = engine.search(query, mode=mode, **options)
    return [row.source_key for row in found.results]


def test_meaning_finds_what_words_miss_and_says_so(encoded: Citewell) -> None:
    assert _keys(encoded, "cars and tyres of automobile", "semantic")[0] == "note:vault/garage"
    assert "note:vault/garage" not in _keys(encoded, "cars", "lexical")
    found = encoded.search("cars", mode="hybrid")
    by_key = {row.source_key: row for row in found.results}
    assert found.mode == "hybrid"
    assert by_key["note:vault/garage"].lanes == ("semantic",)
    assert by_key["note:vault/train"].lanes == ("lexical", "semantic")
    for row in found.results:
        assert row.score == pytest.approx(sum(signal.value for signal in row.signals), abs=1e-5)
        assert row.text == encoded.store.slice(row.span.content_hash, row.span.start, row.span.end)


def test_filters_apply_before_meaning_ranks(encoded: Citewell) -> None:
    assert _keys(encoded, "automobile", "semantic", filters=Filters(tags=("home",)), limit=1) == ["note:vault/garage"]
    assert _keys(encoded, "automobile", "semantic", filters=Filters(only=("sea.md",))) == []


def test_in_shadow_the_words_answer_and_the_report_says_what_would_change(encoded: Citewell) -> None:
    plain = encoded.search("loud cars", mode="lexical")
    encoded.settings = replace(encoded.settings, embeddings="shadow")
    shadow = encoded.search("loud cars")
    assert (shadow.results, shadow.mode, shadow.warnings) == (plain.results, "lexical", ())
    assert shadow.semantic is not None
    assert shadow.semantic.use == "shadow"
    assert "note:vault/garage" in shadow.semantic.entered


def test_packs_use_the_lane_as_the_settings_say(encoded: Citewell) -> None:
    question = "Are cars noisy?"
    plain = encoded.pack(question)
    encoded.settings = replace(encoded.settings, embeddings="shadow")
    assert encoded.pack(question) == plain
    encoded.settings = replace(encoded.settings, embeddings="on")
    hybrid = encoded.pack(question)
    lanes = {row.source_key: row.lanes for row in hybrid.evidence}
    assert lanes["note:vault/garage"] == ("semantic",)
    for row in hybrid.evidence:
        assert row.score == pytest.approx(sum(signal.value for signal in row.signals), abs=1e-5)
    assert encoded.pack(question, semantic=False) == plain


def test_a_quoted_phrase_is_not_passed_by_meaning_alone(tmp_path: Path, vault: Write) -> None:
    engine = _engine(tmp_path / "data")
    filler = "The lantern, the ropes, the boats, the nets and the harbour wall were painted. " * 6
    add(engine, vault({"exact.md": f"# Log\n\n{filler} A red car stood.", "near.md": "Automobile, red."}))
    list(engine.corpus.encode())
    assert _keys(engine, '"red car"', "semantic")[0] == "note:vault/near"
    words = _keys(engine, '"red car"', "lexical")
    assert _keys(engine, '"red car"', "hybrid") == words == ["note:vault/exact", "note:vault/near"]
    engine.close()


def test_without_a_model_words_answer_and_only_meaning_alone_fails(tmp_path: Path, vault: Write) -> None:
    def missing() -> Embedder:
        raise Unavailable("There is no model.", fix="Install it.")

    encoding = _engine(tmp_path / "data", WordEmbedder(), "on")
    add(encoding, vault(NOTES))
    list(encoding.corpus.encode())
    encoding.close()
    engine = Citewell(Settings(data_dir=tmp_path / "data", embeddings="on"), SteadyClock(), missing)
    found = engine.search("harbour")
    assert found.mode == "lexical"
    assert found.results
    assert found.warnings == ("Searched by words only. There is no model.",)
    assert engine.pack("where does kelp grow?").evidence
    with pytest.raises(Unavailable, match="no model"):
        engine.search("harbour", mode="semantic")
    engine.close()


def test_before_anything_is_encoded_words_answer_and_no_model_is_opened(tmp_path: Path, vault: Write) -> None:
    def unasked() -> Embedder:
        raise AssertionError("the model was opened")

    engine = Citewell(Settings(data_dir=tmp_path / "data"), SteadyClock(), unasked)
    add(engine, vault(NOTES))
    found = engine.search("harbour")
    assert (found.mode, found.warnings) == ("lexical", ())
    assert engine.pack("where does kelp grow?").evidence
    engine.close()


def test_encoding_stops_when_its_time_is_over_and_goes_on_later(tmp_path: Path, vault: Write) -> None:
    engine = _engine(tmp_path / "data", WordEmbedder(), "on")
    add(engine, vault({f"{number}.md": f"Note {number} about kelp." for number in range(70)}))
    *_, first = engine.corpus.encode(most_seconds=0.0015)
    assert isinstance(first, EncodeReport)
    assert 0 < first.left < 70
    *_, second = engine.corpus.encode()
    assert isinstance(second, EncodeReport)
    assert (second.left, first.encoded + second.encoded) == (0, 70)
    engine.close()


def test_a_model_that_breaks_leaves_the_words(tmp_path: Path, vault: Write) -> None:
    class Broken(WordEmbedder):
        def encode_query(self, text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
            raise RuntimeError("bad graph")

    engine = _engine(tmp_path / "data", Broken(), "on")
    add(engine, vault(NOTES))
    list(engine.corpus.encode())
    found = engine.search("harbour")
    assert (found.mode, len(found.results)) == ("lexical", 2)
    assert "bad graph" in found.warnings[0]
    engine.close()


def test_encoding_goes_on_where_it_was_interrupted(tmp_path: Path, vault: Write) -> None:
    root = vault({f"n{number:03}.md": f"# Note {number}\n\nkelp {number}\n" for number in range(100)})
    first = WordEmbedder(stop_after=70)
    engine = _engine(tmp_path / "data", first)
    add(engine, root)
    with pytest.raises(KeyboardInterrupt):
        list(engine.corpus.encode())
    engine.close()
    second = WordEmbedder()
    engine = _engine(tmp_path / "data", second)
    before = engine.store.vectors.coverage()
    assert before == VectorCoverage("words-64", 64, 36)
    assert engine.corpus.status().vectors == before
    *_, report = engine.corpus.encode()
    assert isinstance(report, EncodeReport)
    assert (report.encoded, report.left, report.chunks) == (36, 0, 100)
    assert len(second.encoded) == 36
    assert set(first.encoded) & set(second.encoded) == set()
    *_, again = engine.corpus.encode()
    assert isinstance(again, EncodeReport)
    assert again.encoded == 0
    engine.close()


def test_another_model_makes_every_vector_anew(encoded: Citewell) -> None:
    list(encode_corpus(encoded.store.vectors, WordEmbedder("other-64"), SteadyClock()))
    assert encoded.store.vectors.coverage() == VectorCoverage("other-64", 4, 0)
    with pytest.raises(Unavailable, match="no vectors yet from words-64"):
        encoded.search("car", mode="semantic")


def test_what_is_removed_leaves_no_vector_and_is_found_no_more(encoded: Citewell) -> None:
    encoded.corpus.remove("note:vault/garage")
    assert "note:vault/garage" not in _keys(encoded, "automobile", "semantic")
    with sqlite_corpus(encoded).database.read() as connection:
        (scales,) = fetch_rows(connection, "SELECT scales FROM vector_blocks")[0]
        chunks = int(fetch_value(connection, "SELECT count(*) FROM chunks"))
    assert int(np.count_nonzero(np.frombuffer(scales, np.float32))) == chunks == 3


def test_what_was_changed_meanwhile_is_found_by_words_until_it_is_encoded(encoded: Citewell, vault: Write) -> None:
    add(encoded, vault({"garage.md": "# Garage\n\nThe bicycle is gone.\n"}))
    assert "note:vault/garage" not in _keys(encoded, "automobile", "semantic")
    assert _keys(encoded, "bicycle", "hybrid")[0] == "note:vault/garage"
    list(encoded.corpus.encode())
    assert _keys(encoded, "bicycle", "semantic")[0] == "note:vault/garage"


def test_the_scan_by_signs_finds_what_the_exact_one_finds(encoded: Citewell) -> None:
    corpus = sqlite_corpus(encoded)
    by_signs = VectorStore(corpus.database, corpus._postings, exact_chunks=0)
    for query in ("automobile", "loud pump", "harbour train"):
        asked = vector(query).reshape(1, DIMENSION)
        exact = corpus.vectors.rank("words-64", asked, Filters(), 10)
        assert exact
        assert by_signs.rank("words-64", asked, Filters(), 10) == exact


def test_a_run_with_the_lane_replays(tmp_path: Path, vault: Write) -> None:
    import asyncio

    from citewell import RunResult

    engine = _engine(tmp_path / "data", None, "on")
    add(engine, vault(NOTES))
    list(engine.corpus.encode())

    async def run() -> RunResult:
        last = [event async for event in engine.stream("Is the pump noisy?")][-1]
        assert isinstance(last, RunResult)
        return last

    result = asyncio.run(run())
    assert any("semantic" in row.lanes for row in result.pack.evidence) if result.pack else False
    assert engine.runs.replay(result.run_id).identical
    engine.close()
