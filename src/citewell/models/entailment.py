"""A judge from a folder: any ONNX model that says whether a text entails a statement, with two or three classes.

The evidence is the first text and the statement the second, as such models are trained; `"citewell": {"first":
"claim"}` in `config.json` turns them round. Long evidence is read in overlapping windows of whole sentences, and what
they say is combined (`classes.py`); of too many, those that share most words with the statement are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.domain.answers import Entails
from citewell.domain.errors import BadInput, Unavailable
from citewell.domain.judging import ClaimPair
from citewell.models.classes import Meaning, UnknownClasses, combined, entails_of, meanings_of
from citewell.models.onnx_folder import SPARE_TOKENS, OnnxFolder
from citewell.models.text_windows import likeliest, windows

if TYPE_CHECKING:
    from citewell.models.onnx_folder import Array

MAX_PAIRS = 256
MAX_WINDOWS = 8
# A statement is given at most this share of what the model reads.
_CLAIM_SHARE = 0.5
# Evidence of more tokens than this is read in windows, though a model may take more: what is short is judged better.
_WINDOW_TOKENS = 256
_OUTPUTS = ("nli", "logits")
_FIX = "Name a folder with model.onnx, config.json and tokenizer.json of an entailment model, or CITEWELL_JUDGE=off."


class OnnxEntailment:
    """A judge over one folder."""

    def __init__(self, folder: Path) -> None:
        self._model = OnnxFolder(folder, "judge", _FIX)

    @property
    def name(self) -> str:
        return self._model.name

    def open(self) -> str:
        """Make sure that it can be used, and say what it is; raises Unavailable."""
        self._model.open()
        told = ", ".join(self._meanings)
        return f"{self.name}: tells {told}; reads {self._model.max_tokens} tokens"

    def judge(self, pairs: Sequence[ClaimPair]) -> list[Entails]:
        """One answer a pair; a pair without evidence is neutral."""
        if len(pairs) > MAX_PAIRS:
            raise BadInput(f"{len(pairs)} pairs were to be judged at once.", fix=f"At most {MAX_PAIRS} at a time.")
        if not pairs:
            return []
        self._model.open()
        try:
            return self._judge(pairs)
        except Unavailable:
            raise
        except Exception as error:
            raise self._model.unusable(f"failed: {type(error).__name__}: {str(error)[:300]}") from error

    def _judge(self, pairs: Sequence[ClaimPair]) -> list[Entails]:
        inputs: list[Any] = []
        owners: list[int] = []
        for at, pair in enumerate(pairs):
            encoded = self._inputs(pair)
            inputs += encoded
            owners += [at] * len(encoded)
        found: list[list[Entails]] = [[] for _ in pairs]
        output, meanings = self._output, self._meanings
        for at, (row,) in zip(owners, self._model.run(inputs, [output]), strict=True):
            found[at].append(entails_of(meanings, self._shares(row)))
        return [combined(one) if one else Entails(0.0, 1.0, 0.0) for one in found]

    def _inputs(self, pair: ClaimPair) -> list[Any]:
        """The windows of a pair, encoded."""
        model = self._model
        claim = _cut(model.tokenizer, pair.claim, int(model.max_tokens * _CLAIM_SHARE))
        room = min(model.room_beside(claim) - SPARE_TOKENS, _WINDOW_TOKENS)
        places = model.tokenizer.encode(pair.evidence, add_special_tokens=False).offsets
        spans = likeliest(claim, pair.evidence, windows(pair.evidence, places, room), MAX_WINDOWS)
        texts = [pair.evidence[start:end] for start, end in spans]
        both = [(claim, text) if self._claim_first else (text, claim) for text in texts]
        return [_within(model.tokenizer.encode(*one), model.max_tokens) for one in both]

    def _shares(self, row: Array) -> list[float]:
        import numpy as np

        logits = np.asarray(row, np.float64).reshape(-1)
        if not np.isfinite(logits).all():
            raise self._model.unusable("gives no probabilities")
        powers = np.exp(logits - logits.max())
        return [float(one) for one in powers / powers.sum()]

    @cached_property
    def _claim_first(self) -> bool:
        ours = self._model.config.get("citewell")
        return isinstance(ours, dict) and ours.get("first") == "claim"

    @cached_property
    def _output(self) -> str:
        names = self._model.output_names
        return next((name for name in _OUTPUTS if name in names), names[0])

    @cached_property
    def _meanings(self) -> tuple[Meaning, ...]:
        """What its classes mean: counted by trying it, for a graph does not always say."""
        trial = self._model.tokenizer.encode("a", "a")
        ((row,),) = self._model.run([trial], [self._output])
        labels = self._model.config.get("id2label")
        try:
            return meanings_of(labels if isinstance(labels, dict) else None, int(row.size))
        except UnknownClasses as error:
            raise self._model.unusable(str(error)) from None


def _cut(tokenizer: Any, text: str, most: int) -> str:
    """A statement without what a model has no room for."""
    places = tokenizer.encode(text, add_special_tokens=False).offsets
    return text if len(places) <= most else text[: places[most - 1][1]]


def _within(encoded: Any, most: int) -> Any:
    """The rare window that has a token more on its own than it had in its text."""
    if len(encoded.ids) > most:
        encoded.truncate(most)
    return encoded
