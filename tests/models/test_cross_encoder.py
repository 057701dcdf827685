"""A cross-encoder from a folder reranks, and one that cannot be used leaves the shipped order with the reason.

The model is a real ONNX graph with a real tokenizer: a pair scores what its words weigh together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from citewell import Citewell, Filters, Settings, Unavailable
from citewell.cli.main import cli
from citewell.models.rerank import CrossEncoder, RerankQuery, RerankText, Signal
from citewell.search.lanes import rank
from citewell.search.query import lexical_query

onnx = pytest.importorskip("onnx")
tokenizers = pytest.importorskip("tokenizers")
pytest.importorskip("onnxruntime")

NOTES = {
    "Rope.md": "# Rope\nrope rope rope rope",
    "Yarn.md": "# Yarn\nA rope of hemp, tarred by hand.",
    "Wire.md": "# Wire\nThe rope is steel and long.",
}


def write_model(folder: Path, weights: dict[str, float], outputs: int = 1, extra: str = "") -> Path:
    """A cross-encoder that adds up what words weigh: a look-up, the mask, a sum."""
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {word: number for number, word in enumerate(["[PAD]", "[UNK]", *weights])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    helper, kinds = onnx.helper, onnx.TensorProto
    table = [value for weight in (0.0, 0.0, *weights.values()) for value in [0.0] * (outputs - 1) + [weight]]
    names = ["input_ids", "attention_mask", *([extra] if extra else [])]
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["each"]),
            helper.make_node("Cast", ["attention_mask"], ["mask"], to=kinds.FLOAT),
            helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
            helper.make_node("Mul", ["each", "wide"], ["kept"]),
            helper.make_node("ReduceSum", ["kept", "middle"], ["logits"], keepdims=0),
        ],
        "scores",
        [helper.make_tensor_value_info(name, kinds.INT64, ["n", "length"]) for name in names],
        [helper.make_tensor_value_info("logits", kinds.FLOAT, ["n", outputs])],
        [
            helper.make_tensor("table", kinds.FLOAT, [len(vocabulary), outputs], table),
            helper.make_tensor("last", kinds.INT64, [1], [-1]),
            helper.make_tensor("middle", kinds.INT64, [1], [1]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / "model.onnx"))
    return folder


@pytest.fixture
def with_reranker(tmp_path: Path) -> Iterator[Citewell]:
    """An engine over the notes whose reranker is `tmp_path/encoder`, whatever a test puts there."""
    vault = tmp_path / "vault"
    vault.mkdir()
    for name, text in NOTES.items():
        (vault / name).write_text(text, "utf-8")
    engine = Citewell(Settings(data_dir=tmp_path / "data", reranker=str(tmp_path / "encoder")))
    for _ in engine.corpus.sync(vault):
        pass
    yield engine
    engine.close()


def _titles(engine: Citewell) -> list[str]:
    return [row.title for row in engine.search("rope").results]


@pytest.mark.parametrize("outputs", [1, 2])
def test_the_model_decides_the_order_and_the_row_says_so(with_reranker: Citewell, tmp_path: Path, outputs: int) -> None:
    write_model(tmp_path / "encoder", {"steel": 5.0, "hemp": 2.0}, outputs)
    found = with_reranker.search("rope").results
    assert [row.title for row in found] == ["Wire", "Yarn", "Rope"]
    signals = {signal.name: signal for signal in found[0].signals}
    assert signals["cross_encoder"].detail == "reranked by encoder: 5.000"
    assert abs(sum(signal.value for signal in found[0].signals) - found[0].score) < 1e-6


def test_a_pack_names_the_model_too(with_reranker: Citewell, tmp_path: Path) -> None:
    write_model(tmp_path / "encoder", {"steel": 5.0})
    first = with_reranker.pack("rope").evidence[0]
    assert first.title == "Wire"
    assert "reranked by encoder: 5.000" in [signal.detail for signal in first.signals]


def test_what_stands_beside_a_text_does_not_change_its_score(tmp_path: Path) -> None:
    encoder = CrossEncoder(write_model(tmp_path / "encoder", {"steel": 5.0, "rope": 1.0}))
    assert encoder.scores("rope", ["steel", "a much longer text of many words without any of them"]) == [6.0, 1.0]
    assert encoder.scores("rope", []) == []


def _broken(folder: Path, how: str) -> None:
    if how == "no folder":
        return
    write_model(folder, {"steel": 5.0}, 3 if how == "three outputs" else 1, "pixels" if how == "pixels" else "")
    if how == "no graph":
        (folder / "model.onnx").unlink()
    elif how == "damaged graph":
        (folder / "model.onnx").write_bytes(b"not a graph")
    elif how == "damaged tokenizer":
        (folder / "tokenizer.json").write_text("{", "utf-8")
    elif how == "not finite":
        write_model(folder, {"steel": float("nan"), "rope": float("inf")})


HOW = ["no folder", "no graph", "damaged graph", "damaged tokenizer", "three outputs", "pixels", "not finite"]


@pytest.mark.parametrize("how", HOW)
def test_a_folder_that_cannot_be_used_leaves_the_order_and_says_why(
    with_reranker: Citewell, tmp_path: Path, how: str
) -> None:
    _broken(tmp_path / "encoder", how)
    shipped = Citewell(Settings(data_dir=tmp_path / "data"))
    assert _titles(with_reranker) == _titles(shipped)
    for row in with_reranker.search("rope").results:
        (problem,) = [signal for signal in row.signals if signal.name == "reranker_unavailable"]
        assert problem.value == 0.0
        assert str(tmp_path / "encoder") in problem.detail
        assert {"nearness", "kinship"} & {signal.name for signal in row.signals}
    shipped.close()


def test_what_is_wrong_is_found_out_once(tmp_path: Path) -> None:
    encoder = CrossEncoder(tmp_path / "encoder")
    with pytest.raises(Unavailable) as first:
        encoder.open()
    write_model(tmp_path / "encoder", {"steel": 1.0})
    with pytest.raises(Unavailable) as second:
        encoder.open()
    assert first.value is second.value


class Longest:
    """Another reranker that fits the port: the longer text first."""

    name = "longest"

    def __init__(self, fails: bool = False) -> None:
        self.fails = fails

    def rerank(self, query: RerankQuery, texts: Sequence[RerankText]) -> list[tuple[Signal, ...]]:
        if self.fails:
            raise RuntimeError("out of breath")
        return [(Signal("length", 100.0 * len(text.body), query.text),) for text in texts]


def test_any_reranker_that_fits_the_port_can_take_the_place(with_reranker: Citewell) -> None:
    corpus = with_reranker.store
    query = lexical_query("rope", corpus.languages())
    found = rank(corpus, query, Filters(), 5, "rope", Longest())
    assert [row.candidate.document.title for row in found] == ["Yarn", "Wire", "Rope"]
    failed = rank(corpus, query, Filters(), 5, "rope", Longest(fails=True))
    assert "out of breath" in failed[0].signals[-1].detail


def test_doctor_says_whether_the_reranker_works(tmp_path: Path) -> None:
    arguments = ["--data-dir", str(tmp_path / "data"), "doctor"]
    environment = {"CITEWELL_RERANKER": str(tmp_path / "encoder")}
    assert "has no model.onnx" in CliRunner().invoke(cli, arguments, env=environment).output
    write_model(tmp_path / "encoder", {"steel": 5.0})
    assert "looks at the best rows again" in CliRunner().invoke(cli, arguments, env=environment).output
