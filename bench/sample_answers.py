"""Part `sample`: the questions about the bundled sample corpus, asked without a model: which of them fail, and how?

    python bench/sample_answers.py [ID…]

A question fails when its facts are not in the answer, when none of its files is cited, when a claim to avoid is made
(but not where it is quoted as since corrected), or when it is answered though nothing answers it. With ids, the answers
to those are printed whole.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from citewell import Citewell
from citewell.answer.passages import OUTDATED
from citewell.evals.suite import sample_corpus
from citewell.runs.run import RunResult

QUESTIONS = Path(__file__).resolve().parents[1] / "evals" / "sample_questions.json"
_SHOWN = 500


def faults(entry: dict[str, Any], result: RunResult) -> list[str]:
    """What is wrong with an answer; nothing, where it is right."""
    if entry["kind"] == "unanswerable":
        return [] if result.answer_status == "no_evidence" else ["answered, and nothing answers it"]
    if result.answer_status != "ok":
        return ["refused" if result.answer_status == "no_evidence" else f"{result.answer_status}: {result.stop_reason}"]
    said = result.answer.casefold()
    current = " ".join(one.text for one in result.sentences if not one.text.startswith(OUTDATED)).casefold()
    found = [f"lacks “{fact}”" for fact in entry["fact"] if fact.casefold() not in said]
    found += [f"says “{wrong}”" for wrong in entry["avoid"] if wrong.casefold() in current]
    if not {gold["path"] for gold in entry["gold"]} & {citation.note_path for citation in result.citations}:
        found.append("cites none of its files")
    return found


def main() -> int:
    chosen = set(sys.argv[1:])
    entries = json.loads(QUESTIONS.read_text("utf-8"))["questions"]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        citewell = Citewell(Path(folder), embeddings="off")
        citewell.add(sample_corpus(), collection="skelday")
        for entry in entries:
            if chosen and entry["id"] not in chosen:
                continue
            result = citewell.research(entry["question"], history=entry.get("history", ()), trace=False)
            wrong = faults(entry, result)
            failed += bool(wrong)
            if wrong or chosen:
                print(f"{entry['id']} {entry['kind']}: {entry['question']}\n   {'; '.join(wrong) or 'right'}")
                print("   | " + result.answer[: None if chosen else _SHOWN].replace("\n", "\n   | "))
        citewell.close()
    print(f"{failed} of {len(chosen) or len(entries)} fail")
    return 0


if __name__ == "__main__":
    sys.exit(main())
