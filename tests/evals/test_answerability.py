"""The measure of answerability: AUROC, halves drawn by article, and foreign questions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from answerability import AnswerabilityRow, PosedQuestion, measure_answerability, questions_of

from citewell import BadInput, Settings
from citewell.evals.bench import auroc


def collection(folder: Path, facts: dict[str, str], queries: dict[str, str], impossible: str = "") -> Path:
    (folder / "qrels").mkdir(parents=True)
    lines = [json.dumps({"_id": key, "title": key, "text": text}) for key, text in facts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(lines), "utf-8")
    asked = [{"_id": f"q-{key}", "text": text, "metadata": {}} for key, text in queries.items()]
    asked += [{"_id": "none", "text": impossible, "metadata": {"answerable": False}}] if impossible else []
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)), "utf-8")
    judged = [f"q-{key}\t{key}\t1" for key in queries]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]), "utf-8")
    return folder


def test_auroc_counts_pairs_in_order_and_ties_half() -> None:
    assert auroc([2.0, 1.0], [0.0, 1.0]) == pytest.approx(3.5 / 4)


def test_all_questions_about_one_article_are_in_one_half() -> None:
    assert len({PosedQuestion("?", f"Normans#{part}", True).half for part in range(20)}) == 1
    assert {PosedQuestion("?", f"article {number}", True).half for number in range(20)} == {0, 1}


def test_foreign_questions_are_told_from_a_collections_own(tmp_path: Path) -> None:
    boats = collection(
        tmp_path / "boats",
        {"ferry": "The ferry Skua was built in Leith in 1931.", "lens": "The lens was made by Vauquelin in Le Havre."},
        {"ferry": "When was the ferry Skua built?", "lens": "Who made the lens?"},
        impossible="Who painted the ferry?",
    )
    plants = collection(
        tmp_path / "plants",
        {"kelp": "Sugar kelp is dried at 38 degrees for eight hours.", "oak": "The oak flowers in May."},
        {"kelp": "At what temperature is sugar kelp dried?", "oak": "When does the oak flower?"},
    )
    assert [posed.is_answerable for posed in questions_of(boats)] == [True, True, False]
    measured = measure_answerability([boats, plants], Settings(data_dir=tmp_path / "data"))
    rows = [row for row in measured if isinstance(row, AnswerabilityRow)]
    foreign = {(row.corpus, row.questions): row.auroc for row in rows if row.corpus != row.questions}
    assert foreign == {("boats", "plants"): 1.0, ("plants", "boats"): 1.0}
    own = {row.half: row for row in rows if row.corpus == row.questions}
    assert own.keys() == {"all", "tuning half", "held-out half"}
    assert (own["all"].corpus, own["all"].answerable, own["all"].unanswerable) == ("boats", 2, 1)


def test_questions_that_a_collection_names_apart_count_too(tmp_path: Path) -> None:
    boats = collection(
        tmp_path / "boats",
        {"ferry": "The ferry Skua was built in Leith in 1931."},
        {"ferry": "When was the ferry Skua built?"},
    )
    (boats / "unanswerable.jsonl").write_text('{"_id": "u1", "text": "Who was the king of Bhutan?"}\n', "utf-8")
    measured = measure_answerability([boats], Settings(data_dir=tmp_path / "data"))
    first = next(row for row in measured if isinstance(row, AnswerabilityRow))
    assert first == AnswerabilityRow("boats", "boats", "all", 1.0, 1, 1)


def test_a_single_collection_without_such_questions_is_refused_with_the_way_on(tmp_path: Path) -> None:
    boats = collection(tmp_path / "boats", {"a": "The ferry was built in Leith."}, {"a": "Where was the ferry built?"})
    with pytest.raises(BadInput, match="no unanswerable questions"):
        list(measure_answerability([boats], Settings(data_dir=tmp_path / "data")))
