"""Chunks: deterministic, heading-aware spans of a document, each small enough to read and to rank.

Sections come from the reader. Small neighbours under one heading path are merged, so that a short note is one chunk; a
heading or a few properties alone go with what stands below them, since by themselves they say too little to be ranked;
large sections are cut at the best boundary near the target: paragraph, then line, then sentence, then space.
Every character of every section lies in exactly one chunk, but for white space at the edges. A text without sections
(its front matter says nothing) is one chunk, so that its title can be found.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from citewell.text.documents import Chunk, Section
from citewell.text.sentences import sentence_breaks

TARGET_CHARS = 1_800
MAX_CHARS = 2_400
MERGE_CHARS = 1_000
TINY_CHARS = 400


@dataclass(frozen=True, slots=True)
class _ChunkPiece:
    start: int
    end: int
    section: Section
    heading_path: tuple[str, ...]


def chunk_document(text: str, sections: Sequence[Section], content_hash: str) -> tuple[Chunk, ...]:
    """The chunks of a canonical text, in order of their offsets."""
    merged = list(_merge_small(piece for section in sections for piece in _trimmed(text, section)))
    if not merged:
        merged = list(_trimmed(text, Section("user_note", 0, len(text))))
    pieces = (part for piece in merged for part in _split_large(text, piece))
    return tuple(
        Chunk(
            chunk_id=f"{content_hash[:12]}:{piece.start}-{piece.end}",
            ordinal=ordinal,
            start=piece.start,
            end=piece.end,
            role=piece.section.role,
            heading_path=piece.heading_path,
            page=piece.section.page,
        )
        for ordinal, piece in enumerate(pieces)
    )


def _trimmed(text: str, section: Section) -> Iterator[_ChunkPiece]:
    start, end = trim(text, section.start, section.end)
    if start < end:
        yield _ChunkPiece(start, end, section, section.heading_path)


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without white space at its edges; empty spans collapse onto `start`."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _merge_small(pieces: Iterable[_ChunkPiece]) -> Iterator[_ChunkPiece]:
    """Join neighbours that share role and page and together stay small."""
    current: _ChunkPiece | None = None
    for piece in pieces:
        if current is None:
            current = piece
        elif _leads_into(current, piece):
            current = _ChunkPiece(current.start, piece.end, piece.section, piece.heading_path)
        elif _may_merge(current, piece):
            path = _common_path(current.heading_path, piece.heading_path)
            current = _ChunkPiece(current.start, piece.end, current.section, path)
        else:
            yield current
            current = piece
    if current is not None:
        yield current


def _leads_into(left: _ChunkPiece, right: _ChunkPiece) -> bool:
    """Whether a piece is only the opening of the next: a heading above a larger section, a few properties."""
    is_above = right.heading_path[: len(left.heading_path)] == left.heading_path
    return is_above and left.end - left.start <= TINY_CHARS and _belong_together(left, right)


def _may_merge(left: _ChunkPiece, right: _ChunkPiece) -> bool:
    return right.end - left.start <= MERGE_CHARS and _belong_together(left, right)


def _belong_together(left: _ChunkPiece, right: _ChunkPiece) -> bool:
    same = left.section.role == right.section.role and left.section.page == right.section.page
    return same and left.end <= right.start


def _common_path(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    shared = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        shared += 1
    return left[:shared]


def _split_large(text: str, piece: _ChunkPiece) -> Iterator[_ChunkPiece]:
    start = piece.start
    while piece.end - start > MAX_CHARS:
        cut = best_cut(text, start, piece.end)
        left = trim(text, start, cut)
        if left[0] < left[1]:
            yield _ChunkPiece(*left, piece.section, piece.heading_path)
        start = cut
    left = trim(text, start, piece.end)
    if left[0] < left[1]:
        yield _ChunkPiece(*left, piece.section, piece.heading_path)


def best_cut(text: str, start: int, end: int) -> int:
    """Where to end a chunk that begins at `start`: the strongest boundary in the second half of the allowance."""
    low = start + TARGET_CHARS // 2
    high = min(start + TARGET_CHARS, end)
    for separator in ("\n\n", "\n"):
        found = text.rfind(separator, low, high)
        if found != -1:
            return found + len(separator)
    sentences = [at for at in sentence_breaks(text[start:high]) if start + at > low]
    if sentences:
        return start + sentences[-1]
    space = text.rfind(" ", low, high)
    if space != -1:
        return space + 1
    return _whole_character(text, low, high)


def _whole_character(text: str, low: int, high: int) -> int:
    """A hard cut, moved left so that no combining mark or joiner is parted from its base."""
    cut = high
    while cut > low and (unicodedata.combining(text[cut]) or "\u200d" in text[cut - 1 : cut + 1]):
        cut -= 1
    return cut if cut > low else high
