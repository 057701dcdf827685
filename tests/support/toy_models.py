"""Small real models for tests: ONNX graphs with real tokenizers that add up what words weigh."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

onnx = pytest.importorskip("onnx")
tokenizers = pytest.importorskip("tokenizers")

NAMES = ("entailment", "neutral", "contradiction")
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def write_tokenizer(folder: Path, words: Sequence[str]) -> dict[str, int]:
    """A tokenizer of whole words that puts pairs together as BERT does."""
    folder.mkdir(parents=True, exist_ok=True)
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *dict.fromkeys(word.lower() for word in words)]
    vocabulary = {word: number for number, word in enumerate(known)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return vocabulary


def write_judge(
    folder: Path,
    weights: Mapping[str, Sequence[float]],
    labels: Sequence[str] | None = NAMES,
    *,
    inputs: Sequence[str] = INPUTS,
    graph: str = "model.onnx",
    length: int | None = None,
    bias: Sequence[float] | None = None,
    config: Mapping[str, Any] | None = None,
) -> Path:
    """A judge whose classes add up what the words of the first text weigh (of both, without token_type_ids)."""
    vocabulary = write_tokenizer(folder, list(weights))
    classes = len(next(iter(weights.values())))
    table = [0.0] * (len(vocabulary) * classes)
    for word, values in weights.items():
        at = vocabulary[word.lower()] * classes
        table[at : at + classes] = list(values)
    for at, value in enumerate(bias or ()):
        table[2 * classes + at] = value  # on [CLS], which every input has once
    _save(folder / graph, _judge_nodes(inputs), inputs, {"logits": ["n", classes]}, table, classes, length)
    about: dict[str, Any] = dict(config or {})
    if labels is not None:
        about["id2label"] = {str(number): name for number, name in enumerate(labels)}
    (folder / "config.json").write_text(json.dumps(about), "utf-8")
    return folder


def _judge_nodes(inputs: Sequence[str]) -> list[Any]:
    make, kinds = onnx.helper.make_node, onnx.TensorProto
    nodes = [make("Gather", ["table", "input_ids"], ["each"])]
    kept = "attention_mask"
    if "token_type_ids" in inputs:
        nodes += [make("Sub", ["one", "token_type_ids"], ["first"]), make("Mul", ["attention_mask", "first"], ["own"])]
        kept = "own"
    return [
        *nodes,
        make("Cast", [kept], ["mask"], to=kinds.FLOAT),
        make("Unsqueeze", ["mask", "last"], ["wide"]),
        make("Mul", ["each", "wide"], ["kept"]),
        make("ReduceSum", ["kept", "middle"], ["logits"], keepdims=0),
    ]


def write_reader(
    folder: Path,
    weights: Mapping[str, tuple[float, float]],
    *,
    outputs: str = "logits",
    null: float = 0.0,
    answerable: Mapping[str, float] | None = None,
) -> Path:
    """A reader for which each word is so good a beginning and so good an end; `null` is that of no answer, twice."""
    vocabulary = write_tokenizer(folder, [*weights, *(answerable or {})])
    table = [-5.0, -5.0] * len(vocabulary)
    table[4:6] = [null, null]
    for word, (start, end) in weights.items():
        table[2 * vocabulary[word.lower()] : 2 * vocabulary[word.lower()] + 2] = [start, end]
    make = onnx.helper.make_node
    nodes = [make("Gather", ["table", "input_ids"], ["span"])]
    shapes: dict[str, list[Any]] = {"span": ["n", "length", 2]}
    if outputs == "logits":
        nodes += [
            make("Split", ["span"], ["s", "e"], axis=-1, num_outputs=2),
            make("Squeeze", ["s", "last"], ["start_logits"]),
            make("Squeeze", ["e", "last"], ["end_logits"]),
        ]
        shapes = {"start_logits": ["n", "length"], "end_logits": ["n", "length"]}
    if answerable is not None:
        values = [answerable.get(word, 0.0) for word in vocabulary]
        nodes += [
            make("Constant", [], ["heads"], value=onnx.helper.make_tensor("h", 1, [len(values)], values)),
            make("Gather", ["heads", "input_ids"], ["head"]),
            make("ReduceSum", ["head", "middle"], ["answerable"], keepdims=0),
        ]
        shapes["answerable"] = ["n"]
    _save(folder / "model.onnx", nodes, INPUTS[:2], shapes, table, 2, None)
    (folder / "config.json").write_text("{}", "utf-8")
    return folder


def _save(
    path: Path,
    nodes: list[Any],
    inputs: Sequence[str],
    outputs: Mapping[str, list[Any]],
    table: list[float],
    columns: int,
    length: int | None,
) -> None:
    helper, kinds = onnx.helper, onnx.TensorProto
    path.parent.mkdir(parents=True, exist_ok=True)
    graph = helper.make_graph(
        nodes,
        "toy",
        [helper.make_tensor_value_info(name, kinds.INT64, ["n", length or "length"]) for name in inputs],
        [helper.make_tensor_value_info(name, kinds.FLOAT, shape) for name, shape in outputs.items()],
        [
            helper.make_tensor("table", kinds.FLOAT, [len(table) // columns, columns], table),
            helper.make_tensor("last", kinds.INT64, [1], [-1]),
            helper.make_tensor("middle", kinds.INT64, [1], [1]),
            helper.make_tensor("one", kinds.INT64, [1], [1]),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
