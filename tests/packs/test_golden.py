"""Golden packs: ten questions over the sample corpus. What changes here changes what people see: review it.

`make golden` writes them anew; `git diff tests/packs/golden` shows the difference. Scores and windows are left out:
they move with every weight; keys, order, understanding, matched terms, coverage and next steps stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, ResearchPack, Settings
from citewell.evals.suite import sample_corpus

GOLDEN = Path(__file__).parent / "golden"
QUESTIONS = {
    "overview": "What do I know about Big Maggie?",
    "person": "Who is rossbench?",
    "selection": "Why did we pick Driftlog for the shared logbook?",
    "project": "What did Tidewick 1.4.2 fix?",
    "comparison": "Compare the RMS errors of the Corvid R80, Scoter P10 and Plover U2.",
    "timeline": "timeline of the Orrin Head Light from 1859 to 1988",
    "media": "In Ilse Brandvold's talk, what happens to the replica of a boat that sinks?",
    "exact_title": "What does the note called Gable mortar say about lime?",
    "exclusion": "tide gauges other than Kirkhaven",
    "correction": (
        "Current question: not the oceanographer, the slater\n"
        "Recent user questions:\n- Who is Ewan Ross the oceanographer?"
    ),
}


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Citewell]:
    opened = Citewell(Settings(data_dir=tmp_path_factory.mktemp("golden")))
    for _ in opened.corpus.sync(sample_corpus(), collection="skelday"):
        pass
    yield opened
    opened.close()


def outline(pack: ResearchPack) -> dict[str, Any]:
    """A pack without what would make it brittle."""
    plan, coverage = pack.query_plan, pack.coverage
    return {
        "question": pack.question,
        "mode": pack.mode,
        "family": plan.family,
        "text_query": plan.text_query,
        "terms": list(plan.terms),
        "variants": [f"{variant.kind}: {variant.query}" for variant in plan.query_variants],
        "concepts": [_concept(concept.name, concept.role, concept.required) for concept in plan.concepts],
        "excluded": [concept.name for concept in plan.excluded],
        "evidence": [
            {
                "source_key": row.source_key,
                "matched": list(row.matched_terms),
                "missing": list(row.missing_terms),
                "signals": [signal.name for signal in row.signals],
            }
            for row in pack.evidence
        ],
        "exact_tag_evidence": [row.source_key for row in pack.exact_tag_evidence],
        "coverage": {
            "evidence_count": coverage.evidence_count,
            "by_source_type": coverage.by_source_type,
            "corpus_matches": [coverage.corpus_matches.items, coverage.corpus_matches.sources],
            "missing_concepts": list(coverage.missing_concepts),
            "recall_note": coverage.recall_note,
        },
        "next_steps": [f"{step.action}: {step.label}" for step in pack.next_steps],
    }


def _concept(name: str, role: str, required: bool) -> str:
    return f"{name} ({role}{', required' if required else ''})"


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_pack_is_as_it_was_reviewed(sample: Citewell, name: str, request: pytest.FixtureRequest) -> None:
    found = outline(sample.pack(QUESTIONS[name]))
    path = GOLDEN / f"{name}.json"
    if request.config.getoption("--write-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert found == json.loads(path.read_text("utf-8")), f"'make golden' writes {path.name} anew"
