"""Features of support: what the evidence has of a claim, what it lacks, and where the two part. Pure.

Everything is looked for in the one sentence that comes nearest, with a discount for its neighbours: words of a claim
that are scattered over a page support nothing. `support` weighs the features.

Example:
    claim:   Aspirin relieves migraine in adults.
    passage: In adults aspirin relieved migraine within an hour.
    verdict: supported
    support: 0.84

Example:
    claim:   Aspirin relieves migraine in adults.
    passage: In adults with migraine aspirin made no difference.
    verdict: partial
    reason:  not in the quote: relieves
    support: 0.68
"""

from __future__ import annotations

from dataclasses import dataclass

from citewell.synthesis.checking.claim_alignment import ClaimAlignment
from citewell.synthesis.checking.denials import differs
from citewell.synthesis.checking.evidence_match import EvidenceMatch, pairs_kept
from citewell.synthesis.checking.naming import missing_names
from citewell.synthesis.checking.relations import wrong_relation
from citewell.synthesis.checking.stated_values import missing_values


@dataclass(frozen=True, slots=True)
class SupportFeatures:
    """What one claim has of its evidence, each between 0 and 1."""

    own: float  # the share of its words, by rarity, in the nearest sentence
    around: float  # the same with the neighbours of that sentence and the titles
    pairs: float  # the share of its neighbouring words that stand near each other there
    values: float  # numbers or dates the evidence does not give
    names: float  # names the evidence does not have
    denial: float
    relation: float

    missing_values: tuple[str, ...] = ()
    missing_names: tuple[str, ...] = ()
    denial_reason: str = ""
    relation_reason: str = ""


def read_support_features(matched: EvidenceMatch, alignment: ClaimAlignment | None, quoted: str) -> SupportFeatures:
    """The features of a claim that was matched with its evidence and aligned with the nearest sentence."""
    values = tuple(missing_values(matched.claim.text, quoted))
    names = tuple(missing_names(matched))
    denial = differs(matched, alignment)
    relation = wrong_relation(matched, alignment)
    return SupportFeatures(
        own=matched.share(matched.own),
        around=matched.share(matched.around),
        pairs=pairs_kept(matched),
        values=min(1.0, len(values) / 2),
        names=min(1.0, len(names) / 2),
        denial=float(bool(denial)),
        relation=float(bool(relation)),
        missing_values=values,
        missing_names=names,
        denial_reason=denial,
        relation_reason=relation,
    )
