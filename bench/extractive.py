"""Part `extractive`: how often an answer without a model holds the known answer, and what it refuses."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tables import Part, Ratio

from citewell.engine import Citewell
from citewell.evals.bench import is_collection, load_collection, read_jsonl, write_notes
from citewell.runs.run import RunResult
from citewell.settings import Settings

_SETS = ("squad2_dev", "hotpotqa_100", "multihoprag_facts")
_Asked = tuple[str, tuple[str, ...]]  # a question and its known answers
_FIRST = 3
_ARTICLES = frozenset(("a", "an", "the"))
# An answer that any text contains tells nothing.
_TELLS_NOTHING = ("yes", "no", "")


@dataclass(frozen=True, slots=True)
class _Question:
    text: str
    answers: tuple[str, ...]
    is_answerable: bool
    half: str


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one question came to."""

    in_top_passage: bool
    in_first: bool
    in_answer: bool
    is_refused: bool
    claims: int
    unsupported: int


def measure_extractive(data: Path, chosen: Sequence[str], most: int) -> Part:
    """Every set half by half: thresholds were chosen on the first half of the SQuAD questions."""
    rows: list[tuple[str, ...]] = []
    ratios: list[Ratio] = []
    claims = unsupported = 0
    for name in _SETS:
        folder = data / name
        if (chosen and name not in chosen) or not is_collection(folder):
            continue
        print(f"  {name} …", file=sys.stderr, flush=True)
        for label, is_answerable, outcomes in _measured(folder, most):
            rows.append(_row(name, label, is_answerable, outcomes))
            claims += sum(one.claims for one in outcomes)
            unsupported += sum(one.unsupported for one in outcomes)
            if is_answerable and name == "squad2_dev":
                what = f"known answer in {_FIRST} sentences / in the whole top passage, {label} of {name}"
                ratios.append(Ratio(what, _ratio(outcomes), 0.9, "higher"))
    ratios.append(Ratio("unsupported sentences / all sentences", unsupported / max(claims, 1), 0.0))
    columns = ("set", "questions", "number", "top passage", f"first {_FIRST} sentences", "whole answer", "refused")
    note = (
        f"At most {most} questions of a set that have an answer and two thirds as many that have none, evenly spread; "
        "every second one is of the tuning half. An answer counts as found without regard to case, punctuation and "
        "articles; questions of hotpotqa_100 answered by yes or no are left out."
    )
    return Part("extractive", tuple(ratios), columns, tuple(rows), (note,))


def _measured(folder: Path, most: int) -> Iterator[tuple[str, bool, list[_Outcome]]]:
    questions = _questions(folder, most)
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as temporary:
        engine = Citewell(Settings(data_dir=Path(temporary) / "data"))
        try:
            write_notes(load_collection(folder), Path(temporary) / "notes")
            for _ in engine.corpus.sync(Path(temporary) / "notes", collection="bench"):
                pass
            outcomes = [(question, asyncio.run(_asked(engine, question))) for question in questions]
        finally:
            engine.close()
    for is_answerable in (True, False):
        for half in ("tuning half", "held-out half", "all"):
            found = [
                one for question, one in outcomes if (question.is_answerable, question.half) == (is_answerable, half)
            ]
            if found:
                yield half, is_answerable, found


def _questions(folder: Path, most: int) -> list[_Question]:
    yes: list[_Asked] = []
    no: list[_Asked] = []
    for entry in read_jsonl(folder / "queries.jsonl"):
        metadata = entry.get("metadata") or {}
        answers = tuple(metadata.get("answers") or [metadata.get("answer") or ""])
        if metadata.get("answerable") is False:
            no.append((str(entry["text"]), ()))
        elif folder.name == "squad2_dev" or (
            folder.name == "hotpotqa_100" and _plain(answers[0]) not in _TELLS_NOTHING
        ):
            yes.append((str(entry["text"]), answers))
    is_halved = folder.name == "squad2_dev"
    drawn = [(one, True) for one in _spread(yes, most)] + [(one, False) for one in _spread(no, most * 2 // 3)]
    halves = ("tuning half", "held-out half")
    return [
        _Question(text, answers, is_answerable, halves[at % 2] if is_halved else "all")
        for at, ((text, answers), is_answerable) in enumerate(drawn)
    ]


def _spread(items: Sequence[_Asked], most: int) -> list[_Asked]:
    return [items[at * len(items) // most] for at in range(most)] if len(items) > most else list(items)


async def _asked(engine: Citewell, question: _Question) -> _Outcome:
    async for event in engine.stream(question.text, trace=False):
        if isinstance(event, RunResult):
            return _outcome(question, event)
    raise AssertionError("a run ends with its result")


def _outcome(question: _Question, result: RunResult) -> _Outcome:
    claims = [one for one in result.sentences if one.verdict != "not_a_claim"]
    texts = [one.text for one in claims]
    top = result.pack.evidence[0].text if result.pack and result.pack.evidence else ""
    return _Outcome(
        in_top_passage=_holds([top], question.answers),
        in_first=_holds(texts[:_FIRST], question.answers),
        in_answer=_holds(texts, question.answers),
        is_refused=result.answer_status == "no_evidence",
        claims=len(claims),
        unsupported=sum(one.verdict == "unsupported" for one in claims),
    )


def _plain(text: str) -> str:
    spaced = "".join(character if character.isalnum() else " " for character in text.casefold())
    return " ".join(word for word in spaced.split() if word not in _ARTICLES)


def _holds(texts: Iterable[str], answers: Iterable[str]) -> bool:
    said = f" {_plain(' '.join(texts))} "
    return any(f" {plain} " in said for answer in answers if (plain := _plain(answer)))


def _ratio(outcomes: Sequence[_Outcome]) -> float:
    return sum(one.in_first for one in outcomes) / max(sum(one.in_top_passage for one in outcomes), 1)


def _row(name: str, label: str, is_answerable: bool, outcomes: Sequence[_Outcome]) -> tuple[str, ...]:
    def share(count: int) -> str:
        return f"{count / len(outcomes):.1%}"

    found = ("–", "–", "–")
    if is_answerable:
        found = (
            share(sum(one.in_top_passage for one in outcomes)),
            share(sum(one.in_first for one in outcomes)),
            share(sum(one.in_answer for one in outcomes)),
        )
    kind = "with an answer" if is_answerable else "without one"
    asked = kind if label == "all" else f"{kind}, {label}"
    return (name, asked, str(len(outcomes)), *found, share(sum(one.is_refused for one in outcomes)))
