"""Labelled pairs of claim and passage from public collections: true by construction, or made untrue in a known way.

A true claim is a sentence of a passage, as it stands or reworded by rule, or a question of SQuAD 2.0 turned into a
statement with its answer. What is not supported is the same claim with one thing changed (`verifier_changes`), or
beside the passage of another document that shares most of its rare words. Everything is drawn by a seed, half by half:
the halves share no document.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from verifier_changes import CHANGES, REWORDINGS, Claim, names_of

from citewell.evals.bench import read_jsonl
from citewell.evals.verifier import Label
from citewell.text.sentences import sentences
from citewell.text.words import index_terms

_BYLINE = re.compile(r"^[^:]{3,80}, \d{4}-\d\d-\d\d, [^:]{2,80}: ")
_PRONOUN = re.compile(r"^(?:He|She|It) (?=(?:was|is|has|had|won|became|played|served|plays)\b)")
_MOST_WORDS, _LEAST_WORDS = 36, 7
_PASSAGES_COMPARED = 40
_MDN_EVERY = 40


@dataclass(frozen=True, slots=True)
class Pair:
    """One line of a file that `bench-verifier` reads, and how it was made."""

    claim: str
    evidence: str
    label: Label
    made: str
    document: str

    @property
    def half(self) -> int:
        """0 to tune on, 1 to measure on."""
        return hashlib.md5(self.document.encode(), usedforsecurity=False).digest()[-1] % 2


@dataclass(frozen=True, slots=True)
class _Passage:
    key: str
    title: str
    text: str

    @property
    def article(self) -> str:
        return self.key.partition("#")[0]


def pairs_of(folder: Path, most: int, seed: int = 7) -> list[Pair]:
    """Pairs of one collection: at most so many of each way they are made."""
    chance = random.Random(f"{seed} {folder.name}")
    passages = _passages(folder)
    claims = list(_claims(passages, chance))
    if (folder / "qrels").is_dir() and folder.name.startswith("squad"):
        claims += _statements(folder, passages)
    chance.shuffle(claims)
    names = sorted({match.group() for passage in passages for match in names_of(passage.text)})
    near = _Nearest(passages)
    found: dict[str, list[Pair]] = {}
    for claim in claims:
        _keep(found, Pair(claim.text, claim.passage, "supported", f"supported: {claim.way}", claim.document), most)
        for way, change in CHANGES.items():
            if len(found.get(way, ())) < most:
                new = change(claim.text, claim.passage, chance, names)
                if new and new != claim.text:
                    label: Label = "unsupported" if way == "changed name" else "refuted"
                    _keep(found, Pair(new, claim.passage, label, way, claim.document), most)
        if len(found.get("wrong passage", ())) < most and (other := near.other(claim)):
            _keep(found, Pair(claim.text, other, "unsupported", "wrong passage", claim.document), most)
    return [pair for pairs in found.values() for pair in pairs]


def _keep(found: dict[str, list[Pair]], pair: Pair, most: int) -> None:
    kept = found.setdefault(pair.made, [])
    if len(kept) < most:
        kept.append(pair)


def _passages(folder: Path) -> list[_Passage]:
    if (folder / "mdn_chunks.jsonl.gz").is_file():
        return list(_pages(folder / "mdn_chunks.jsonl.gz"))
    found: list[_Passage] = []
    for entry in read_jsonl(folder / "corpus.jsonl"):
        found.append(_Passage(str(entry["_id"]), str(entry["title"]), _BYLINE.sub("", str(entry["text"]))))
    return found


def _pages(path: Path) -> Iterator[_Passage]:
    """Every so many chunks of the MDN pages."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for at, line in enumerate(file):
            if at % _MDN_EVERY == 0:
                entry = json.loads(line)
                yield _Passage(str(entry["_id"]), str(entry["title"]), str(entry["text"]))


def _claims(passages: Sequence[_Passage], chance: random.Random) -> Iterator[Claim]:
    """One or two sentences of each passage, as they stand and reworded."""
    for passage in passages:
        fit = [text for start, end in sentences(passage.text) if _is_fit(text := passage.text[start:end])]
        chance.shuffle(fit)
        for text in fit[:2]:
            yield Claim(text, passage.text, passage.article, "as it stands")
            for way, reword in REWORDINGS.items():
                new = reword(text, chance)
                if new and len(new.split()) >= 5:
                    yield Claim(new, passage.text, passage.article, way)
        for text in fit:
            titled = _PRONOUN.sub(f"{passage.title} ".replace("\\", ""), text)
            if titled != text and "(" not in passage.title and len(passage.title.split()) < 6:
                yield Claim(titled, f"{passage.title}\n\n{passage.text}", passage.article, "pronoun resolved")
                break


def _is_fit(text: str) -> bool:
    count = len(text.split())
    plain = text[0].isupper() and text.endswith(".") and not re.search(r"[\"“”?\[\]{}|`:]", text)
    return plain and _LEAST_WORDS <= count <= _MOST_WORDS


def _statements(folder: Path, passages: Sequence[_Passage]) -> list[Claim]:
    """Questions with their answers as statements, where a rule can turn them."""
    texts = {passage.key: passage for passage in passages}
    gold = dict(line.split("\t")[:2] for line in (folder / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:])
    found: list[Claim] = []
    for entry in read_jsonl(folder / "queries.jsonl"):
        answers = entry.get("metadata", {}).get("answers") or ()
        if entry["_id"] in gold and answers:
            passage = texts[gold[entry["_id"]]]
            statement = stated(str(entry["text"]), str(answers[0]))
            if statement:
                found.append(Claim(statement, passage.text, passage.article, "question and answer"))
    return found


def stated(question: str, answer: str) -> str | None:
    """A question and its answer as a statement; nothing where no rule fits."""
    asked = question.strip().rstrip("?").strip()
    rules = (
        (r"(?:Who|What) ((?!is|was|are|were|did|do|does)[a-z]+(?:ed|s) .+)", r"{a} \1"),
        (r"(?:Who|What) (is|was|are|were) (the .+)", r"\2 \1 {a}"),
        (r"When (was|were) (.+?) ([a-z]+ed|built|born|founded|made|written|held)( .*)?", r"\2 \1 \3\4 in {a}"),
        (r"Where (is|was|are|were) (.+?) (located|born|built|held|found)( .*)?", r"\2 \1 \3\4 in {a}"),
        (
            r"In (?:what|which) (\w+) (is|was|were|are) (.+?) (located|born|built|held|found|established)",
            r"\3 \2 \4 in {a}",
        ),
        (r"How many (\w+) (are|were|is|was) (.+)", r"{a} \1 \2 \3"),
        (r"What (\w+) (is|was|are|were) (the .+)", r"\3 \2 {a}"),
    )
    for pattern, form in rules:
        match = re.fullmatch(pattern, asked)
        if match:
            statement = re.sub(r"\s+", " ", match.expand(form).replace("{a}", answer)).strip()
            return statement[0].upper() + statement[1:] + "."
    return None


class _Nearest:
    """For a claim, the passage of another document that shares most of its rare words."""

    def __init__(self, passages: Sequence[_Passage]) -> None:
        self._passages = passages
        self._stems = [frozenset(index_terms(passage.text, "en").split()) for passage in passages]
        counts = Counter(stem for stems in self._stems for stem in stems)
        self._rarity = {stem: math.log(len(passages) / count) for stem, count in counts.items()}
        self._having: dict[str, list[int]] = {}
        for at, stems in enumerate(self._stems):
            for stem in stems:
                self._having.setdefault(stem, []).append(at)

    def other(self, claim: Claim) -> str | None:
        said = sorted(set(index_terms(claim.text, "en").split()))
        scores: dict[int, float] = {}
        for stem in said:
            if self._rarity.get(stem, 0.0) > 1.0:
                for at in self._having[stem]:
                    scores[at] = scores.get(at, 0.0) + self._rarity[stem]
        ranked = sorted(scores, key=lambda at: (-scores[at], at))[:_PASSAGES_COMPARED]
        whole = sum(self._rarity.get(stem, 0.0) for stem in said)
        for at in ranked:
            passage = self._passages[at]
            # A passage that has nearly every word may well support the claim: that would be a wrong label.
            if passage.text not in claim.passage and claim.text not in passage.text and scores[at] < 0.8 * whole:
                return passage.text
        return None
