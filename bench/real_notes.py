"""Part `real`: labelled questions over real note collections: is the right document found, and its right part shown?

The questions, the collections and the rules of the score lie beside them (`real/score.py`). Only retrieval is measured:
the pack as a run has it when it begins to answer, that is with its best rows read wider. Vectors are kept by their text
from one measurement to the next.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from tables import Part, Ratio

from citewell.answer.evidence import MAX_EVIDENCE_CHARS
from citewell.engine import Citewell
from citewell.errors import CitewellError
from citewell.flows.judge import merge_inspection
from citewell.models.embeddings import Embedder
from citewell.search.inspect import PROMPT_CHARS, inspect_rows, looked_for
from citewell.search.lanes import encode_corpus
from citewell.search.rows import EvidenceRow
from citewell.settings import Settings
from citewell.wiring import SystemClock

Floats = npt.NDArray[np.float32]
Question = dict[str, Any]

_GOALS = {"quote1": 0.70, "quote": 0.88, "doc1": 0.80, "doc": 0.96}
_SAID = {
    "quote1": "gold text in row one",
    "quote": "gold text in the rows",
    "doc1": "gold document in row one",
    "doc": "gold document in the rows",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with what was found for it."""

    question: Question
    rows: tuple[EvidenceRow, ...]
    found: dict[str, bool] | None


class KeptEmbedder:
    """A model whose vectors are kept on disk by their text: measuring again encodes only what changed."""

    def __init__(self, model: Embedder, folder: Path) -> None:
        self._model = model
        self.model_id, self.dimension, self.unrelated = model.model_id, model.dimension, model.unrelated
        self.related, self.tells_answers = model.related, model.tells_answers
        self._path = folder / f"{model.model_id}.npz"
        self._known: dict[str, Floats] = {}
        if self._path.exists():
            stored = np.load(self._path)
            self._known = dict(zip(stored["names"].tolist(), stored["vectors"], strict=True))
        self._fresh = 0

    def encode_passages(self, texts: Sequence[str]) -> Floats:
        names = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
        missing = {name: text for name, text in zip(names, texts, strict=True) if name not in self._known}
        if missing:
            self._known.update(zip(missing, self._model.encode_passages(list(missing.values())), strict=True))
            self._fresh += len(missing)
        return np.stack([self._known[name] for name in names])

    def encode_query(self, text: str) -> Floats:
        return self._model.encode_query(text)

    def keep(self) -> None:
        """Write what is new to disk."""
        if self._fresh:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(self._path, names=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))
            self._fresh = 0


def load_scorer(real: Path) -> ModuleType:
    """The scorer beside the questions, as a module."""
    spec = importlib.util.spec_from_file_location("real_score", real / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_questions(real: Path, half: str) -> list[Question]:
    lines = (real / "questions.jsonl").read_text("utf-8").splitlines()
    questions: list[Question] = [json.loads(line) for line in lines if line.strip()]
    return [question for question in questions if half in ("", question["half"])]


def index_vaults(real: Path, data: Path, vaults: Sequence[str], embeddings: str, kept: Path) -> None:
    """Bring the corpus of each vault up to date; unchanged files cost a stat."""
    model: KeptEmbedder | None = None
    for vault in vaults:
        engine = Citewell(Settings(data_dir=data / vault, embeddings=embeddings))
        for _ in engine.corpus.sync(real / "vaults" / vault):
            pass
        if embeddings != "off":
            model = model or KeptEmbedder(Citewell(Settings(data_dir=kept, embeddings="on")).embedder, kept)
            for _ in encode_corpus(engine.store.vectors, model, SystemClock()):
                pass
            model.keep()
        engine.close()


def gather(engine: Citewell, question: str) -> tuple[EvidenceRow, ...]:
    """The rows a run has before it answers: those of the pack, the best of them read wider."""
    pack = engine.pack(question)
    queries, rows = looked_for(pack)
    lane = engine.semantic_lane if engine.semantic_use(True) == "on" else None
    question, room = pack.query_plan.text_query, MAX_EVIDENCE_CHARS - PROMPT_CHARS
    windows = inspect_rows(engine.store, lane, question, queries, rows, room)
    return merge_inspection(pack, windows).evidence


def ask_all(
    real: Path, data: Path, questions: Sequence[Question], scorer: ModuleType, embeddings: str, kept: Path
) -> list[Asked]:
    """Every question with its rows and whether gold text and gold document are among them."""
    asked: list[Asked] = []
    engines: dict[str, Citewell] = {}
    shared = Citewell(Settings(data_dir=kept, embeddings="on")) if embeddings != "off" else None
    for question in questions:
        vault = question["vault"]
        if vault not in engines:
            settings = Settings(data_dir=data / vault, embeddings=embeddings)
            engines[vault] = Citewell(settings, open_embedder=(lambda: shared.embedder) if shared else None)
        try:
            rows = gather(engines[vault], scorer.prompt(question))
        except CitewellError as error:
            print(f"  {question['id']}: {error.message}", file=sys.stderr)
            rows = ()
        shown = {"pack": {"evidence": [{"note_path": row.note_path, "text": row.text} for row in rows]}}
        asked.append(Asked(question, rows, scorer.retrieval(question, shown)))
    for engine in engines.values():
        engine.close()
    return asked


def shares(asked: Sequence[Asked]) -> dict[str, float]:
    """The share of answerable questions for which each thing was found."""
    can = [one.found for one in asked if one.found is not None]
    return {name: sum(found[name] for found in can) / len(can) if can else 0.0 for name in _SAID}


def measure_real(data: Path, half: str, embeddings: str, only: Sequence[str] = ()) -> Part:
    """The shares, by kind of question."""
    real = data / "real"
    scorer = load_scorer(real)
    questions = [one for one in load_questions(real, half) if not only or one["vault"] in only]
    with tempfile.TemporaryDirectory(prefix="citewell-bench-") as folder:
        place = Path(folder)
        vaults = sorted({question["vault"] for question in questions})
        index_vaults(real, place / "data", vaults, embeddings, place / "kept")
        asked = ask_all(real, place / "data", questions, scorer, embeddings, place / "kept")
    ratios = tuple(Ratio(_SAID[name], value, _GOALS[name], "higher") for name, value in shares(asked).items())
    kinds = sorted({one.question["kind"] for one in asked if one.found is not None})
    groups = [(kind, [one for one in asked if one.question["kind"] == kind]) for kind in kinds]
    cells = tuple((name, str(len(part)), *(f"{value:.1%}" for value in shares(part).values())) for name, part in groups)
    notes = (f"Half: {half or 'both'}; semantic lane: {embeddings}.",)
    return Part("real", ratios, ("kind", "n", *_SAID.values()), cells, notes)
