"""A reader from a folder: any ONNX model that marks where in a passage the answer to a question begins and ends.

Outputs are `start_logits` and `end_logits`, or `span` with both; a head `answerable` is used where there is one. That
nothing answers is what the model says by pointing at its first token, as models trained on questions without answer do.
Spans are code points of the passage. Long passages are read in overlapping windows of whole sentences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.domain.errors import BadInput, Unavailable
from citewell.domain.judging import AnswerSpan, PassageReading
from citewell.models.onnx_folder import SPARE_TOKENS, OnnxFolder
from citewell.models.text_windows import Place, likeliest, windows

if TYPE_CHECKING:
    from citewell.models.onnx_folder import Array

MAX_PASSAGES = 64
MAX_SPANS = 5
MAX_ANSWER_TOKENS = 30
_QUESTION_SHARE = 0.5
MAX_WINDOWS = 8
# Of a passage, this many of the best beginnings and ends are looked at.
_BEST = 20
_FIX = "Name a folder with model.onnx and tokenizer.json of a question answering model, or CITEWELL_READER=off."


class OnnxSpanReader:
    """A reader over one folder."""

    def __init__(self, folder: Path) -> None:
        self._model = OnnxFolder(folder, "reader", _FIX)

    @property
    def name(self) -> str:
        return self._model.name

    def open(self) -> str:
        """Make sure that it can be used, and say what it is; raises Unavailable."""
        self._model.open()
        head = " and whether there is one" if "answerable" in self._outputs else ""
        return f"{self.name}: finds answers{head}; reads {self._model.max_tokens} tokens"

    def read(self, question: str, passages: Sequence[str]) -> list[PassageReading]:
        """One reading a passage; an empty passage answers nothing."""
        if len(passages) > MAX_PASSAGES:
            raise BadInput(f"{len(passages)} passages were to be read at once.", fix=f"At most {MAX_PASSAGES}.")
        if not passages:
            return []
        self._model.open()
        try:
            return self._read(question, passages)
        except Unavailable:
            raise
        except Exception as error:
            raise self._model.unusable(f"failed: {type(error).__name__}: {str(error)[:300]}") from error

    def _read(self, question: str, passages: Sequence[str]) -> list[PassageReading]:
        model, outputs = self._model, self._outputs
        places = model.tokenizer.encode(question, add_special_tokens=False).offsets
        most = int(model.max_tokens * _QUESTION_SHARE)
        asked = question if len(places) <= most else question[: places[most - 1][1]]
        room = model.room_beside(asked) - SPARE_TOKENS
        inputs: list[Any] = []
        spans: list[tuple[int, int]] = []
        for at, passage in enumerate(passages):
            tokens = model.tokenizer.encode(passage, add_special_tokens=False).offsets
            for start, end in likeliest(asked, passage, windows(passage, tokens, room), MAX_WINDOWS):
                encoded = model.tokenizer.encode(asked, passage[start:end])
                if len(encoded.ids) > model.max_tokens:
                    encoded.truncate(model.max_tokens)
                inputs.append(encoded)
                spans.append((at, start))
        found: list[list[PassageReading]] = [[] for _ in passages]
        for (at, start), encoded, rows in zip(spans, inputs, model.run(inputs, outputs), strict=True):
            found[at].append(self._window(passages[at], start, encoded, rows))
        return [_merged(one) for one in found]

    @cached_property
    def _outputs(self) -> tuple[str, ...]:
        names = self._model.output_names
        if {"start_logits", "end_logits"} <= set(names):
            wanted: tuple[str, ...] = ("start_logits", "end_logits")
        elif "span" in names:
            wanted = ("span",)
        else:
            raise self._model.unusable(f"gives {', '.join(names)}, where a reader gives start_logits and end_logits")
        return (*wanted, "answerable") if "answerable" in names else wanted

    def _window(self, passage: str, offset: int, encoded: Any, rows: Sequence[Any]) -> PassageReading:
        """What one window says, in places of the whole passage."""
        starts, ends, answerable = self._logits(rows)
        own = [at for at, which in enumerate(encoded.sequence_ids) if which == 1]
        null = float(starts[0] + ends[0])
        found: dict[Place, float] = {}
        for score, first, last in _candidates(own, starts, ends):
            span = _trimmed(passage, offset + encoded.offsets[first][0], offset + encoded.offsets[last][1])
            if span is not None:
                found[span] = max(score, found.get(span, -math.inf))
        ranked = sorted(found.items(), key=lambda one: (-one[1], one[0]))[:MAX_SPANS]
        spans = tuple(AnswerSpan(*span, round(score - null, 4)) for span, score in ranked)
        best = spans[0].score if spans else -math.inf
        return PassageReading(spans, round(_share(-(best + answerable)), 4))

    def _logits(self, rows: Sequence[Any]) -> tuple[Array, Array, float]:
        import numpy as np

        values = [np.asarray(row, np.float64) for row in rows]
        if "span" in self._outputs:
            values = [values[0][:, 0], values[0][:, 1], *values[1:]]
        if not all(np.isfinite(one).all() for one in values):
            raise self._model.unusable("gives no scores")
        return values[0], values[1], float(values[2].reshape(-1)[0]) if len(values) > 2 else 0.0


def _candidates(own: Sequence[int], starts: Array, ends: Array) -> list[tuple[float, int, int]]:
    """Beginnings and ends that go together, by what they score."""
    first = sorted(own, key=lambda at: -starts[at])[:_BEST]
    last = sorted(own, key=lambda at: -ends[at])[:_BEST]
    pairs = [(low, high) for low in first for high in last if low <= high < low + MAX_ANSWER_TOKENS]
    return [(float(starts[low] + ends[high]), low, high) for low, high in pairs]


def _trimmed(passage: str, start: int, end: int) -> Place | None:
    """A span without the white space that some tokens have around them."""
    text = passage[start:end]
    start += len(text) - len(text.lstrip())
    end -= len(text) - len(text.rstrip())
    return (start, end) if start < end else None


def _share(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, value))))


def _merged(windows_read: Sequence[PassageReading]) -> PassageReading:
    """The windows of one passage together: the best spans of all, and no answer only where none has one."""
    if not windows_read:
        return PassageReading((), 1.0)
    best: dict[Place, AnswerSpan] = {}
    for span in (span for one in windows_read for span in one.spans):
        known = best.get((span.start, span.end))
        if known is None or span.score > known.score:
            best[(span.start, span.end)] = span
    ranked = sorted(best.values(), key=lambda span: (-span.score, span.start, span.end))[:MAX_SPANS]
    return PassageReading(tuple(ranked), min(one.no_answer for one in windows_read))
