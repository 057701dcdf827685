"""Lines of a Markdown table: cells, and a row with something said beside it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol, TypeVar

_CELL = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\|?\s*:?-{1,}:?\s*(?:\|\s*:?-{1,}:?\s*)*\|?")


def is_row(text: str) -> bool:
    """Whether a line is a row: it begins and ends with a bar and has a cell between."""
    bare = text.strip()
    return len(bare) > 2 and bare[0] == bare[-1] == "|" and "\n" not in bare


def is_rule(text: str) -> bool:
    """The line of dashes under a header."""
    return "|" in text and _RULE.fullmatch(text.strip()) is not None


def cells_of(row: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in _CELL.split(row.strip().removeprefix("|").removesuffix("|")))


def row_of(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"


def rule_under(header: str) -> str:
    return "|" + "---|" * len(cells_of(header))


def with_note(row: str, note: str) -> str:
    """A row with something said behind its last cell."""
    *cells, last = cells_of(row)
    return row_of((*cells, f"{last} {note}".strip())) if note else row


def struck(row: str) -> str:
    return row_of(tuple(f"~~{cell}~~" if cell else "" for cell in cells_of(row)))


class Spoken(Protocol):
    """A sentence of an answer, as far as its layout goes."""

    @property
    def text(self) -> str: ...
    @property
    def kind(self) -> str: ...


_Sentence = TypeVar("_Sentence", bound=Spoken)


def blocks_of(sentences: Iterable[_Sentence]) -> list[list[_Sentence]]:
    """The sentences of an answer, each alone; a table's header and its rows together."""
    blocks: list[list[_Sentence]] = []
    for sentence in sentences:
        goes_on = bool(blocks) and is_row(blocks[-1][0].text) and is_row(sentence.text) and sentence.kind != "heading"
        if goes_on:
            blocks[-1].append(sentence)
        else:
            blocks.append([sentence])
    return blocks
