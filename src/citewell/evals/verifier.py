"""How well the verifier catches claims their evidence does not support: precision, recall, false alarms, AUROC.

A file has one JSON object a line: `{"claim": …, "evidence": …, "label": "supported" | "unsupported" | "refuted"}`,
and a `title` where the evidence has one; other keys are ignored. A claim is caught where its verdict is any but
`supported`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args

from citewell.check.claim import ClaimCheck, check_text, objection
from citewell.check.judge import (
    CONTRADICTS_AT,
    ENTAILS_AT,
    JudgedPassage,
    JudgedSentence,
    judge_request,
    pair_of,
    verdicts_in,
)
from citewell.check.verdict import Verdict
from citewell.errors import BadInput, NotFound, Unavailable
from citewell.evals.bench import JudgeReport, VerifierAuroc, VerifierReport, auroc
from citewell.models.entailment import Entailment, Entails
from citewell.models.messages import ChatFailed, ChatModel

Label = Literal["supported", "unsupported", "refuted"]
LABELS: tuple[Label, ...] = ("supported", "unsupported", "refuted")
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
# Pairs a judge is given at a time.
_JUDGED_AT_ONCE = 64
MAX_LINE_BYTES = 32_000_000
MAX_PAIRS = 1_000_000
# Claims of 55 kinds of falsehood and as many true ones, in other words; the half that no rule was written with.
SHIPPED_CLAIMS = Path(__file__).with_name("claims.jsonl")
_ASKED_AT_ONCE = 10
_ASKED_SECONDS = 120.0
_FORM = 'Each line is {"claim": "…", "evidence": "…", "label": "supported|unsupported|refuted"}.'


@dataclass(frozen=True, slots=True)
class LabelledPair:
    claim: str
    evidence: str
    label: Label
    title: str = ""
    half: str = ""


@dataclass(frozen=True, slots=True)
class CheckedPair:
    """A pair and what the verifier makes of it."""

    pair: LabelledPair
    check: ClaimCheck

    @property
    def is_caught(self) -> bool:
        return self.check.verdict != "supported"

    @property
    def is_supported(self) -> bool:
        return self.pair.label == "supported"


def read_pairs(path: Path, half: str = "") -> list[LabelledPair]:
    """The pairs of a file, or of a half of it; what is not as it should be is refused by the number of its line."""
    if not path.exists():
        raise NotFound(f"There is no file {path}.", fix="Name a file of labelled pairs, one JSON object a line.")
    if path.is_dir():
        raise BadInput(f"{path} is a folder.", fix="Name a file of labelled pairs, one JSON object a line.")
    try:
        with path.open("rb") as file:
            pairs = [_pair(line, f"{path.name}, line {number}") for number, line in _lines(file) if line.strip()]
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.", fix="Check its permissions.") from None
    if not pairs:
        raise BadInput(f"{path.name} holds no pairs.", fix=_FORM)
    return [one for one in pairs if not half or one.half == half]


def _lines(file: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    for number, line in enumerate(file, start=1):
        if len(line) > MAX_LINE_BYTES or number > MAX_PAIRS:
            raise BadInput(f"Line {number} is beyond what can be measured.", fix="Split the file.")
        yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line


def _pair(line: bytes, place: str) -> LabelledPair:
    try:
        entry = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise BadInput(f"{place} is not UTF-8.", fix=_FORM) from None
    except (ValueError, RecursionError):
        raise BadInput(f"{place} is not JSON.", fix=_FORM) from None
    if not isinstance(entry, dict):
        raise BadInput(f"{place} is not an object.", fix=_FORM)
    for name in ("claim", "evidence"):
        if not isinstance(entry.get(name), str) or (name == "claim" and not entry[name].strip()):
            raise BadInput(f"{place} has no text under '{name}'.", fix=_FORM)
    title = entry.get("title")
    label = _label(entry.get("label"), place)
    half = str(entry.get("half", ""))
    return LabelledPair(entry["claim"], entry["evidence"], label, title if isinstance(title, str) else "", half)


def _label(given: object, place: str) -> Label:
    for label in LABELS:
        if given == label:
            return label
    raise BadInput(f"{place} has the label '{'none' if given is None else str(given)[:40]}'.", fix=_FORM)


def check_pairs(pairs: Sequence[LabelledPair], judge: Entailment | None = None) -> list[CheckedPair]:
    """Every pair with its verdict, as a run would give it."""
    checked = [CheckedPair(pair, check_text(pair.claim, pair.evidence)) for pair in pairs]
    if judge is None:
        return checked
    scores = judge_pairs(judge, pairs)
    return [replace(one, check=_with_judge(one, score)) for one, score in zip(checked, scores, strict=True)]


def _with_judge(one: CheckedPair, score: Entails) -> ClaimCheck:
    """What a judge adds where the wording decides nothing; a number that nothing says is objected to all the same."""
    if one.check.verdict != "unsupported":
        return one.check
    verdict: Verdict = "unsupported"
    if score.entails >= ENTAILS_AT and not objection(one.pair.claim, f"{one.pair.title}\n{one.pair.evidence}"):
        verdict = "supported"
    elif score.contradicts >= CONTRADICTS_AT:
        verdict = "contradicted"
    return replace(one.check, verdict=verdict, support=round(score.entails, 4))


def judge_pairs(judge: Entailment, pairs: Sequence[LabelledPair]) -> list[Entails]:
    """What a judge says of every pair, given and rounded as in a run."""
    asked = [pair_of(pair.claim, [pair.title, pair.evidence]) for pair in pairs]
    found = [
        score for at in range(0, len(asked), _JUDGED_AT_ONCE) for score in judge.judge(asked[at : at + _JUDGED_AT_ONCE])
    ]
    return [Entails(round(one.entails, 4), round(one.neutral, 4), round(one.contradicts, 4)) for one in found]


def measure_verifier(pairs: Sequence[LabelledPair], judge: Entailment | None = None) -> VerifierReport:
    began = time.perf_counter()
    checked = check_pairs(pairs, judge)
    name = judge.name if judge is not None else ""
    return report_of(checked, time.perf_counter() - began, judge=name)


def report_of(checked: Sequence[CheckedPair], seconds: float, *, judge: str = "") -> VerifierReport:
    caught = [one for one in checked if one.is_caught]
    right = sum(not one.is_supported for one in caught)
    wanted = sum(not one.is_supported for one in checked)
    supported = len(checked) - wanted
    precision = right / len(caught) if caught else 0.0
    recall = right / wanted if wanted else 0.0
    return VerifierReport(
        n=len(checked),
        supported=supported,
        refuted=_count(checked, "refuted"),
        unsupported=_count(checked, "unsupported"),
        precision=round(precision, 4),
        recall=round(recall, 4),
        f1=round(2 * precision * recall / (precision + recall), 4) if right else 0.0,
        false_alarm_rate=round((len(caught) - right) / supported, 4) if supported else 0.0,
        auroc=VerifierAuroc(_auroc(checked, "refuted"), _auroc(checked, "unsupported")),
        pairs_per_second=round(len(checked) / seconds, 1) if seconds > 0 else 0.0,
        called={label: _called(checked, label) for label in LABELS},
        judge=judge,
    )


def _called(checked: Sequence[CheckedPair], label: Label) -> dict[str, int]:
    """How many claims of this label got each verdict."""
    verdicts = [one.check.verdict for one in checked if one.pair.label == label]
    return {verdict: verdicts.count(verdict) for verdict in VERDICTS}


def _count(checked: Sequence[CheckedPair], label: Label) -> int:
    return sum(one.pair.label == label for one in checked)


def _auroc(checked: Sequence[CheckedPair], label: Label) -> float | None:
    yes = [one.check.support for one in checked if one.is_supported]
    no = [one.check.support for one in checked if one.pair.label == label]
    return round(auroc(yes, no), 4) if yes and no else None


# How well a judge judges by itself: supported claims from refuted and from unsupported ones, and how fast.
#
# The rules of the verifier have no part in this: `bench-verifier --judge` measures both together.


_MEANINGS = ("entails", "neutral", "contradicts")


def measure_judge(judge: Entailment, pairs: Sequence[LabelledPair]) -> JudgeReport:
    """What the judge makes of labelled pairs; loading it is not counted."""
    judge_pairs(judge, pairs[:1])
    began = time.perf_counter()
    scores = judge_pairs(judge, pairs)
    seconds = time.perf_counter() - began
    of = {label: [score for pair, score in zip(pairs, scores, strict=True) if pair.label == label] for label in LABELS}
    called: dict[str, dict[str, int]] = {label: _judged_as(of[label]) for label in LABELS}
    return JudgeReport(
        judge=judge.name,
        n=len(pairs),
        auroc=VerifierAuroc(_refuted(of), _unsupported(of)),
        called=called,
        pairs_per_second=round(len(pairs) / seconds, 1) if seconds > 0 else 0.0,
        right=_right(called),
    )


async def measure_chat_judge(
    chat: ChatModel, model: str, pairs: Sequence[LabelledPair], on_done: Callable[[int], None] = lambda _: None
) -> JudgeReport:
    """What a chat model makes of labelled pairs, asked as it is in a run; a verdict without exact words is void."""
    called: dict[str, dict[str, int]] = {label: dict.fromkeys((*_MEANINGS, "void"), 0) for label in LABELS}
    began = time.perf_counter()
    for start in range(0, len(pairs), _ASKED_AT_ONCE):
        some = pairs[start : start + _ASKED_AT_ONCE]
        asked = [
            JudgedSentence(n, one.claim, (JudgedPassage(f"{n}.1", one.title, "", one.evidence),))
            for n, one in enumerate(some, start=1)
        ]
        try:
            reply = await chat.chat(judge_request("", asked, model, _ASKED_SECONDS), None)
        except ChatFailed as failed:
            raise Unavailable(failed.message, fix=failed.fix) from None
        told = verdicts_in(reply.text)
        for n, one in enumerate(some, start=1):
            called[one.label][_meaning(told.get(n), one.evidence)] += 1
        on_done(start + len(some))
    seconds = time.perf_counter() - began
    rate = round(len(pairs) / seconds, 1) if seconds > 0 else 0.0
    return JudgeReport(model, len(pairs), VerifierAuroc(None, None), called, rate, _right(called))


def _meaning(told: tuple[str, str] | None, evidence: str) -> str:
    if told is None:
        return "void"
    verdict, words = told
    is_there = bool(words.strip()) and " ".join(words.split()) in " ".join(evidence.split())
    meaning = {"says": "entails", "partly": "neutral", "not": "neutral", "contrary": "contradicts"}.get(verdict, "void")
    return meaning if is_there or verdict == "not" else "void"


def _right(called: Mapping[str, Mapping[str, int]]) -> float:
    """How often it is right: a supported claim is found, another is not."""
    right = called["supported"]["entails"]
    right += sum(n for label in ("unsupported", "refuted") for name, n in called[label].items() if name != "entails")
    return round(right / max(1, sum(sum(counts.values()) for counts in called.values())), 4)


def _refuted(of: dict[Label, list[Entails]]) -> float | None:
    return _ranked(*([one.entails - one.contradicts for one in of[label]] for label in ("supported", "refuted")))


def _unsupported(of: dict[Label, list[Entails]]) -> float | None:
    """By entailment; by how little it contradicts, for a judge that tells nothing else."""
    if any(one.entails for scores in of.values() for one in scores):
        return _ranked(*([one.entails for one in of[label]] for label in ("supported", "unsupported")))
    return _ranked(*([-one.contradicts for one in of[label]] for label in ("supported", "unsupported")))


def _ranked(yes: Sequence[float], no: Sequence[float]) -> float | None:
    return round(auroc(list(yes), list(no)), 4) if yes and no else None


def _judged_as(scores: Sequence[Entails]) -> dict[str, int]:
    likeliest = [_likeliest(one) for one in scores]
    return {name: likeliest.count(name) for name in _MEANINGS}


def _likeliest(score: Entails) -> str:
    shares = dict(zip(_MEANINGS, (score.entails, score.neutral, score.contradicts), strict=True))
    return max(_MEANINGS, key=lambda name: shares[name])
