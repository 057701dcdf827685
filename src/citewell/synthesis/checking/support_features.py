"""Features of support: what the evidence has of a claim, what it lacks, and where the two part. Pure.

Everything is looked for in the one sentence that comes nearest, with a discount for its neighbours: words of a claim
that are scattered over a page support nothing. `support` weighs the features.

Example:
    claim:   Aspirin relieves migraine in adults.
    passage: In adults aspirin relieved migraine within an hour.
    verdict: supported
    support: 0.85

Example:
    claim:   Aspirin relieves migraine in adults.
    passage: In adults with migraine aspirin made no difference.
    verdict: partial
    reason:  not in the quote: relieves
    support: 0.51
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from citewell.synthesis.checking.denials import differs, negations_in
from citewell.synthesis.checking.directions import agreement, finds_nothing
from citewell.synthesis.checking.evidence_match import EvidenceMatch, pairs_kept
from citewell.synthesis.checking.naming import missing_names
from citewell.synthesis.checking.relations import wrong_relation
from citewell.synthesis.checking.stated_values import missing_values
from citewell.synthesis.lexicon.word_families import contraries, denies_by_prefix

_ONLY = re.compile(r"\b(?:only|solely|exclusively|always|all|entirely|never|every)\b")
_ASKS = re.compile(
    r"\b(?:whether|aim(?:ed|s)?|objective|hypothes[ie]\w*|unclear|unknown|poorly understood|sought to|investigat\w+"
    r"|to (?:determine|investigate|examine|assess|evaluate|test|identify|study|explore|compare))\b"
)


@dataclass(frozen=True, slots=True)
class SupportFeatures:
    """What one claim has of its evidence, each between 0 and 1 unless it says otherwise."""

    own: float  # the share of its words, by rarity, in the nearest sentence
    around: float  # the same with the neighbours of that sentence and the titles
    pairs: float  # the share of its neighbouring words that stand near each other there
    direction: float  # from -1 to 1: whether the sentences about it point the same way
    quantity: float  # the same for words of more and less alone
    contrary: float  # words of it whose contrary the evidence has instead
    none_found: float  # it claims an effect, and the sentences about it report none
    none_shared: float  # both report none
    denies_alone: float  # it denies, and the sentences about it do not
    overstates: float  # "all", "only", "always", and no such word in the evidence
    asks: float  # the nearest sentence asks or plans and does not state
    values: float  # a number or date the evidence does not give
    names: float  # a name the evidence does not have
    denial: float
    relation: float
    likeness: float | None = None  # how alike a local model finds claim and nearest passage, where one was asked

    missing_values: tuple[str, ...] = ()
    missing_names: tuple[str, ...] = ()
    denial_reason: str = ""
    relation_reason: str = ""


def read_support_features(matched: EvidenceMatch, quoted: str, likeness: float | None = None) -> SupportFeatures:
    """The features of a claim that was matched with its evidence."""
    sentences = matched.evidence.sentences
    shares = [matched.share([word.in_stems(one.stems) for word in matched.words]) for one in sentences]
    most = max(shares, default=0.0) or 1.0
    weights = [(share / most) ** 2 for share in shares]
    claim, best = matched.claim, matched.sentence
    nothing = _weighted(weights, [finds_nothing(one) for one in sentences])
    claims_nothing = finds_nothing(claim) or any(one.is_plain for one in negations_in(claim))
    values = tuple(missing_values(claim.text, quoted))
    names = tuple(missing_names(matched))
    denial = differs(matched)
    relation = wrong_relation(matched)
    return SupportFeatures(
        own=matched.share(matched.own),
        around=matched.share(matched.around),
        pairs=pairs_kept(matched),
        direction=agreement(claim, sentences, weights, plain=False),
        quantity=agreement(claim, sentences, weights, plain=True),
        contrary=min(2, len(_contrary_words(matched))) / 2,
        none_found=0.0 if claims_nothing else nothing,
        none_shared=nothing if claims_nothing else 0.0,
        denies_alone=1.0 - nothing if claims_nothing else 0.0,
        overstates=float(bool(_ONLY.search(claim.folded)) and not any(_ONLY.search(one.folded) for one in sentences)),
        asks=float(best is not None and bool(_ASKS.search(best.folded))),
        values=min(1.0, len(values) / 2),
        names=min(1.0, len(names) / 2),
        denial=float(bool(denial)),
        relation=float(bool(relation)),
        likeness=likeness,
        missing_values=values,
        missing_names=names,
        denial_reason=denial,
        relation_reason=relation,
    )


def _weighted(weights: list[float], holds: list[bool]) -> float:
    total = math.fsum(weights)
    return math.fsum(weight for weight, one in zip(weights, holds, strict=True) if one) / total if total else 0.0


def _contrary_words(matched: EvidenceMatch) -> list[str]:
    """Words of the claim that the evidence lacks while it has their contrary."""
    stems = matched.evidence.vocabulary.stems
    found: list[str] = []
    for word in matched.words:
        stem = word.token.stem
        if stem not in stems and (
            contraries(stem) & stems or any(denies_by_prefix(stem, one) for one in _alike(stem, stems))
        ):
            found.append(word.token.folded)
    return found


def _alike(stem: str, stems: frozenset[str]) -> list[str]:
    """The stems that could be this one with or without a prefix."""
    prefixes = ("un", "in", "im", "non", "dis", "ir", "il")
    with_prefix = [prefix + stem for prefix in prefixes]
    without = [stem[len(prefix) :] for prefix in prefixes if stem.startswith(prefix)]
    return [one for one in (*with_prefix, *without) if one in stems]
