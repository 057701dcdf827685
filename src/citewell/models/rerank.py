"""A cross-encoder as reranker: any ONNX model that scores a query and a passage together, from a folder the user names.

The folder has `model.onnx` (also as `onnx/model.onnx`) and `tokenizer.json`. It is opened when it is first needed; what
is wrong with it is remembered, and the search goes on without it. Nothing is downloaded. A pair is cut off
at 512 word pieces. Its scores decide more than the words do: the best of its candidates gains twice the best score.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from citewell.errors import Unavailable
from citewell.store.port import Commonness


@dataclass(frozen=True, slots=True)
class Signal:
    """One named adjustment of a row's score: why it is shown, or why it did not."""

    name: str
    value: float
    detail: str = ""


MAX_TOKENS = 512
SIGNAL = "cross_encoder"
_SHARE = 2.0
_PACKAGES = ("onnxruntime", "tokenizers", "numpy")
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_FIX = "Name a folder with model.onnx and tokenizer.json of a cross-encoder, or unset CITEWELL_RERANKER."


class CrossEncoder:
    """A reranker over one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.expanduser()
        self._opened: tuple[Any, Any] | None = None
        self._problem: Unavailable | None = None

    @property
    def name(self) -> str:
        return self._folder.name

    def rerank(self, query: RerankQuery, texts: Sequence[RerankText]) -> list[tuple[Signal, ...]]:
        """What the model adds to each score; raises Unavailable where it cannot be used."""
        scores = self.scores(query.text, [f"{text.title}\n{text.body}".strip() for text in texts])
        low, span = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
        scale = _SHARE * max((text.score for text in texts), default=0.0)
        return [
            (
                Signal(
                    SIGNAL,
                    round(scale * ((score - low) / span if span > 0 else 1.0), 6),
                    f"reranked by {self.name}: {score:.3f}",
                ),
            )
            for score in scores
        ]

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers the query, as the model sees it."""
        if not texts:
            return []
        session, tokenizer = self.open()
        try:
            return self._run(session, tokenizer, query, texts)
        except Unavailable:
            raise
        except Exception as error:
            raise self._unusable(f"failed: {type(error).__name__}: {error}") from error

    def _run(self, session: Any, tokenizer: Any, query: str, texts: Sequence[str]) -> list[float]:
        import numpy as np

        pairs = tokenizer.encode_batch([(query, text) for text in texts])
        columns = {
            "input_ids": [pair.ids for pair in pairs],
            "attention_mask": [pair.attention_mask for pair in pairs],
            "token_type_ids": [pair.type_ids for pair in pairs],
        }
        wanted = {entry.name: np.array(columns[entry.name], np.int64) for entry in session.get_inputs()}
        output = np.asarray(session.run(None, wanted)[0], np.float64).reshape(len(texts), -1)
        # One number a pair, or "no" and "yes": the last is what speaks for the text.
        scores = output[:, -1] if output.shape[1] <= 2 else np.full(len(texts), np.nan)
        if not np.isfinite(scores).all():
            raise self._unusable("gives no score a pair")
        return [float(score) for score in scores]

    def open(self) -> tuple[Any, Any]:
        """The model and its tokenizer; what was wrong the first time stays wrong until the program is started anew."""
        if self._problem is not None:
            raise self._problem
        if self._opened is None:
            try:
                self._opened = self._open()
            except Unavailable as error:
                self._problem = error
                raise
            except Exception as error:
                self._problem = self._unusable(f"cannot be opened: {type(error).__name__}: {error}")
                raise self._problem from error
        return self._opened

    def _open(self) -> tuple[Any, Any]:
        missing = [package for package in _PACKAGES if find_spec(package) is None]
        if missing:
            raise Unavailable(f"The reranker needs {', '.join(missing)}.", fix="Install citewell again.")
        graphs = [
            path for path in (self._folder / "model.onnx", self._folder / "onnx" / "model.onnx") if path.is_file()
        ]
        if not graphs or not (self._folder / "tokenizer.json").is_file():
            raise self._unusable("has no model.onnx with a tokenizer.json")
        tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(self._folder / "tokenizer.json"))
        tokenizer.enable_truncation(MAX_TOKENS, strategy="only_second")
        tokenizer.enable_padding()
        # onnxruntime reports its use to its makers, over the network, unless the process says no before it is loaded.
        os.putenv("ORT_DISABLE_TELEMETRY", "1")
        runtime = importlib.import_module("onnxruntime")
        options = runtime.SessionOptions()
        options.log_severity_level = 3
        options.intra_op_num_threads = min(2, os.cpu_count() or 1)
        session = runtime.InferenceSession(str(graphs[0]), options, providers=["CPUExecutionProvider"])
        unknown = [entry.name for entry in session.get_inputs() if entry.name not in _INPUTS]
        if unknown:
            raise self._unusable(f"asks for {', '.join(unknown)}, which a cross-encoder does not")
        return session, tokenizer

    def _unusable(self, what: str) -> Unavailable:
        return Unavailable(f"The reranker {self._folder} {what}.", fix=_FIX)


@dataclass(frozen=True, slots=True)
class RerankQuery:
    """A query as a reranker sees it: what was asked, and each word's forms with its weight, in the order asked."""

    text: str
    words: Sequence[tuple[Sequence[str], float]]
    commonness: Commonness


@dataclass(frozen=True, slots=True)
class RerankText:
    """A passage to look at again, with the score it was found by."""

    title: str
    body: str
    language: str | None
    score: float


class Reranker(Protocol):
    """The second stage: looks at the best passages once more and says what to add to the score of each."""

    @property
    def name(self) -> str: ...

    def rerank(self, query: RerankQuery, texts: Sequence[RerankText]) -> Sequence[tuple[Signal, ...]]:
        """Named signals for each text, in the order given; raises where it cannot, and the next best one is asked."""
        ...
