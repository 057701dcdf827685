"""Training rows become numbers: mixed by source, cut to length, a fixed share of the questions held out.

A row is held out by a hash of its question, so that every run holds out the same ones, whatever else the files contain.
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
from typing import Any

from tokenizers import Tokenizer

from reader.model import CLASS_TOKEN, SEPARATOR

Row = dict[str, Any]
# How often a source is drawn; one that is not named is drawn with a weight of .1. Only `sq` has questions that look
# answerable and are not.
WEIGHTS = {"sq": 0.45, "sq1": 0.2, "qamr": 0.25, "aqa": 0.1}
_QUESTION_TOKENS = 48
_PARTS = 1000


@dataclass(frozen=True, slots=True)
class Example:
    """Token ids, the segment of each, and what the heads should say."""

    ids: list[int]
    types: list[int]
    start: int = -100
    end: int = -100
    answerable: float = 0.0


def is_held_out(row: Row, share: float) -> bool:
    text = str(row["question"])
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
    """Turns rows into examples."""

    def __init__(self, tokenizer: Path, length: int) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._length = length

    def encode(self, row: Row, random: Random) -> Example:
        question = self._tokenizer.encode(row["question"], add_special_tokens=False).ids[:_QUESTION_TOKENS]
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
        part, base = ids[at : at + room], len(question) + 2
        joined = [CLASS_TOKEN, *question, SEPARATOR, *part, SEPARATOR]
        types = [0] * base + [1] * (len(part) + 1)
        if start >= 0:
            start, end = start - at + base, min(end - at, room - 1) + base
        else:
            start = end = 0 if answer is None else -100  # the first token stands for "no answer"
        return Example(joined, types, start=start, end=end, answerable=float(answer is not None))


def batches(rows: dict[str, list[Row]], encoder: Encoder, random: Random, size: int) -> Iterator[list[Example]]:
    """Without end: pools of eight batches, sorted by length so that little is padded."""
    sources = sorted(rows)
    weights = [WEIGHTS.get(source, 0.1) for source in sources]
    while True:
        drawn = random.choices(sources, weights, k=size * 8)
        pool = [encoder.encode(random.choice(rows[source]), random) for source in drawn]
        pool.sort(key=lambda example: len(example.ids))
        groups = [pool[at : at + size] for at in range(0, len(pool), size)]
        random.shuffle(groups)
        yield from groups
