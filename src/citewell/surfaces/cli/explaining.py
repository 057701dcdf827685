"""Why a row was found, in one line a person understands; the figures behind it are the row's signals. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from citewell.domain.evidence import EvidenceRow, Signal

# Signals with a sentence of their own. Below its share of the score, a signal decided nothing and goes unsaid.
_SAID = {
    "nearness": "the words stand near each other",
    "kinship": "same subject as the best rows",
    "all_required": "everything asked for is here",
    "pinned": "named by its key",
}
_SHARE = 0.05
_MOST = 6


def why(row: EvidenceRow) -> str:
    """What brought a row to its place."""
    return "; ".join(dict.fromkeys(_reasons(row)))


def _reasons(row: EvidenceRow) -> Iterator[str]:
    if row.related_to is not None:
        yield f"linked with {row.related_to}"
    if row.matched_terms:
        yield f"found by {_listed(row.matched_terms)}"
    elif "pinned" not in row.lanes and row.related_to is None:
        yield "found by a rephrased question"
    total = abs(row.score) or 1.0
    for signal in row.signals:
        if signal.name in _SAID and (abs(signal.value) / total >= _SHARE or signal.name == "pinned"):
            yield _SAID[signal.name]
        elif signal.name in (
            "title",
            "exact_title",
            "source_type",
            "spelling",
            "alias",
            "cross_encoder",
            "reranker_unavailable",
        ):
            yield signal.detail
    yield from _about(row.signals, "excluded:", "speaks of what you left out")
    yield from _about(row.signals, "missing:", "does not mention")


def _about(signals: tuple[Signal, ...], prefix: str, said: str) -> Iterator[str]:
    names = [signal.name.removeprefix(prefix) for signal in signals if signal.name.startswith(prefix)]
    if names:
        yield f"{said} {_listed(names)}"


def _listed(names: list[str] | tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more
