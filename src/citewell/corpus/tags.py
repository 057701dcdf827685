"""Tags: how they are named and compared. `#Heat/Pump` and `heat/pump` are one tag; a tag contains its nested ones."""

from __future__ import annotations

from collections.abc import Iterable

from citewell.text.folding import folded_text


def fold_tag(tag: str) -> str:
    """The form under which a tag is compared."""
    return "/".join(part for part in folded_text(tag.strip().lstrip("#")).split("/") if part)


def distinct_tags(tags: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Each tag once, as first written, with its folded form."""
    seen: dict[str, str] = {}
    for tag in tags:
        folded = fold_tag(tag)
        if folded:
            seen.setdefault(folded, tag.strip().lstrip("#"))
    return tuple((written, folded) for folded, written in seen.items())
