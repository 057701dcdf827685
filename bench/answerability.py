"""How well the estimate tells what a collection can answer: its own questions against foreign and adversarial ones.

Questions without an answer are those of another collection, and those a collection names itself: in
`qrels/unanswerable.tsv`, in `unanswerable.jsonl`, or as a query marked `answerable: false`. Halves are drawn by
document, so that no article is both fitted on and measured.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tables import Part, Ratio

from citewell import BadInput, Citewell, Settings
from citewell.evals.bench import (
    BenchProgress,
    auroc,
    find_collections,
    load_collection,
    mean,
    read_jsonl,
    temporary_folder,
    write_notes,
)

MOST_QUESTIONS = 400
_OPTIONS: dict[str, int] = {"limit": 8, "max_chars_per_doc": 2_000}


@dataclass(frozen=True, slots=True)
class AnswerabilityRow:
    """Questions of one collection asked of another, or of their own: how well what it answers is told from the rest.

    AUROC is how often a question that is answered ranks above one that is not; 0.5 is chance.
    """

    corpus: str
    questions: str
    half: str
    auroc: float
    answerable: int
    unanswerable: int


@dataclass(frozen=True, slots=True)
class PosedQuestion:
    """A question put to a collection, the document it is about, and whether that answers it."""

    text: str
    document: str
    is_answerable: bool

    @property
    def half(self) -> int:
        """0 to fit on, 1 to measure on; all questions about one article are in the same half."""
        article = self.document.partition("#")[0]
        return hashlib.md5(article.encode(), usedforsecurity=False).digest()[-1] % 2


def questions_of(folder: Path, most: int = MOST_QUESTIONS) -> list[PosedQuestion]:
    """Questions of a collection, evenly drawn, with those it says cannot be answered."""
    collection = load_collection(folder)
    unanswerable = _unanswerable(folder, set(collection.queries))
    posed = [PosedQuestion(text, min(collection.judgements[key]), True) for key, text in collection.queries.items()]
    return _drawn(posed, most) + _drawn(unanswerable, most)


def _unanswerable(folder: Path, answerable: set[str]) -> list[PosedQuestion]:
    path = folder / "qrels" / "unanswerable.tsv"
    tempting = dict(line.split("\t")[:2] for line in path.read_text("utf-8").splitlines()[1:]) if path.is_file() else {}
    found: list[PosedQuestion] = []
    for entry in read_jsonl(folder / "queries.jsonl"):
        key, metadata = str(entry.get("_id")), entry.get("metadata")
        marked = isinstance(metadata, dict) and metadata.get("answerable") is False
        if key not in answerable and (marked or key in tempting):
            found.append(PosedQuestion(str(entry.get("text") or ""), tempting.get(key, key), False))
    apart = folder / "unanswerable.jsonl"
    for entry in read_jsonl(apart) if apart.is_file() else ():
        key = str(entry.get("_id"))
        if key not in answerable and key not in tempting:
            found.append(PosedQuestion(str(entry.get("text") or ""), key, False))
    return [posed for posed in found if posed.text.strip()]


def _drawn(posed: Sequence[PosedQuestion], most: int) -> list[PosedQuestion]:
    return list(posed[:: max(1, -(-len(posed) // most))])


def measure_answerability(
    folders: Sequence[Path], settings: Settings, most: int = MOST_QUESTIONS
) -> Iterator[AnswerabilityRow | BenchProgress]:
    """Each collection with its own unanswerable questions, whole and half by half, and with those of every other."""
    asked_of = {folder.name: questions_of(folder, most) for folder in folders}
    if len(folders) == 1 and all(posed.is_answerable for posed in asked_of[folders[0].name]):
        raise BadInput(
            f"{folders[0].name} has no unanswerable questions, so nothing can be told apart.",
            fix="Name a folder of several collections, or add qrels/unanswerable.tsv or unanswerable.jsonl.",
        )
    for folder in folders:
        with temporary_folder() as place:
            own_questions = asked_of[folder.name]
            yield BenchProgress(folder.name, "citewell", "indexing", 0, 1)
            engine = _indexed(folder, place, settings)
            try:
                own: list[tuple[PosedQuestion, float]] = []
                for number, posed in enumerate(own_questions):
                    yield BenchProgress(folder.name, "citewell", "asking", number, len(own_questions))
                    own.append((posed, likelihood(engine, posed.text)))
                yield from _own_rows(folder.name, own)
                answered = [likely for posed, likely in own if posed.is_answerable]
                for other, questions in asked_of.items():
                    if other != folder.name:
                        foreign = [likelihood(engine, posed.text) for posed in questions[: max(1, most // 2)]]
                        yield _row(folder.name, other, "all", answered, foreign)
            finally:
                engine.close()


def _own_rows(name: str, own: Sequence[tuple[PosedQuestion, float]]) -> Iterator[AnswerabilityRow]:
    if all(posed.is_answerable for posed, _ in own):
        return
    whole = [[likely for posed, likely in own if posed.is_answerable == wanted] for wanted in (True, False)]
    yield _row(name, name, "all", *whole)
    for half, label in ((0, "tuning half"), (1, "held-out half")):
        yes = [likely for posed, likely in own if posed.half == half and posed.is_answerable]
        no = [likely for posed, likely in own if posed.half == half and not posed.is_answerable]
        yield _row(name, name, label, yes, no)


def _row(corpus: str, questions: str, half: str, yes: Sequence[float], no: Sequence[float]) -> AnswerabilityRow:
    return AnswerabilityRow(corpus, questions, half, round(auroc(yes, no), 4), len(yes), len(no))


def _indexed(folder: Path, place: Path, settings: Settings) -> Citewell:
    engine = Citewell(replace(settings, data_dir=place / "data", database_url=""))
    write_notes(load_collection(folder), place / "notes")
    for _ in engine.corpus.sync(place / "notes", collection="bench"):
        pass
    return engine


def likelihood(engine: Citewell, question: str) -> float:
    """The estimate that goes with the pack of a question; nothing is likely of no question."""
    if not question.strip():
        return 0.0
    found = engine.pack(question, **_OPTIONS).coverage.answerability
    return found.probability if found is not None else 0.0


_FOREIGN_GOAL = 0.90
_ADVERSARIAL_GOAL = 0.75


def measure_answerable(data: Path, names: list[str], most_queries: int) -> Part:
    """AUROC for every pair of collections, and for the questions a collection itself calls unanswerable."""
    folders = [folder for folder in find_collections(data) if not names or folder.name in names]
    measured = measure_answerability(folders, Settings(data_dir=data), most_queries)
    rows = [row for row in measured if isinstance(row, AnswerabilityRow)]
    foreign = [row.auroc for row in rows if row.corpus != row.questions]
    ratios = [Ratio("AUROC, questions of another collection, mean", mean(foreign), _FOREIGN_GOAL, "higher")]
    ratios += [
        Ratio(f"AUROC, unanswerable questions of {row.corpus}", row.auroc, _ADVERSARIAL_GOAL, "higher")
        for row in rows
        if row.half == "held-out half"
    ]
    columns = ("collection", "questions of", "drawn from", "AUROC", "answerable", "unanswerable")
    cells = tuple(
        (row.corpus, row.questions, row.half, f"{row.auroc:.3f}", str(row.answerable), str(row.unanswerable))
        for row in rows
    )
    return Part("answerability", tuple(ratios), columns, cells, (f"At most {most_queries} questions of a kind.",))
