"""How well the estimate tells what a collection can answer: its own questions against foreign and adversarial ones."""

from __future__ import annotations

from pathlib import Path

from tables import Part, Ratio

from citewell.evals.bench import AnswerabilityRow, find_collections, mean, measure_answerability
from citewell.settings import Settings

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
