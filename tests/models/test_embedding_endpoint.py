"""Embeddings from an endpoint: over real HTTP, into a real corpus, and words where it fails."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citewell import BadInput, Citewell, Settings, Unavailable
from citewell.models.embeddings import EmbeddingEndpoint, Pause, is_endpoint, open_embedder
from citewell.models.endpoints import resolve
from citewell.models.faults import Pace
from conftest import SteadyClock, Write, add
from support.model_script import Reply, fails, sends, silent
from support.model_server import ScriptedModelServer, refused_url

pytestmark = pytest.mark.slow


NOTES: dict[str, str | bytes] = {
    "garage.md": "# Garage\n\nThe automobile needs new tyres.\n",
    "kelp.md": "# Kelp\n\nThe longlines hang in the bay.\n",
}


def embedder(server: ScriptedModelServer, seconds: float = 20.0) -> EmbeddingEndpoint:
    naps: list[float] = []
    endpoint = resolve("openai:words", Settings(data_dir=Path("unused"), openai_url=server.base_url))
    return EmbeddingEndpoint(endpoint, Pause(seconds, naps.append), Pace())


def test_vectors_come_back_in_order_with_length_one() -> None:
    with ScriptedModelServer(embed=lambda text: [float(len(text)), 2.0] * 32) as server:
        vectors = embedder(server).encode_passages(["a" * size for size in range(1, 71)])
        sizes = [len(request.body["input"]) for request in server.requests]
    assert vectors.shape == (70, 64)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert np.all(np.diff(vectors[:, 0]) > 0)
    assert sizes == [32, 32, 6]


def test_a_dimension_that_does_not_fit_is_filled_up() -> None:
    with ScriptedModelServer(embed=lambda text: [1.0] * 100) as server:
        model = embedder(server)
        assert model.encode_query("tide").shape == (1, 128)
        assert model.dimension == 128
        assert "-128-" in model.model_id
        assert model.encode_passages([]).shape == (0, 128)


def test_an_empty_text_and_a_vector_of_zeros_do_no_harm() -> None:
    with ScriptedModelServer(embed=lambda text: [0.0] * 64) as server:
        assert not embedder(server).encode_passages([""]).any()
        assert server.requests[0].body["input"] == [" "]


def test_secrets_that_are_set_are_not_sent() -> None:
    with ScriptedModelServer(key="sk-0123456789ab") as server:
        settings = Settings(
            data_dir=Path("unused"),
            model_api_key="sk-0123456789ab",
            openai_url=server.base_url,
            embeddings_model="openai:words",
        )
        model = open_embedder(settings)
        model.encode_passages(["the key is sk-0123456789ab here"])
        model.encode_query("sk-0123456789ab")
    sent = [request.body["input"] for request in server.requests]
    assert sent == [["the key is ••••••••••••••• here"], ["•••••••••••••••"]]


def _data(*rows: Any) -> Reply:
    return sends(json.dumps({"data": list(rows)}).encode(), content_type="application/json")


@pytest.mark.parametrize(
    "reply",
    [
        _data(),
        _data({"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}),
        _data({"index": 0, "embedding": "AAAA"}),
        _data({"index": 0, "embedding": [None]}),
        _data({"index": 0, "embedding": []}),
        _data({"index": 0, "embedding": [float("nan")]}),
        _data({"embedding": [1.0]}),
        _data({"index": 0, "embedding": [[1.0]]}),
        _data(5),
        sends(b"<html>", content_type="text/html"),
        fails(404, "model not found"),
        fails(500),
        silent(),
    ],
)
def test_what_is_no_vector_is_unavailable(reply: Reply) -> None:
    with ScriptedModelServer(embeddings=reply) as server, pytest.raises(Unavailable) as error:
        embedder(server, 0.5).encode_query("tide")
    assert error.value.fix


def test_a_dimension_that_changes_is_refused() -> None:
    with ScriptedModelServer(embed=lambda text: [1.0] * (64 if text == "a" else 128)) as server:
        model = embedder(server)
        model.encode_query("a")
        with pytest.raises(Unavailable, match="128 numbers where there were 64"):
            model.encode_query("b")


def test_a_fault_that_passes_is_tried_again() -> None:
    vector = _data({"index": 0, "embedding": [1.0] * 64})
    with ScriptedModelServer(embeddings=[fails(503), fails(429, headers={"retry-after": "1"}), vector]) as server:
        assert embedder(server).encode_query("tide").shape == (1, 64)
        assert len(server.requests) == 3


def test_a_refused_connection_names_the_address() -> None:
    endpoint = resolve("ollama:x", Settings(data_dir=Path("unused"), ollama_url=refused_url()))
    with pytest.raises(Unavailable) as error:
        EmbeddingEndpoint(endpoint, Pause(5.0, lambda _: None)).encode_query("tide")
    assert "127.0.0.1" in error.value.message
    assert "ollama serve" in error.value.fix


@pytest.mark.parametrize(("chosen", "is_one"), [("ollama:x", True), ("~/models", False), ("C:\\models", False)])
def test_a_folder_is_told_from_an_endpoint(chosen: str, is_one: bool) -> None:
    assert is_endpoint(chosen) is is_one


def test_a_provider_without_embeddings_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="anthropic offers no embeddings"):
        open_embedder(Settings(data_dir=tmp_path, embeddings_model="anthropic:x"))


# With a corpus


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as running:
        yield running


def engine_of(server: ScriptedModelServer, tmp_path: Path, model: str) -> Citewell:
    chosen = Settings(
        data_dir=tmp_path / "data", embeddings="on", embeddings_model=model, model_base_url=server.base_url
    )
    return Citewell(chosen, SteadyClock())


def found(engine: Citewell, query: str) -> Sequence[str]:
    return [row.source_key for row in engine.search(query, mode="hybrid").results]


def test_a_corpus_is_searched_by_meaning_and_never_by_vectors_of_another_model(
    server: ScriptedModelServer, tmp_path: Path, vault: Write
) -> None:
    first = engine_of(server, tmp_path, "openai:first")
    add(first, vault(NOTES))
    list(first.corpus.encode())
    assert first.store.vectors.coverage().left == 0
    made = first.store.vectors.coverage().model
    assert found(first, "car") == ["note:vault/garage"]
    first.close()

    second = engine_of(server, tmp_path, "openai:second")
    result = second.search("car", mode="hybrid")
    assert not result.results
    assert any("no vectors yet" in warning for warning in result.warnings), result.warnings
    list(second.corpus.encode())
    coverage = second.store.vectors.coverage()
    assert (coverage.left, coverage.model == made) == (0, False)
    assert found(second, "car") == ["note:vault/garage"]
    second.close()


def test_an_endpoint_that_is_gone_leaves_the_words(server: ScriptedModelServer, tmp_path: Path, vault: Write) -> None:
    engine = engine_of(server, tmp_path, "openai:first")
    add(engine, vault(NOTES))
    list(engine.corpus.encode())
    engine.close()
    away = Citewell(replace(engine.settings, model_base_url=refused_url()), SteadyClock())
    result = away.search("automobile", mode="hybrid")
    assert [row.source_key for row in result.results] == ["note:vault/garage"]
    assert any("Embeddings failed" in warning for warning in result.warnings)
    with pytest.raises(Unavailable):
        away.search("automobile", mode="semantic")
    away.close()


def test_doctor_says_whether_the_endpoint_is_there(server: ScriptedModelServer, tmp_path: Path) -> None:
    def lane(**values: Any) -> tuple[str, str]:
        (check,) = (
            check
            for check in Citewell(Settings(data_dir=tmp_path, embeddings="on", **values)).doctor().checks
            if check.name == "semantic lane"
        )
        return check.state, check.fix

    assert lane(embeddings_model="ollama:test", ollama_url=server.base_url)[0] == "ok"
    state, fix = lane(embeddings_model="ollama:other", ollama_url=server.base_url)
    assert (state, "ollama pull other" in fix) == ("missing", True)
