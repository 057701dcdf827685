"""Where a checkpoint stands on rows it never saw, as one JSON line.

python -m reader.evaluate CHECKPOINT COLLECTION --minilm FOLDER       a collection like SQuAD 2.0, with qrels
"""

from __future__ import annotations

import argparse
import json
import re
import string
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer

from reader.model import CLASS_TOKEN, SEPARATOR, Reader, load, pretrained

LENGTH, QUESTION_TOKENS, ANSWER_TOKENS = 320, 64, 25
REFUSED_SHARE = 0.14
Numbers = npt.NDArray[np.float64]


def auroc(positive: Numbers, negative: Numbers) -> float:
    """How often a positive one scores above a negative one; ties count half."""
    values = np.concatenate([positive, negative])
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    total = ranks[: len(positive)].sum() - len(positive) * (len(positive) + 1) / 2
    return float(total / (len(positive) * len(negative)))


class Opened:
    """A checkpoint that reads one pair at a time."""

    def __init__(self, checkpoint: Path, minilm: Path) -> None:
        self.net: Reader = pretrained(minilm)
        self.state = load(self.net, checkpoint)["st"]
        self.net.eval()
        self._tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def read(self, question: str, passage: str) -> tuple[Numbers, float, int, list[tuple[int, int]]]:
        """Span scores, the score of being answerable, where the passage begins, its offsets."""
        head = self._tokenizer.encode(question, add_special_tokens=False).ids[:QUESTION_TOKENS]
        body = self._tokenizer.encode(passage, add_special_tokens=False)
        room = LENGTH - len(head) - 3
        ids = torch.tensor([[CLASS_TOKEN, *head, SEPARATOR, *body.ids[:room], SEPARATOR]])
        types = torch.tensor([[0] * (len(head) + 2) + [1] * (len(body.ids[:room]) + 1)])
        with torch.no_grad():
            span, answerable = self.net(ids, types, torch.ones_like(ids))
        return span[0].double().numpy(), float(answerable[0]), len(head) + 2, body.offsets[:room]


def normal(text: str) -> list[str]:
    plain = "".join(sign for sign in text.lower() if sign not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


def shared(guess: str, gold: str) -> float:
    """F1 of the words of two answers."""
    left, right = normal(guess), normal(gold)
    both = (Counter(left) & Counter(right)).total()
    return 2 * both / (len(left) + len(right)) if both else 0.0


def measure(reader: Opened, folder: Path, size: int) -> dict[str, Any]:
    texts = {row["_id"]: row["text"] for row in map(json.loads, (folder / "corpus.jsonl").open(encoding="utf-8"))}
    asked = {row["_id"]: row for row in map(json.loads, (folder / "queries.jsonl").open(encoding="utf-8"))}
    rows: list[tuple[str, str, bool, list[str]]] = []
    for name, answerable in (("test", True), ("unanswerable", False)):
        for line in (folder / f"qrels/{name}.tsv").read_text("utf-8").splitlines()[1:]:
            query, document, _ = line.split("\t")
            rows.append((asked[query]["text"], texts[document], answerable, asked[query]["metadata"]["answers"]))
    Random(1).shuffle(rows)
    score: dict[bool, list[float]] = {True: [], False: []}
    exact, close = [], []
    for question, passage, answerable, gold in rows[:size]:
        best, guess = answer(reader, question, passage)
        score[answerable].append(best)
        if answerable:
            exact.append(max(normal(guess) == normal(text) for text in gold))
            close.append(max(shared(guess, text) for text in gold))
    yes, no = np.array(score[True]), np.array(score[False])
    return {
        "n": len(yes) + len(no),
        "answerability": round(auroc(yes, no), 3),
        "refused_at_14": round(float((no < np.quantile(yes, REFUSED_SHARE)).mean()), 3),
        "em": round(float(np.mean(exact)), 3),
        "f1": round(float(np.mean(close)), 3),
    }


def answer(reader: Opened, question: str, passage: str) -> tuple[float, str]:
    """How sure the reader is that there is an answer, and the answer it would give."""
    span, answerable, base, offsets = reader.read(question, passage)
    total = span[base:-1, 0][:, None] + span[base:-1, 1][None]
    fits = np.triu(np.ones_like(total)) * np.tril(np.ones_like(total), ANSWER_TOKENS)
    total = np.where(fits > 0, total, -1e9)
    start, end = divmod(int(total.argmax()), total.shape[1])
    return float(total[start, end] - span[0].sum() + answerable), passage[offsets[start][0] : offsets[end][1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--minilm", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("collection", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    reader = Opened(given.checkpoint, given.minilm)
    print(json.dumps({**reader.state, **measure(reader, given.collection, given.rows)}))


if __name__ == "__main__":
    main()
