"""What a family of questions is: how it is recognised, what it cleans away, searches for and requires. Data only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from citewell.domain.documents import SourceType
from citewell.domain.queries import FamilyName, VariantKind
from citewell.text.folding import folded_text


@dataclass(frozen=True, slots=True)
class VariantRule:
    """One more way to ask the index: a template over the parts of the question, for each value they have."""

    kind: VariantKind
    template: str
    weight: float


@dataclass(frozen=True, slots=True)
class Family:
    """A family as data. The named groups of its patterns are the parts its rules speak of."""

    name: FamilyName
    title: str
    asks: str
    patterns: tuple[re.Pattern[str], ...]
    examples: tuple[str, ...]
    unless: tuple[re.Pattern[str], ...] = ()
    # Words that say how the answer should look: no search terms, and nothing that evidence must mention; but for
    # those that a pattern captures as `kept`: "which laptop did she buy" is answered by what says that she bought it.
    cleanup: frozenset[str] = frozenset()
    variants: tuple[VariantRule, ...] = ()
    # Parts of which every value must be found as a whole.
    required: tuple[str, ...] = ()
    # Parts whose words help to find rows and need not be there: what lies between two years names neither.
    optional: tuple[str, ...] = ()
    # Words that tell the kind of source meant; rows of that kind come first where all else is equal.
    sources: Mapping[str, tuple[SourceType, ...]] = field(default_factory=dict)


def patterns(*sources: str) -> tuple[re.Pattern[str], ...]:
    """Patterns of a family; they are written with free spacing and match in any case."""
    return tuple(re.compile(source, re.IGNORECASE | re.VERBOSE) for source in sources)


def words(text: str) -> frozenset[str]:
    """Words as tokens of a question are compared: folded."""
    return frozenset(folded_text(text).split())


def pointing_to(kinds: tuple[SourceType, ...], text: str) -> dict[str, tuple[SourceType, ...]]:
    """Words that all tell the same kinds of source."""
    return dict.fromkeys(words(text), kinds)
