"""Training rows become numbers: mixed by source, cut to length, a fixed share of the claims held out.

A row is held out by a hash of its claim, so that every run holds out the same ones, whatever else the files contain.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Literal

from tokenizers import Tokenizer

from reader.model import CLASS_TOKEN, LABELS, SEPARATOR

Task = Literal["claims", "questions"]
Row = dict[str, Any]
# How often a source is drawn; one that is not named is drawn with a weight of .1.
WEIGHTS: dict[Task, dict[str, float]] = {
    "questions": {"sq": 0.35, "sq1": 0.2, "qamr": 0.35, "aqa": 0.1},
    "claims": {
        "snli": 0.16,
        "mnli": 0.22,
        "fever": 0.2,
        "fever_nei": 0.08,
        "scitail": 0.06,
        "fm2": 0.05,
        "fm2_nei": 0.02,
        "breaking": 0.02,
        "built": 0.12,
        "minimal": 0.75,
    },
}
_SHORT_SOURCES = frozenset({"snli", "breaking"})
_DISTRACTED = {"built": 0.3, "minimal": 0.12}
_CLAIM_TOKENS, _QUESTION_TOKENS = 64, 48
_PARTS = 1000


@dataclass(frozen=True, slots=True)
class Example:
    """Token ids, the segment of each, and what the heads should say."""

    ids: list[int]
    types: list[int]
    label: int = 0
    start: int = -100
    end: int = -100
    answerable: float = 0.0


def is_held_out(row: Row, share: float) -> bool:
    text = str(row.get("claim") or row.get("question"))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % _PARTS < share * _PARTS


def read(paths: Iterable[Path], share: float) -> tuple[dict[str, list[Row]], list[Row]]:
    """The rows by source, and those that are held out."""
    kept: dict[str, list[Row]] = defaultdict(list)
    held: list[Row] = []
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if is_held_out(row, share):
                    held.append(row)
                else:
                    kept[row["source"]].append(row)
    return dict(kept), held


class Encoder:
    """Turns rows of one task into examples."""

    def __init__(self, tokenizer: Path, task: Task, length: int) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._task = task
        self._length = length

    def encode(self, row: Row, random: Random, others: list[Row]) -> Example:
        return self._question(row, random) if self._task == "questions" else self._claim(row, random, others)

    def plain(self, row: Row) -> Example:
        """Without distracting text and without chance."""
        return self._claim(row, None, []) if self._task == "claims" else self._question(row, Random(0))

    def _ids(self, text: str, limit: int) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids[:limit]

    def _joined(self, first: list[int], second: list[int]) -> tuple[list[int], list[int]]:
        ids = [CLASS_TOKEN, *first, SEPARATOR, *second, SEPARATOR]
        return ids, [0] * (len(first) + 2) + [1] * (len(second) + 1)

    def _claim(self, row: Row, random: Random | None, others: list[Row]) -> Example:
        passage, source = row["passage"], row["source"]
        if random and source not in _SHORT_SOURCES and random.random() < _DISTRACTED.get(source, 0.4):
            other = random.choice(others)["passage"][:300]
            passage = " ".join(random.sample((passage, other), 2))
        claim = self._ids(row["claim"], _CLAIM_TOKENS)
        ids, types = self._joined(claim, self._ids(passage, self._length - len(claim) - 3))
        return Example(ids, types, label=LABELS.index(row["label"]))

    def _question(self, row: Row, random: Random) -> Example:
        question = self._ids(row["question"], _QUESTION_TOKENS)
        encoding = self._tokenizer.encode(row["passage"], add_special_tokens=False)
        ids, answer = encoding.ids, row["answer"]
        start = end = -1
        if isinstance(answer, list):
            inside = [
                index for index, (left, right) in enumerate(encoding.offsets) if right > answer[0] and left < answer[1]
            ]
            start, end = (inside[0], inside[-1]) if inside else (-1, -1)
        room, at = self._length - len(question) - 3, 0
        if len(ids) > room:  # a window that keeps the answer, anywhere
            low, high = (max(0, end - room + 1), min(start, len(ids) - room)) if start >= 0 else (0, len(ids) - room)
            at = random.randint(low, high) if low <= high else max(0, min(start, len(ids) - room))
        joined, types = self._joined(question, ids[at : at + room])
        base = len(question) + 2
        if start >= 0:
            start, end = start - at + base, min(end - at, room - 1) + base
        else:
            start = end = 0 if answer is None else -100  # the first token stands for "no answer"
        return Example(joined, types, start=start, end=end, answerable=float(answer is not None))


def batches(
    rows: dict[str, list[Row]], task: Task, encoder: Encoder, random: Random, size: int
) -> Iterator[list[Example]]:
    """Without end: pools of eight batches, sorted by length so that little is padded."""
    sources = sorted(rows)
    weights = [WEIGHTS[task].get(source, 0.1) for source in sources]
    while True:
        drawn = random.choices(sources, weights, k=size * 8)
        pool = [encoder.encode(random.choice(rows[source]), random, rows[source]) for source in drawn]
        pool.sort(key=lambda example: len(example.ids))
        groups = [pool[at : at + size] for at in range(0, len(pool), size)]
        random.shuffle(groups)
        yield from groups
