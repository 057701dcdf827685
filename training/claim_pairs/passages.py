"""Sentences to build pairs from: the passages of the training files, cut into sentences with their neighbours.

    {"passage": "Zinc is a metal. It melts at 420 °C."}  ->  Sentence("It melts at 420 °C.", before="Zinc is a metal.")

Held-out collections are never read: only the files that are named are opened.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

SHORTEST, LONGEST = 5, 26
_BOUNDARY = re.compile(
    r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!\bDr\.)(?<!\bSt\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bvs\.)\s+(?=[A-Z\"“])"
)
_ODD = re.compile(r"[\t\n|{}<>\[\]\\^]|  |-[LR][RS]B-|\.\.|--|``|\?")
# There are many captions of pictures, and they are much alike.
_CAPTION_SHARE = 0.25
_CAPTIONS = frozenset({"snli", "breaking"})
# Questions about single words of a sentence make no good statements.
_FRAGMENTS = frozenset({"qamr"})


@dataclass(frozen=True, slots=True)
class Sentence:
    """One statement and what stands around it."""

    text: str
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the sentence that answers it, and where the answer stands in it."""

    question: str
    sentence: str
    answer: str


def sentences_of(passage: str) -> list[Sentence]:
    """The sentences of a passage that state something and are neither fragments nor too long."""
    parts = [part.strip() for part in _BOUNDARY.split(passage)]
    found = []
    for index, part in enumerate(parts):
        if not is_statement(part):
            continue
        before = parts[index - 1] if index and is_statement(parts[index - 1]) else ""
        after = parts[index + 1] if index + 1 < len(parts) and is_statement(parts[index + 1]) else ""
        found.append(Sentence(part, before, after))
    return found


def is_statement(text: str) -> bool:
    words = text.split()
    if not SHORTEST <= len(words) <= LONGEST or _ODD.search(text):
        return False
    if re.search(r"\b(?:e\.g|i\.e|p\.m|a\.m|etc|cf|vs|ca|St|No|Inc|Jr)\.$|:\.$", text):
        return False
    return text[0].isupper() and text.endswith(".") and text.count('"') % 2 == 0 and text.count("(") == text.count(")")


def read_sentences(paths: Iterable[Path], random: Random) -> list[Sentence]:
    """Every sentence once, shuffled; captions of pictures are held to their share."""
    seen: set[str] = set()
    prose: list[Sentence] = []
    captions: list[Sentence] = []
    for row in read_rows(paths):
        for sentence in sentences_of(row["passage"]):
            if sentence.text not in seen:
                seen.add(sentence.text)
                (captions if row["source"] in _CAPTIONS else prose).append(sentence)
    random.shuffle(captions)
    kept = prose + captions[: int(len(prose) * _CAPTION_SHARE / (1 - _CAPTION_SHARE))]
    random.shuffle(kept)
    return kept


def read_asked(paths: Iterable[Path]) -> list[Asked]:
    """Questions whose answer is a known stretch of one sentence."""
    found = []
    for row in read_rows(paths):
        answer = row.get("answer")
        if not isinstance(answer, list) or row["source"] in _FRAGMENTS:
            continue
        passage, (start, end) = row["passage"], answer
        for sentence in sentences_of(passage):
            at = passage.find(sentence.text)
            if at <= start and end <= at + len(sentence.text):
                found.append(Asked(row["question"], sentence.text, passage[start:end]))
    return found


def read_rows(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)
