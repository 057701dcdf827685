"""A statement inside a frame: one that keeps it, takes it back, or leaves it open. The frames are data (`frames.toml`).

passage "Few doubt that zinc is a metal."   claim "Zinc is a metal."   supported
passage "Few believe that zinc is a metal." claim "Zinc is a metal."   unsupported
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from random import Random

from claim_pairs.pair import Label, Pair
from claim_pairs.passages import Sentence
from claim_pairs.wording import framed, reworded

_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|will|would|may|must|does|do|did|[a-z]{3,}ed|became|made|won|led|wrote)\b"
)

_FRAMES = tomllib.loads(Path(__file__).with_name("frames.toml").read_text("utf-8"))
KEPT: list[str] = _FRAMES["kept"]
DENIED: list[str] = _FRAMES["denied"]
OPEN: list[str] = _FRAMES["open"]
CORRECTED: list[str] = _FRAMES["corrected"]
OUTDATED: list[str] = _FRAMES["outdated"]
_LABELS: dict[str, tuple[list[str], Label]] = {
    "kept": (KEPT, "supported"),
    "denied": (DENIED, "refuted"),
    "open": (OPEN, "unsupported"),
}


def framing(random: Random, sentence: Sentence) -> Iterator[Pair]:
    """The frame may be around the sentence, around its neighbour, or around the claim."""
    text, near = sentence.text, sentence.after or sentence.before
    if not _VERB.search(text) or (near and not _VERB.search(near)):  # a caption is no clause
        return
    name = random.choice(("kept", "kept", "denied", "open"))
    frame_list, label = _LABELS[name]
    frame = random.choice(frame_list)
    passage = framed(frame, text)
    where = random.random()
    if near and where < 0.35:  # the neighbour is framed: the sentence stands, the neighbour may not
        passage = " ".join(random.sample((framed(frame, near), text), 2))
        yield Pair("framed neighbour", text, passage, "supported")
        yield Pair("framed neighbour", near, passage, label)
    elif where < 0.8:
        claim = text if random.random() < 0.7 else reworded(random, text) or text
        yield Pair("framed", claim, passage, label)
    else:  # the claim is framed, and its passage as well
        yield from _framed_claim(random, text)


def _framed_claim(random: Random, text: str) -> Iterator[Pair]:
    no, yes = (
        framed(random.choice(_FRAMES["claimed_false"]), text),
        framed(random.choice(_FRAMES["claimed_true"]), text),
    )
    denied = framed(random.choice(DENIED), text)
    yield Pair("framed claim", no, text, "refuted")
    yield Pair("framed claim", yes, text, "supported")
    yield Pair("framed claim", no, denied, "supported")
    yield Pair("framed claim", yes, denied, "refuted")
    yield Pair("framed claim", random.choice((yes, no)), framed(random.choice(OPEN), text), "unsupported")


def corrected(random: Random, old: str, new: str) -> Iterator[Pair]:
    """What was written first is withdrawn by what follows it."""
    frame = random.choice(CORRECTED)
    passage = frame.format(old=old, new=new, Old=old.rstrip("."), New=new.rstrip("."))
    yield Pair("corrected", old, passage, "refuted")
    yield Pair("corrected", new if random.random() < 0.5 else reworded(random, new) or new, passage, "supported")
