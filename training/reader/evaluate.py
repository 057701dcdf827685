"""Where a checkpoint stands on rows it never saw, as one JSON line.

    python -m reader.evaluate CHECKPOINT --minilm FOLDER claims PAIRS.jsonl …   claim, evidence or passage, label
    python -m reader.evaluate CHECKPOINT --minilm FOLDER questions FOLDER       a collection like SQuAD 2.0, with qrels

Passages of unsupported claims are cut to the length of the others, else their length alone would give them away.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import string
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Tokenizer

from reader.model import CLASS_TOKEN, LABELS, SEPARATOR, Reader, load, pretrained
from reader.train import by_kind

LENGTH, CLAIM_TOKENS, ANSWER_TOKENS = 320, 64, 25
REFUSED_SHARE = 0.14
_SENTENCE_END = re.compile(r"(?<=[.!?])\s")
Numbers = npt.NDArray[np.float64]


def auroc(positive: Numbers, negative: Numbers) -> float:
    """How often a positive one scores above a negative one; ties count half."""
    values = np.concatenate([positive, negative])
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    total = ranks[: len(positive)].sum() - len(positive) * (len(positive) + 1) / 2
    return float(total / (len(positive) * len(negative)))


class Judge:
    """A checkpoint that reads one pair at a time."""

    def __init__(self, checkpoint: Path, minilm: Path) -> None:
        self.net: Reader = pretrained(minilm)
        self.state = load(self.net, checkpoint)["st"]
        self.net.eval()
        self._tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def read(self, first: str, passage: str) -> tuple[Numbers, float, Numbers, int, list[tuple[int, int]]]:
        """Span scores, the score of being answerable, label chances, where the passage begins, its offsets."""
        head = self._tokenizer.encode(first, add_special_tokens=False).ids[:CLAIM_TOKENS]
        body = self._tokenizer.encode(passage, add_special_tokens=False)
        room = LENGTH - len(head) - 3
        ids = torch.tensor([[CLASS_TOKEN, *head, SEPARATOR, *body.ids[:room], SEPARATOR]])
        types = torch.tensor([[0] * (len(head) + 2) + [1] * (len(body.ids[:room]) + 1)])
        with torch.no_grad():
            span, answerable, nli = self.net(ids, types, torch.ones_like(ids))
        chances = torch.softmax(nli[0], -1).double().numpy()
        return span[0].double().numpy(), float(answerable[0]), chances, len(head) + 2, body.offsets[:room]


def read_pairs(paths: list[Path]) -> list[dict[str, Any]]:
    rows = []
    for path in paths:
        opened: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as lines:
            rows += [json.loads(line) for line in lines]
    return [{"source": "", **row, "passage": row.get("passage") or row["evidence"]} for row in rows]


def cut_to_length(rows: list[dict[str, Any]], random: Random) -> None:
    lengths = [len(_SENTENCE_END.split(row["passage"])) for row in rows if row["label"] != "unsupported"]
    for row in rows:
        if row["label"] == "unsupported" and lengths:
            sentences = _SENTENCE_END.split(row["passage"])
            size = min(len(sentences), random.choice(lengths))
            at = random.randrange(len(sentences) - size + 1)
            row["passage"] = " ".join(sentences[at : at + size])


def judge_claims(judge: Judge, paths: list[Path], size: int) -> dict[str, Any]:
    random = Random(1)
    rows = read_pairs(paths)
    cut_to_length(rows, random)
    random.shuffle(rows)
    rows = rows[:size]
    chances = np.array([judge.read(row["claim"], row["passage"])[2] for row in rows])
    label = np.array([row["label"] for row in rows])
    against, entails = chances[:, 0] - chances[:, 1], chances[:, 0]
    report: dict[str, Any] = {"n": len(rows)}
    if (label == "refuted").any():
        report["refuted"] = round(auroc(against[label == "supported"], against[label == "refuted"]), 3)
    if (label == "unsupported").any():
        report["unsupported"] = round(auroc(entails[label == "supported"], entails[label == "unsupported"]), 3)
    for name in LABELS:
        if (label == name).any():
            said = Counter(LABELS[index] for index in chances[label == name].argmax(1))
            report[name + " called"] = dict(said)
    if any(row.get("kind") for row in rows):
        report["kinds"] = by_kind(rows, [torch.from_numpy(row) for row in chances])
    return report


def normal(text: str) -> list[str]:
    plain = "".join(sign for sign in text.lower() if sign not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", plain).split()


def shared(guess: str, gold: str) -> float:
    """F1 of the words of two answers."""
    left, right = normal(guess), normal(gold)
    both = (Counter(left) & Counter(right)).total()
    return 2 * both / (len(left) + len(right)) if both else 0.0


def judge_questions(judge: Judge, folder: Path, size: int) -> dict[str, Any]:
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
        best, guess = answer(judge, question, passage)
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


def answer(judge: Judge, question: str, passage: str) -> tuple[float, str]:
    """How sure the reader is that there is an answer, and the answer it would give."""
    span, answerable, _, base, offsets = judge.read(question, passage)
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
    parser.add_argument("task", choices=("claims", "questions"))
    parser.add_argument("data", type=Path, nargs="+")
    given = parser.parse_args()
    torch.set_num_threads(1)
    judge = Judge(given.checkpoint, given.minilm)
    report = (
        judge_claims(judge, given.data, given.rows)
        if given.task == "claims"
        else judge_questions(judge, given.data[0], given.rows)
    )
    print(json.dumps({**judge.state, **report}))


if __name__ == "__main__":
    main()
