"""A checkpoint becomes a folder that Citewell opens.

    python -m reader.export CHECKPOINT FOLDER --minilm FOLDER

The folder has `model.onnx` (8 bits a channel: per tensor costs .06 AUROC) and `tokenizer.json`. Inputs are input_ids,
attention_mask and token_type_ids, outputs start_logits, end_logits and answerable.
"""

from __future__ import annotations

import argparse
import math
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

from reader.model import EPSILON, HEADS, HIDDEN, LAYERS, load, pretrained

OPSET, IR_VERSION = 17, 9
MAX_BYTES = 36_000_000
Weights = dict[str, npt.NDArray[np.float32]]


class Graph:
    """Nodes and constants in the order they are needed."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def constant(self, name: str, value: npt.NDArray[Any]) -> str:
        self._constants.append(numpy_helper.from_array(np.asarray(value, order="C"), name))
        return name

    def whole(self, name: str, *values: int) -> str:
        return self.constant(name, np.array(values, np.int64))

    def number(self, name: str, value: float) -> str:
        return self.constant(name, np.array(value, np.float32))

    def node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._nodes.append(helper.make_node(operator, inputs, [output], **attributes))
        return output

    def linear(self, value: str, weight: npt.NDArray[np.float32], bias: npt.NDArray[np.float32], output: str) -> str:
        product = self.node("MatMul", [value, self.constant(f"{output}.w", weight.T)], f"{output}.product")
        return self.node("Add", [product, self.constant(f"{output}.b", bias)], output)

    def head(self, value: str, name: str, output: str) -> str:
        return self.linear(value, self._weights[f"{name}.weight"], self._weights[f"{name}.bias"], output)

    def normalised(self, value: str, name: str, output: str) -> str:
        weight = self.constant(f"{name}.w", self._weights[f"{name}.weight"])
        bias = self.constant(f"{name}.b", self._weights[f"{name}.bias"])
        return self.node("LayerNormalization", [value, weight, bias], output, axis=-1, epsilon=EPSILON)

    def encoder(self) -> str:
        """Everything below the heads; the last hidden state."""
        self.whole("zero", 0), self.whole("one", 1), self.whole("two", 2), self.whole("one_two", 1, 2)
        self.whole("to_heads", 0, 0, HEADS, HIDDEN // HEADS), self.whole("from_heads", 0, 0, HIDDEN)
        self.number("scale", 1 / math.sqrt(HIDDEN // HEADS)), self.number("unit", 1.0), self.number("half", 0.5)
        self.number("root_two", math.sqrt(2.0)), self.number("hidden_away", -1e4)
        self.node("Cast", ["attention_mask"], "mask.float", to=TensorProto.FLOAT)
        self.node("Sub", ["unit", self.node("Unsqueeze", ["mask.float", "one_two"], "mask.wide")], "mask.absent")
        self.node("Mul", ["mask.absent", "hidden_away"], "mask")
        hidden = self._embedded()
        for number in range(LAYERS):
            hidden = self._layer(number, hidden)
        return hidden

    def _embedded(self) -> str:
        self.node("Gather", [self.constant("words", self._weights["we.weight"]), "input_ids"], "tokens")
        self.node("Gather", [self.constant("types", self._weights["te.weight"]), "token_type_ids"], "segments")
        self.node("Slice", [self.node("Shape", ["input_ids"], "shape"), "one", "two", "zero"], "length")
        self.node("Slice", [self.constant("places", self._weights["pe.weight"]), "zero", "length", "zero"], "positions")
        self.node("Add", [self.node("Add", ["tokens", "segments"], "summed"), "positions"], "placed")
        return self.normalised("placed", "ln", "embedded")

    def _layer(self, number: int, hidden: str) -> str:
        at, layer = f"layer{number}", f"layers.{number}"
        self.head(self._attention(number, hidden), f"{layer}.o", f"{at}.attended")
        middle = self.normalised(
            self.node("Add", [f"{at}.attended", hidden], f"{at}.first"), f"{layer}.ln1", f"{at}.middle"
        )
        self.head(self._gelu(self.head(middle, f"{layer}.i", f"{at}.wide")), f"{layer}.d", f"{at}.out")
        return self.normalised(self.node("Add", [f"{at}.out", middle], f"{at}.second"), f"{layer}.ln2", f"{at}.hidden")

    def _attention(self, number: int, hidden: str) -> str:
        at, layer = f"layer{number}", f"layers.{number}"
        weights = self._weights[f"{layer}.qkv.weight"].reshape(3, HIDDEN, HIDDEN)
        biases = self._weights[f"{layer}.qkv.bias"].reshape(3, HIDDEN)
        for index, (name, order) in enumerate(
            (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3]))
        ):
            self.linear(hidden, weights[index], biases[index], f"{at}.{name}")
            self.node("Reshape", [f"{at}.{name}", "to_heads"], f"{at}.{name}.heads")
            self.node("Transpose", [f"{at}.{name}.heads"], f"{at}.{name}.turned", perm=order)
        scores = self.node("MatMul", [f"{at}.query.turned", f"{at}.key.turned"], f"{at}.scores")
        scaled = self.node("Mul", [scores, "scale"], f"{at}.scaled")
        weighed = self.node("Softmax", [self.node("Add", [scaled, "mask"], f"{at}.masked")], f"{at}.weights", axis=-1)
        mixed = self.node("MatMul", [weighed, f"{at}.value.turned"], f"{at}.mixed")
        return self.node(
            "Reshape",
            [self.node("Transpose", [mixed], f"{at}.mixed.turned", perm=[0, 2, 1, 3]), "from_heads"],
            f"{at}.context",
        )

    def _gelu(self, value: str) -> str:
        erf = self.node("Erf", [self.node("Div", [value, "root_two"], f"{value}.narrowed")], f"{value}.erf")
        doubled = self.node("Mul", [value, self.node("Add", [erf, "unit"], f"{value}.raised")], f"{value}.doubled")
        return self.node("Mul", [doubled, "half"], f"{value}.gelu")

    def first_token(self, hidden: str) -> str:
        self.node("Gather", [hidden, self.constant("first", np.array(0, np.int64))], "first.hidden", axis=1)
        return self.node("Tanh", [self.head("first.hidden", "pool", "pooled")], "pooled.tanh")

    def model(self, outputs: dict[str, list[Any]]) -> Any:
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
            for name in ("input_ids", "attention_mask", "token_type_ids")
        ]
        made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()]
        graph = helper.make_graph(self._nodes, "citewell_reader", inputs, made, self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        onnx.checker.check_model(model)
        return model


def reader_graph(weights: Weights) -> Any:
    graph = Graph(weights)
    hidden = graph.encoder()
    for index, name in enumerate(("start_logits", "end_logits")):
        graph.linear(
            hidden, weights["span.weight"][index : index + 1], weights["span.bias"][index : index + 1], f"{name}.column"
        )
        graph.node("Squeeze", [f"{name}.column", "two"], name)
    graph.node("Squeeze", [graph.head(graph.first_token(hidden), "ans", "answerable.column"), "one"], "answerable")
    return graph.model(
        {"start_logits": ["batch", "tokens"], "end_logits": ["batch", "tokens"], "answerable": ["batch"]}
    )


def export(checkpoint: Path, minilm: Path, folder: Path) -> int:
    """Writes the folder; returns the size of the graph. The question is segment 0, the passage segment 1."""
    net = pretrained(minilm)
    load(net, checkpoint)
    weights = {name: value.numpy() for name, value in net.state_dict().items()}
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        whole = Path(scratch) / "model.onnx"
        onnx.save(reader_graph(weights), str(whole))
        quantize_dynamic(str(whole), str(folder / "model.onnx"), weight_type=QuantType.QInt8, per_channel=True)
    shutil.copy(minilm / "tokenizer.json", folder / "tokenizer.json")
    size = (folder / "model.onnx").stat().st_size
    if size > MAX_BYTES:
        raise SystemExit(
            f"{folder / 'model.onnx'} has {size:,} bytes, more than {MAX_BYTES:,}: it must not be shipped."
        )
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--minilm", type=Path, required=True)
    given = parser.parse_args()
    print(f"{given.folder}: {export(given.checkpoint, given.minilm, given.folder):,} bytes")


if __name__ == "__main__":
    main()
