"""Which families the questions of real notes are recognised as, beside what a person says they are.

    python bench/family_recognition.py REAL/questions.jsonl [--half dev] [--wrong]

The labels (`evals/real_families.json`) hold ids and families only. Tune on `dev`; `test` is asked to report.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from citewell.search.conversation import ChatPrompt
from citewell.search.plan import plan_question
from citewell.search.query import Limits
from citewell.store.port import Filters

LABELS = Path(__file__).parents[1] / "evals" / "real_families.json"


@dataclass(frozen=True, slots=True)
class Recognition:
    """One question: what it is, and what it was taken for."""

    id: str
    question: str
    meant: str
    found: str


def recognised(questions: Path, half: str) -> list[Recognition]:
    labels: dict[str, str] = json.loads(LABELS.read_text("utf-8"))["labels"][half]
    asked = [json.loads(line) for line in questions.read_text("utf-8").splitlines() if line.strip()]
    return [
        Recognition(one["id"], one["question"], labels[one["id"]], family_of(one["question"], one.get("history", ())))
        for one in asked
        if one["id"] in labels
    ]


def family_of(question: str, history: list[str] | tuple[str, ...]) -> str:
    return plan_question(ChatPrompt(question, tuple(history)), Filters(), Limits(8, 700, False, 2)).family


def table(found: list[Recognition]) -> str:
    """A row a family: how many there are, how many of them were recognised, how many others were taken for it."""
    meant = Counter(one.meant for one in found)
    right = Counter(one.meant for one in found if one.meant == one.found)
    taken = Counter(one.found for one in found if one.meant != one.found)
    lines = ["| family | questions | recognised | others taken for it |", "|---|---|---|---|"]
    for name in sorted(meant | taken, key=lambda name: (name == "general", -meant[name], name)):
        lines.append(f"| `{name}` | {meant[name]} | {right[name]} | {taken[name]} |")
    lines.append(f"| all | {meant.total()} | {right.total()} ({right.total() / meant.total():.1%}) | {taken.total()} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--half", choices=("dev", "test"), default="dev")
    parser.add_argument("--wrong", action="store_true", help="list what was taken for something else")
    options = parser.parse_args()
    found = recognised(options.questions, options.half)
    print(table(found))
    for one in found if options.wrong else ():
        if one.meant != one.found:
            print(f"{one.id}  {one.meant} taken for {one.found}: {one.question}")


if __name__ == "__main__":
    main()
