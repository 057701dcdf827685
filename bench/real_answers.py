"""Part `answers`: labelled questions over real note collections: is the answer right, and the likelihood honest?

    python bench/real_answers.py REAL --data FOLDER [--half dev|test] [--embeddings on|off] [--fit]

Asks every question in a run without a model and scores the answers by the rules beside the questions
(`real/score.py`). With `--fit` the weights of `answer/score.py` and the coefficients of `answer/confidence.py`
are fitted anew and printed, with what they give for collections that were left out of the fit. Tune on `dev` alone.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from real_notes import Question, index_vaults, load_questions, load_scorer

from citewell.answer.confidence import (
    BY_MEANING,
    BY_WORDS,
    CHOSEN,
    by_meaning_too,
    confidence_features,
    windows_to_compare,
)
from citewell.answer.evidence import Likeness, prepare_synthesis
from citewell.answer.question import asked
from citewell.answer.score import WEIGHTS, QuestionEvidence, read_evidence, score_passages
from citewell.answer.units import pieces_of, unit_of
from citewell.engine import Citewell
from citewell.errors import CitewellError
from citewell.runs.run import RunResult
from citewell.search.lanes import near_parts
from citewell.search.pack import ResearchPack
from citewell.settings import Settings
from citewell.wire import to_json

Floats = npt.NDArray[np.float64]
# How far the weights are drawn towards those in use, and the coefficients towards none.
_DRAWN, _SHRUNK = 0.3, 10.0
# Signs that were found by looking at the questions of `dev` that cannot be answered: trusted less.
_FOUND_THERE = ("unstated", "off_topic", "impersonal")
_SHRUNK_MORE = 30.0
_SHARPNESS = 6.0


@dataclass(frozen=True, slots=True)
class Candidates:
    """The passages of one question: their features, which of them answer it alone, and what the best one lacks."""

    vault: str
    answerable: bool
    features: Floats
    answers: npt.NDArray[np.bool_]
    lacks: Floats


async def _ask(engine: Citewell, prompt: str) -> RunResult | None:
    last: Any = None
    async for event in engine.stream(prompt, trace=False):
        last = event
    return last if isinstance(last, RunResult) else None


def ask(engine: Citewell, prompt: str) -> RunResult | None:
    """The result of a run, or nothing where the question cannot be asked."""
    try:
        return asyncio.run(_ask(engine, prompt))
    except CitewellError as error:
        print(f"  {error.message}")
        return None


def scored(question: Question, result: RunResult | None, scorer: ModuleType) -> dict[str, Any]:
    """One line of the scorer's tables."""
    report: dict[str, Any] = json.loads(to_json(result)) if result is not None else {"answer_status": "error"}
    likely = ((report.get("pack") or {}).get("coverage") or {}).get("answerability") or {}
    line = {name: question[name] for name in ("id", "vault", "kind", "half", "question")}
    judged: dict[str, Any] = scorer.judge(question, scorer.read_answer(report))
    found = {"retrieval": scorer.retrieval(question, report), "likelihood": likely.get("probability")}
    return line | judged | found


def candidates(question: Question, pack: ResearchPack, scorer: ModuleType, engine: Citewell) -> Candidates | None:
    """What there was to choose from, each passage judged as if it were the whole answer."""
    prepared = prepare_synthesis(pack)
    if not prepared.sources:
        return None
    reading = read_evidence(prepared, pack.query_plan)
    part = asked(pack.query_plan.text_query)[0]
    plan = pack.query_plan
    likeness = Likeness()
    if engine.semantic_use(True) == "on":
        windows = windows_to_compare(QuestionEvidence(prepared, plan))
        likeness = Likeness(near_parts(engine.semantic_lane, plan.text_query, windows))
    ranked = by_meaning_too(score_passages(part, reading), likeness)
    if not ranked:
        return None
    right: list[bool] = []
    for one in ranked:
        source = one.passage.source
        unit = unit_of(one.passage, [other for other in reading.passages if other.source.n == source.n], part)
        pieces = [(piece.text, [1]) for piece in pieces_of(unit)]
        cited = {1: (source.note_path, source.text[slice(*unit.block)])}
        text = "\n".join(text for text, _ in pieces)
        alone = {"refused": False, "text": text, "sentences": pieces, "citations": cited}
        right.append(question["answerable"] and scorer.judge(question, alone)["outcome"] == "correct")
    lacks = dataclasses.asdict(confidence_features(part, ranked, reading))
    return Candidates(
        question["vault"],
        question["answerable"],
        np.array([[one.features[name] for name in WEIGHTS] for one in ranked]),
        np.array(right),
        np.array([lacks[name] for name in fitted_names(bool(likeness.parts))]),
    )


def fitted_names(by_meaning: bool) -> list[str]:
    """The features whose weights are fitted: two more where meaning takes part."""
    formula = BY_MEANING if by_meaning else BY_WORDS
    return [name for name in formula.weights if name not in CHOSEN]


def fit_weights(among: Sequence[Candidates], steps: int = 600) -> Floats:
    """Weights under which a passage that answers comes first: softmax over the passages of a question, by Adam."""
    start = np.array(list(WEIGHTS.values()))
    weights, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for step in range(1, steps + 1):
        slope = _DRAWN * (weights - start)
        for one in among:
            raw = _SHARPNESS * (one.features @ weights)
            share = np.exp(raw - raw.max())
            share /= share.sum()
            wanted = np.where(one.answers, share, 0.0) / (share[one.answers].sum() + 1e-12)
            slope -= _SHARPNESS * ((wanted - share) @ one.features) / len(among)
        mean, square = 0.9 * mean + 0.1 * slope, 0.999 * square + 0.001 * slope**2
        weights = weights - 0.02 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights


def fit_confidence(among: Sequence[Candidates], names: Sequence[str]) -> Floats:
    """Intercept and coefficients of the logistic formula, by Newton's method on standardised features."""
    raw = np.array([one.lacks for one in among])
    truth = np.array([float(one.answerable) for one in among])
    centre, spread = raw.mean(0), raw.std(0) + 1e-9
    rows = np.c_[np.ones(len(raw)), (raw - centre) / spread]
    shrunk = np.diag([0.0, *(_SHRUNK_MORE if name in _FOUND_THERE else _SHRUNK for name in names)])
    found: Floats = np.zeros(rows.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-rows @ found))
        curve = rows.T @ (rows * (likely * (1 - likely))[:, None]) + shrunk
        found -= np.linalg.solve(curve, rows.T @ (likely - truth) + shrunk @ found)
    intercept = found[:1] - (found[1:] * centre / spread).sum()
    return np.concatenate([intercept, found[1:] / spread])


def print_fits(among: Sequence[Candidates], names: Sequence[str]) -> None:
    """The fits on all collections, and what they give when each collection is left out in turn."""
    ranked = [one for one in among if one.answers.any()]
    vaults = sorted({one.vault for one in among})
    places: list[int] = []
    errors: list[float] = []
    for vault in vaults:
        weights = fit_weights([one for one in ranked if one.vault != vault])
        for one in (one for one in ranked if one.vault == vault):
            order = np.argsort(-(one.features @ weights), kind="stable")
            places.append(int(np.flatnonzero(one.answers[order])[0]))
        found = fit_confidence([one for one in among if one.vault != vault], names)
        for one in (one for one in among if one.vault == vault):
            likely = 1 / (1 + np.exp(-(found[0] + one.lacks @ found[1:])))
            errors.append(float((likely - one.answerable) ** 2))
    firsts = {most: sum(place < most for place in places) for most in (1, 2, 3)}
    print(f"left out: of {len(ranked)} questions an answer is among the first {firsts}; Brier {np.mean(errors):.3f}")
    print("weights", {name: round(float(one), 2) for name, one in zip(WEIGHTS, fit_weights(ranked), strict=True)})
    found = fit_confidence(among, names)
    named = {name: round(float(one), 2) for name, one in zip(names, found[1:], strict=True)}
    print("confidence", round(float(found[0]), 2), named)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("real", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="where the indexes live; kept and used again")
    parser.add_argument("--half", choices=("dev", "test"), default="dev")
    parser.add_argument("--embeddings", choices=("on", "off"), default="off", help="whether meaning takes part")
    parser.add_argument("--fit", action="store_true")
    args = parser.parse_args()
    scorer = load_scorer(args.real)
    questions = load_questions(args.real, args.half)
    vaults = sorted({one["vault"] for one in questions})
    kept = args.data / "kept"
    index_vaults(args.real, args.data, vaults, args.embeddings, kept)
    lines: list[dict[str, Any]] = []
    among: list[Candidates] = []
    for vault in vaults:
        engine = Citewell(Settings(data_dir=args.data / vault, embeddings=args.embeddings))
        for question in (one for one in questions if one["vault"] == vault):
            result = ask(engine, scorer.prompt(question))
            lines.append(scored(question, result, scorer))
            if args.fit and result is not None and result.pack is not None:
                found = candidates(question, result.pack, scorer, engine)
                among += [found] if found is not None else []
        engine.close()
    kinds = sorted({line["kind"] for line in lines})
    print("\n".join(scorer.table("kind", [(kind, [one for one in lines if one["kind"] == kind]) for kind in kinds])))
    likely = [
        (line["likelihood"], line["retrieval"] is not None, line["outcome"] in ("correct", "rightly"))
        for line in lines
        if line["likelihood"] is not None
    ]
    print("\n".join(scorer.calibration(likely)))
    print(scorer.summary(lines))
    if args.fit:
        print_fits(among, fitted_names(args.embeddings == "on"))


if __name__ == "__main__":
    main()
