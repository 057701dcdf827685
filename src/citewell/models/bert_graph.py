"""BERT weights become an ONNX graph with mean pooling inside: token ids in, vectors of length one out.

Written out node by node, because exporting would need torch. It knows the plain encoder that MiniLM is: absolute
positions, exact GELU, no pooler. There is no mask, so only texts of one length can share a batch. The weights are read
as the safetensors format says: a length, a JSON header, numbers.
"""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citewell.errors import Unavailable

OPSET, IR_VERSION = 17, 9
_HEADER_BYTES = 100_000_000
Weights = Mapping[str, npt.NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Shape:
    """What `config.json` says of an encoder."""

    hidden: int
    heads: int
    layers: int
    epsilon: float

    @classmethod
    def read(cls, folder: Path) -> Shape:
        config = json.loads((folder / "config.json").read_text("utf-8"))
        if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
            raise Unavailable(f"{folder} holds no BERT encoder that Citewell knows.", fix="Use all-MiniLM-L6-v2.")
        return cls(
            int(config["hidden_size"]),
            int(config["num_attention_heads"]),
            int(config["num_hidden_layers"]),
            float(config["layer_norm_eps"]),
        )


def read_weights(path: Path) -> Weights:
    """The 32-bit tensors of a safetensors file, by name."""
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    if size > min(len(data) - 8, _HEADER_BYTES):
        raise Unavailable(f"{path} is cut off or no safetensors file.", fix="Install the weights again.")
    header: dict[str, Any] = json.loads(data[8 : 8 + size])
    weights: dict[str, npt.NDArray[np.float32]] = {}
    for name, entry in header.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        start, end = entry["data_offsets"]
        tensor = np.frombuffer(data[8 + size + start : 8 + size + end], np.float32)
        weights[name.removeprefix("bert.")] = tensor.reshape(entry["shape"])
    return weights


def build_graph(folder: Path) -> Any:
    """The encoder in this folder as an ONNX model."""
    return _Graph(Shape.read(folder), read_weights(folder / "model.safetensors")).model()


class _Graph:
    """Nodes and constants, in the order they are needed."""

    def __init__(self, shape: Shape, weights: Weights) -> None:
        self._onnx = importlib.import_module("onnx")
        self._shape = shape
        self._weights = weights
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self) -> Any:
        helper, kinds = self._onnx.helper, self._onnx.TensorProto
        self._encoder()
        inputs = [helper.make_tensor_value_info("input_ids", kinds.INT64, ["batch", "tokens"])]
        output = helper.make_tensor_value_info("embedding", kinds.FLOAT, ["batch", self._shape.hidden])
        graph = helper.make_graph(self._nodes, "encoder", inputs, [output], self._constants)
        opset = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)
        self._onnx.checker.check_model(model)
        return model

    # Pieces

    def _constant(self, name: str, value: npt.NDArray[Any]) -> str:
        self._constants.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def _number(self, name: str, value: float) -> str:
        return self._constant(name, np.array(value, np.float32))

    def _whole(self, name: str, *values: int) -> str:
        return self._constant(name, np.array(values, np.int64))

    def _node(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self._nodes.append(self._onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def _linear(self, value: str, layer: str, output: str) -> str:
        weight = self._constant(f"{layer}.w", self._weights[f"{layer}.weight"].T)
        bias = self._constant(f"{layer}.b", self._weights[f"{layer}.bias"])
        return self._node("Add", [self._node("MatMul", [value, weight], f"{output}.product"), bias], output)

    def _normalised(self, value: str, layer: str, output: str) -> str:
        weight = self._constant(f"{layer}.w", self._weights[f"{layer}.weight"])
        bias = self._constant(f"{layer}.b", self._weights[f"{layer}.bias"])
        epsilon = self._shape.epsilon
        return self._node("LayerNormalization", [value, weight, bias], output, axis=-1, epsilon=epsilon)

    # The encoder

    def _encoder(self) -> None:
        shape = self._shape
        width = shape.hidden // shape.heads
        self._whole("to_heads", 0, 0, shape.heads, width)
        self._whole("from_heads", 0, 0, shape.hidden)
        self._number("scale", 1 / math.sqrt(width))
        self._number("one", 1.0)
        self._number("half", 0.5)
        self._number("root_two", math.sqrt(2.0))
        hidden = self._embedded()
        for number in range(shape.layers):
            hidden = self._layer(number, hidden)
        self._pooled(hidden)

    def _embedded(self) -> str:
        """Words and their positions; every token is of the first segment."""
        words = self._constant("words", self._weights["embeddings.word_embeddings.weight"])
        segment = self._weights["embeddings.token_type_embeddings.weight"][0]
        places = self._constant("places", self._weights["embeddings.position_embeddings.weight"] + segment)
        self._node("Gather", [words, "input_ids"], "tokens")
        for name, value in (("first", 0), ("second", 1), ("third", 2)):
            self._whole(name, value)
        self._node("Slice", [self._node("Shape", ["input_ids"], "shape"), "second", "third", "first"], "length")
        self._node("Slice", [places, "first", "length", "first"], "positions")
        self._node("Add", ["tokens", "positions"], "summed")
        return self._normalised("summed", "embeddings.LayerNorm", "embedded")

    def _layer(self, number: int, hidden: str) -> str:
        layer, at = f"encoder.layer.{number}", f"layer{number}"
        context = self._attention(f"{layer}.attention.self", at, hidden)
        self._linear(context, f"{layer}.attention.output.dense", f"{at}.attended")
        self._node("Add", [f"{at}.attended", hidden], f"{at}.attended.sum")
        middle = self._normalised(f"{at}.attended.sum", f"{layer}.attention.output.LayerNorm", f"{at}.middle")
        self._linear(middle, f"{layer}.intermediate.dense", f"{at}.wide")
        self._linear(self._gelu(f"{at}.wide"), f"{layer}.output.dense", f"{at}.out")
        self._node("Add", [f"{at}.out", middle], f"{at}.out.sum")
        return self._normalised(f"{at}.out.sum", f"{layer}.output.LayerNorm", f"{at}.hidden")

    def _attention(self, layer: str, at: str, hidden: str) -> str:
        for name, order in (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])):
            self._linear(hidden, f"{layer}.{name}", f"{at}.{name}")
            self._node("Reshape", [f"{at}.{name}", "to_heads"], f"{at}.{name}.heads")
            self._node("Transpose", [f"{at}.{name}.heads"], f"{at}.{name}.turned", perm=order)
        self._node("MatMul", [f"{at}.query.turned", f"{at}.key.turned"], f"{at}.scores")
        self._node("Mul", [f"{at}.scores", "scale"], f"{at}.scaled")
        self._node("Softmax", [f"{at}.scaled"], f"{at}.weights", axis=-1)
        self._node("MatMul", [f"{at}.weights", f"{at}.value.turned"], f"{at}.mixed")
        self._node("Transpose", [f"{at}.mixed"], f"{at}.mixed.turned", perm=[0, 2, 1, 3])
        return self._node("Reshape", [f"{at}.mixed.turned", "from_heads"], f"{at}.context")

    def _gelu(self, value: str) -> str:
        """x · ½ · (1 + erf(x / √2)), in the form that onnxruntime makes one step of."""
        self._node("Div", [value, "root_two"], f"{value}.narrowed")
        self._node("Add", [self._node("Erf", [f"{value}.narrowed"], f"{value}.erf"), "one"], f"{value}.raised")
        self._node("Mul", [value, f"{value}.raised"], f"{value}.doubled")
        return self._node("Mul", [f"{value}.doubled", "half"], f"{value}.gelu")

    def _pooled(self, hidden: str) -> None:
        """The mean over all tokens, brought to length one."""
        self._node("ReduceMean", [hidden], "mean", axes=[1], keepdims=0)
        self._node("LpNormalization", ["mean"], "embedding", axis=-1, p=2)
