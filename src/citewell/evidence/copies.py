"""Copies: pages that carry the same text with small edits, told by a sketch of it. Pure.

A sketch is the smallest hashes of a text's three-word runs. Two sketches estimate how much of both texts is shared
(Jaccard), exactly where the texts are short; so a page need not be kept at hand to be compared.
"""

from __future__ import annotations

import hashlib

from citewell.text.words import index_terms

COPY_AT = 0.85
_KEPT = 256
_MOST_CHARS = 400_000


def sketch(text: str) -> tuple[int, ...]:
    """The sketch of a text, in ascending order."""
    words = index_terms(text[:_MOST_CHARS], None).split()
    if len(words) < 3:
        return (_hash(" ".join(words)),) if words else ()
    runs = {" ".join(words[at : at + 3]) for at in range(len(words) - 2)}
    return tuple(sorted(map(_hash, runs))[:_KEPT])


def likeness(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """How much of two texts is the same: 1 for copies, 0 for nothing in common."""
    if not one or not other:
        return 0.0
    smallest = sorted({*one, *other})[:_KEPT]
    shared = {*one} & {*other}
    return sum(value in shared for value in smallest) / len(smallest)


def are_copies(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return likeness(one, other) >= COPY_AT


def _hash(run: str) -> int:
    return int.from_bytes(hashlib.blake2b(run.encode("utf-8", "surrogatepass"), digest_size=6).digest(), "big")
