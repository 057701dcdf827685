"""Which judge and which reader the settings choose: the built-in one, none, or a folder.

`builtin` is what came with this installation; one that brings no weights has none, and the rules decide alone. A name
without a slash is looked for among the models that `citewell models get` fetched. A folder that cannot be used is
found out when it is first asked; the run goes on without it and says so, and `doctor` says why.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from citewell.errors import BadInput, Unavailable
from citewell.models.endpoints import names_model
from citewell.models.minilm import BUNDLED
from citewell.models.onnx import SPARE_TOKENS, OnnxFolder, Place, likeliest, windows
from citewell.settings import Settings

if TYPE_CHECKING:
    from citewell.models.onnx import Array


BUILTIN, OFF, AUTO = "builtin", "off", "auto"
_HERE = Path(__file__).parent
BUILTIN_JUDGE = _HERE / "judge_int8"
BUILTIN_READER = _HERE / "reader_int8"


def models_folder(settings: Settings) -> Path:
    """Where fetched models are kept."""
    return settings.data_dir / "models"


def judge_folder(settings: Settings) -> Path | None:
    """The folder of the judge, whether or not it can be used; None where there is none, or a chat model judges."""
    if names_model(settings.judge):
        return None
    if is_automatic(settings.judge):
        return BUILTIN_JUDGE if has_weights(BUILTIN_JUDGE) else fetched_judge(settings)
    return _chosen(settings.judge, BUILTIN_JUDGE, settings)


WRITER_JUDGES = "the model that writes"


def judge_called(settings: Settings) -> str:
    """Who reads the sentences that a model writes, as people are told; empty where nobody does."""
    if names_model(settings.judge):
        return settings.judge.strip()
    folder = judge_folder(settings)
    if folder is not None:
        return folder.name
    return (settings.review_model or WRITER_JUDGES) if is_automatic(settings.judge) else ""


def is_automatic(judge: str) -> bool:
    """Whether who judges is left to what there is."""
    return judge.strip().lower() in (AUTO, BUILTIN)


def fetched_judge(settings: Settings) -> Path | None:
    """The judge that `citewell models get` fetched, where it fetched one."""
    folders = sorted(models_folder(settings).glob("*/config.json")) if models_folder(settings).is_dir() else []
    return next((one.parent for one in folders if _is_entailment(one) and has_weights(one.parent)), None)


def _is_entailment(config: Path) -> bool:
    try:
        labels = json.loads(config.read_text("utf-8")).get("id2label")
        return isinstance(labels, dict) and "entails" in meanings_of(labels, len(labels))
    except (OSError, ValueError, AttributeError):
        return False


def reader_folder(settings: Settings) -> Path | None:
    """The folder of the reader, whether or not it can be used; None for no reader."""
    return _chosen(settings.reader, BUILTIN_READER, settings)


def _chosen(setting: str, builtin: Path, settings: Settings) -> Path | None:
    chosen = setting.strip()
    if chosen.lower() in ("", OFF):
        return None
    if chosen.lower() == BUILTIN:
        return builtin if has_weights(builtin) else None
    path = Path(chosen).expanduser()
    fetched = models_folder(settings) / chosen
    return fetched if len(path.parts) == 1 and not path.exists() and fetched.is_dir() else path


def has_weights(folder: Path) -> bool:
    """Whether an installation brought a model of its own."""
    words = _words_of(folder) or folder / "tokenizer.json"
    return words.is_file() and any(folder.glob("model*.onnx"))


def _words_of(folder: Path) -> Path | None:
    """The built-in reader has the words of the built-in embedding model."""
    own = folder / "tokenizer.json"
    return BUNDLED / "tokenizer.json" if folder == BUILTIN_READER and not own.is_file() else None


def open_judge(settings: Settings) -> OnnxEntailment | None:
    """The judge the settings choose; its files are read when it is first asked."""
    folder = judge_folder(settings)
    if folder is None:
        return None

    return OnnxEntailment(folder)


def open_reader(settings: Settings) -> OnnxSpanReader | None:
    """The reader the settings choose; its files are read when it is first asked."""
    folder = reader_folder(settings)
    if folder is None:
        return None

    return OnnxSpanReader(folder)


# What a judge is asked, and what a reader answers.


@dataclass(frozen=True, slots=True)
class ClaimPair:
    """A statement, and the text it is said to rest on."""

    claim: str
    evidence: str


@dataclass(frozen=True, slots=True)
class AnswerSpan:
    """`text[start:end]` of a passage as the answer to a question; a larger score is a better answer."""

    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class PassageReading:
    """What a passage answers: its spans, best first, and how likely (0 to 1) none of them is an answer."""

    spans: tuple[AnswerSpan, ...]
    no_answer: float


@dataclass(frozen=True, slots=True)
class Entails:
    """How likely a text entails a statement, says nothing of it, or contradicts it; the three add up to 1."""

    entails: float
    neutral: float
    contradicts: float


class Entailment(Protocol):
    """A judge: whether texts entail statements. What it answers goes on record, so it need not answer twice alike."""

    @property
    def name(self) -> str: ...

    def judge(self, pairs: Sequence[ClaimPair]) -> Sequence[Entails]:
        """One answer a pair, in the order given; raises Unavailable where it cannot."""
        ...


class AnswerSpans(Protocol):
    """A reader: where in passages the answer to a question stands, if anywhere."""

    @property
    def name(self) -> str: ...

    def read(self, question: str, passages: Sequence[str]) -> Sequence[PassageReading]:
        """One reading a passage, in the order given; raises Unavailable where it cannot."""
        ...


# What the classes of an entailment model mean, by the names its `config.json` gives them (`id2label`). Pure.
#
# Spelling does not count: `ENTAILMENT`, `entailed`, `supports`, `not-entailment` are understood. A model with two
# classes tells one thing from the rest (entailment, or contradiction), and the rest counts as neutral: it claims
# nothing that the model cannot tell. Without names (`LABEL_0`, or no `id2label`) the order is taken to be entailment,
# neutral, contradiction, of two entailment and the rest; a model of another order needs its names written into
# `config.json`.
#
# Example:
#     id2label: {"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"}
#     classes:  contradicts, neutral, entails
#
# Example:
#     id2label: {"0": "LABEL_0", "1": "LABEL_1"}
#     classes:  entails, neutral


Meaning = Literal["entails", "neutral", "contradicts"]

_SPELLINGS: dict[Meaning, str] = {
    "entails": "entailment entailed entails entail supported supports support consistent e",
    "contradicts": "contradiction contradicted contradicts refuted refutes refute conflict c",
    "neutral": "neutral notenoughinfo nei unknown unrelated n notentailment notentailed nonentailment notsupported "
    "unsupported notcontradiction noncontradiction nocontradiction noconflict",
}
_NAMES = {name: meaning for meaning, names in _SPELLINGS.items() for name in names.split()}
_UNNAMED = re.compile(r"label\d+|\d+")
_ORDER: dict[int, tuple[Meaning, ...]] = {2: ("entails", "neutral"), 3: ("entails", "neutral", "contradicts")}


class UnknownClasses(ValueError):
    """Class names that nobody can read as entailment, neutral or contradiction."""


def meanings_of(id2label: Mapping[str, object] | None, count: int) -> tuple[Meaning, ...]:
    """What each of a model's classes means, in their order; raises UnknownClasses."""
    if count not in _ORDER:
        raise UnknownClasses(f"has {count} classes, where a judge has two or three")
    names = [_plain((id2label or {}).get(str(number), f"LABEL_{number}")) for number in range(count)]
    if all(_UNNAMED.fullmatch(name) for name in names):
        return _ORDER[count]
    unknown = [name for name in names if name not in _NAMES]
    if unknown:
        raise UnknownClasses(f"names its classes {', '.join(names)}, of which {', '.join(unknown)} means nothing here")
    found = tuple(_NAMES[name] for name in names)
    if len(set(found)) != count:
        raise UnknownClasses(f"names its classes {', '.join(names)}, of which two mean the same")
    return found


def _plain(name: object) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def entails_of(meanings: Sequence[Meaning], shares: Sequence[float]) -> Entails:
    """The probabilities of a model's classes as one value."""
    found = dict(zip(meanings, shares, strict=True))
    return Entails(found.get("entails", 0.0), found.get("neutral", 0.0), found.get("contradicts", 0.0))


def combined(windows: Sequence[Entails]) -> Entails:
    """What several windows of one text say together: the best entailment and the worst contradiction of any of them.

    A text supports a statement in one place, and contradicts it in one place. Where both are high the two share what
    there is, so that neither is certain; what they leave is neutral.

    Example:
        windows:  (.90, .08, .02) and (.05, .15, .80)
        combined: (.53, .00, .47)
    """
    best, worst = max(one.entails for one in windows), max(one.contradicts for one in windows)
    total = max(1.0, best + worst)
    entails, contradicts = best / total, worst / total
    return Entails(entails, max(0.0, 1.0 - entails - contradicts), contradicts)


# A judge from a folder: any ONNX model that says whether a text entails a statement, with two or three classes.
#
# The evidence is the first text and the statement the second, as such models are trained; `"citewell": {"first":
# "claim"}` in `config.json` turns them round. Long evidence is read in overlapping windows of whole sentences, and what
# they say is combined (`classes.py`); of too many, those that share most words with the statement are read.


MAX_PAIRS = 256
MAX_WINDOWS = 8
# A statement is given at most this share of what the model reads.
_CLAIM_SHARE = 0.5
# Evidence of more tokens than this is read in windows, though a model may take more: what is short is judged better.
_WINDOW_TOKENS = 256
_OUTPUTS = ("nli", "logits")
_FIX = "Name a folder with model.onnx, config.json and tokenizer.json of an entailment model, or CITEWELL_JUDGE=off."


class OnnxEntailment:
    """A judge over one folder."""

    def __init__(self, folder: Path) -> None:
        self._model = OnnxFolder(folder, "judge", _FIX)

    @property
    def name(self) -> str:
        return self._model.name

    def open(self) -> str:
        """Make sure that it can be used, and say what it is; raises Unavailable."""
        self._model.open()
        told = ", ".join(self._meanings)
        return f"{self.name}: tells {told}; reads {self._model.max_tokens} tokens"

    def judge(self, pairs: Sequence[ClaimPair]) -> list[Entails]:
        """One answer a pair; a pair without evidence is neutral."""
        if len(pairs) > MAX_PAIRS:
            raise BadInput(f"{len(pairs)} pairs were to be judged at once.", fix=f"At most {MAX_PAIRS} at a time.")
        if not pairs:
            return []
        self._model.open()
        try:
            return self._judge(pairs)
        except Unavailable:
            raise
        except Exception as error:
            raise self._model.unusable(f"failed: {type(error).__name__}: {str(error)[:300]}") from error

    def _judge(self, pairs: Sequence[ClaimPair]) -> list[Entails]:
        inputs: list[Any] = []
        owners: list[int] = []
        for at, pair in enumerate(pairs):
            encoded = self._inputs(pair)
            inputs += encoded
            owners += [at] * len(encoded)
        found: list[list[Entails]] = [[] for _ in pairs]
        output, meanings = self._output, self._meanings
        for at, (row,) in zip(owners, self._model.run(inputs, [output]), strict=True):
            found[at].append(entails_of(meanings, self._shares(row)))
        return [combined(one) if one else Entails(0.0, 1.0, 0.0) for one in found]

    def _inputs(self, pair: ClaimPair) -> list[Any]:
        """The windows of a pair, encoded."""
        model = self._model
        claim = _cut(model.tokenizer, pair.claim, int(model.max_tokens * _CLAIM_SHARE))
        room = min(model.room_beside(claim) - SPARE_TOKENS, _WINDOW_TOKENS)
        places = model.tokenizer.encode(pair.evidence, add_special_tokens=False).offsets
        spans = likeliest(claim, pair.evidence, windows(pair.evidence, places, room), MAX_WINDOWS)
        texts = [pair.evidence[start:end] for start, end in spans]
        both = [(claim, text) if self._claim_first else (text, claim) for text in texts]
        return [_within(model.tokenizer.encode(*one), model.max_tokens) for one in both]

    def _shares(self, row: Array) -> list[float]:
        import numpy as np

        logits = np.asarray(row, np.float64).reshape(-1)
        if not np.isfinite(logits).all():
            raise self._model.unusable("gives no probabilities")
        powers = np.exp(logits - logits.max())
        return [float(one) for one in powers / powers.sum()]

    @cached_property
    def _claim_first(self) -> bool:
        ours = self._model.config.get("citewell")
        return isinstance(ours, dict) and ours.get("first") == "claim"

    @cached_property
    def _output(self) -> str:
        names = self._model.output_names
        return next((name for name in _OUTPUTS if name in names), names[0])

    @cached_property
    def _meanings(self) -> tuple[Meaning, ...]:
        """What its classes mean: counted by trying it, for a graph does not always say."""
        trial = self._model.tokenizer.encode("a", "a")
        ((row,),) = self._model.run([trial], [self._output])
        labels = self._model.config.get("id2label")
        try:
            return meanings_of(labels if isinstance(labels, dict) else None, int(row.size))
        except UnknownClasses as error:
            raise self._model.unusable(str(error)) from None


def _cut(tokenizer: Any, text: str, most: int) -> str:
    """A statement without what a model has no room for."""
    places = tokenizer.encode(text, add_special_tokens=False).offsets
    return text if len(places) <= most else text[: places[most - 1][1]]


def _within(encoded: Any, most: int) -> Any:
    """The rare window that has a token more on its own than it had in its text."""
    if len(encoded.ids) > most:
        encoded.truncate(most)
    return encoded


# A reader from a folder: any ONNX model that marks where in a passage the answer to a question begins and ends.
#
# Outputs are `start_logits` and `end_logits`, or `span` with both; a head `answerable` is used where there is one. That
# nothing answers is what the model says by pointing at its first token, as models trained on questions without answer
# do, unless it has that head. Spans are code points of the passage. Long passages are read in overlapping windows of
# whole sentences.


MAX_PASSAGES = 64
MAX_SPANS = 5
MAX_ANSWER_TOKENS = 30
_QUESTION_SHARE = 0.5
# Of a passage, this many of the best beginnings and ends are looked at.
_BEST = 20
_READER_FIX = "Name a folder with model.onnx and tokenizer.json of a question answering model, or CITEWELL_READER=off."


class OnnxSpanReader:
    """A reader over one folder."""

    def __init__(self, folder: Path) -> None:
        # As it is asked while a core may be wanted elsewhere, two threads would be slower than one.
        self._model = OnnxFolder(folder, "reader", _READER_FIX, _words_of(folder), threads=1)

    @property
    def name(self) -> str:
        return self._model.name

    def open(self) -> str:
        """Make sure that it can be used, and say what it is; raises Unavailable."""
        self._model.open()
        head = " and whether there is one" if "answerable" in self._outputs else ""
        return f"{self.name}: finds answers{head}; reads {self._model.max_tokens} tokens"

    def read(self, question: str, passages: Sequence[str]) -> list[PassageReading]:
        """One reading a passage; an empty passage answers nothing."""
        if len(passages) > MAX_PASSAGES:
            raise BadInput(f"{len(passages)} passages were to be read at once.", fix=f"At most {MAX_PASSAGES}.")
        if not passages:
            return []
        self._model.open()
        try:
            return self._read(question, passages)
        except Unavailable:
            raise
        except Exception as error:
            raise self._model.unusable(f"failed: {type(error).__name__}: {str(error)[:300]}") from error

    def _read(self, question: str, passages: Sequence[str]) -> list[PassageReading]:
        model, outputs = self._model, self._outputs
        places = model.tokenizer.encode(question, add_special_tokens=False).offsets
        most = int(model.max_tokens * _QUESTION_SHARE)
        asked = question if len(places) <= most else question[: places[most - 1][1]]
        room = model.room_beside(asked) - SPARE_TOKENS
        inputs: list[Any] = []
        spans: list[tuple[int, int]] = []
        for at, passage in enumerate(passages):
            tokens = model.tokenizer.encode(passage, add_special_tokens=False).offsets
            for start, end in likeliest(asked, passage, windows(passage, tokens, room), MAX_WINDOWS):
                encoded = model.tokenizer.encode(asked, passage[start:end])
                if len(encoded.ids) > model.max_tokens:
                    encoded.truncate(model.max_tokens)
                inputs.append(encoded)
                spans.append((at, start))
        found: list[list[PassageReading]] = [[] for _ in passages]
        for (at, start), encoded, rows in zip(spans, inputs, model.run(inputs, outputs), strict=True):
            found[at].append(self._window(passages[at], start, encoded, rows))
        return [_merged(one) for one in found]

    @cached_property
    def _outputs(self) -> tuple[str, ...]:
        names = self._model.output_names
        if {"start_logits", "end_logits"} <= set(names):
            wanted: tuple[str, ...] = ("start_logits", "end_logits")
        elif "span" in names:
            wanted = ("span",)
        else:
            raise self._model.unusable(f"gives {', '.join(names)}, where a reader gives start_logits and end_logits")
        return (*wanted, "answerable") if "answerable" in names else wanted

    def _window(self, passage: str, offset: int, encoded: Any, rows: Sequence[Any]) -> PassageReading:
        """What one window says, in places of the whole passage."""
        starts, ends, answerable = self._logits(rows)
        own = [at for at, which in enumerate(encoded.sequence_ids) if which == 1]
        null = float(starts[0] + ends[0])
        found: dict[Place, float] = {}
        for score, first, last in _candidates(own, starts, ends):
            span = _trimmed(passage, offset + encoded.offsets[first][0], offset + encoded.offsets[last][1])
            if span is not None:
                found[span] = max(score, found.get(span, -math.inf))
        ranked = sorted(found.items(), key=lambda one: (-one[1], one[0]))[:MAX_SPANS]
        spans = tuple(AnswerSpan(*span, round(score - null, 4)) for span, score in ranked)
        best = spans[0].score if spans else -math.inf
        return PassageReading(spans, round(_share(-(best if answerable is None else answerable)), 4))

    def _logits(self, rows: Sequence[Any]) -> tuple[Array, Array, float | None]:
        import numpy as np

        values = [np.asarray(row, np.float64) for row in rows]
        if "span" in self._outputs:
            values = [values[0][:, 0], values[0][:, 1], *values[1:]]
        if not all(np.isfinite(one).all() for one in values):
            raise self._model.unusable("gives no scores")
        return values[0], values[1], float(values[2].reshape(-1)[0]) if len(values) > 2 else None


def _candidates(own: Sequence[int], starts: Array, ends: Array) -> list[tuple[float, int, int]]:
    """Beginnings and ends that go together, by what they score."""
    first = sorted(own, key=lambda at: -starts[at])[:_BEST]
    last = sorted(own, key=lambda at: -ends[at])[:_BEST]
    pairs = [(low, high) for low in first for high in last if low <= high < low + MAX_ANSWER_TOKENS]
    return [(float(starts[low] + ends[high]), low, high) for low, high in pairs]


def _trimmed(passage: str, start: int, end: int) -> Place | None:
    """A span without the white space that some tokens have around them."""
    text = passage[start:end]
    start += len(text) - len(text.lstrip())
    end -= len(text) - len(text.rstrip())
    return (start, end) if start < end else None


def _share(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, value))))


def _merged(windows_read: Sequence[PassageReading]) -> PassageReading:
    """The windows of one passage together: the best spans of all, and no answer only where none has one."""
    if not windows_read:
        return PassageReading((), 1.0)
    best: dict[Place, AnswerSpan] = {}
    for span in (span for one in windows_read for span in one.spans):
        known = best.get((span.start, span.end))
        if known is None or span.score > known.score:
            best[(span.start, span.end)] = span
    ranked = sorted(best.values(), key=lambda span: (-span.score, span.start, span.end))[:MAX_SPANS]
    return PassageReading(tuple(ranked), min(one.no_answer for one in windows_read))
