"""Named option profiles: how much a pack holds on each surface. The one table; the docs are made from it."""

from __future__ import annotations

from typing import Literal

from citewell.domain.errors import BadInput
from citewell.domain.queries import Limits
from citewell.domain.values import dataclass
from citewell.text.canonical import canonicalize

MAX_TOPIC_CHARS = 200


@dataclass(frozen=True, slots=True)
class PackOptions:
    """What a caller may choose about a pack; None leaves the surface's default."""

    limit: int | None = None
    max_chars_per_doc: int | None = None
    include_related: bool | None = None
    related_limit: int | None = None
    topic: str | None = None
    topic_brief: bool | None = None
    semantic: bool = True


@dataclass(frozen=True, slots=True)
class OptionProfile:
    """Defaults of one surface."""

    limit: int
    include_related: bool
    related_limit: int
    max_chars_per_doc: int
    use_model_planner: bool

    def limits(
        self,
        limit: int | None = None,
        max_chars_per_doc: int | None = None,
        include_related: bool | None = None,
        related_limit: int | None = None,
    ) -> Limits:
        """These defaults with what a caller chose instead, checked."""
        chosen = Limits(
            limit=self.limit if limit is None else limit,
            max_chars_per_doc=self.max_chars_per_doc if max_chars_per_doc is None else max_chars_per_doc,
            include_related=self.include_related if include_related is None else include_related,
            related_limit=self.related_limit if related_limit is None else related_limit,
        )
        check_between("limit", chosen.limit, 1, 100)
        check_between("max_chars_per_doc", chosen.max_chars_per_doc, 50, 50_000)
        check_between("related_limit", chosen.related_limit, 0, 50)
        return chosen


ProfileName = Literal["cli", "web"]

OPTION_PROFILES: dict[ProfileName, OptionProfile] = {
    "cli": OptionProfile(
        limit=8, include_related=False, related_limit=2, max_chars_per_doc=700, use_model_planner=False
    ),
    "web": OptionProfile(
        limit=10, include_related=True, related_limit=2, max_chars_per_doc=4_000, use_model_planner=True
    ),
}


def checked_topic(topic: str | None) -> str | None:
    """A topic the caller named, checked; a blank one is none."""
    named = " ".join(canonicalize(topic or "").split())
    if len(named) > MAX_TOPIC_CHARS:
        raise BadInput(f"The topic has {len(named):,} characters.", fix="Name it in a few words, or ask a question.")
    return named or None


def check_between(name: str, value: int, low: int, high: int) -> None:
    """Refuse an option outside its range, saying the range."""
    if not low <= value <= high:
        raise BadInput(f"{name} is {value}; it must be between {low} and {high}.", fix=f"Choose another {name}.")
