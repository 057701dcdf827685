"""What was measured as Markdown, and its place in docs/measurements/benchmarks.md: one block a part, ratios first."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

_DOCS = Path(__file__).resolve().parents[1] / "docs" / "measurements"
PAGE = _DOCS / "benchmarks.md"
# Parts with a page of their own.
PAGES = {"verifier": _DOCS / "verifier.md"}


@dataclass(frozen=True, slots=True)
class Ratio:
    """One claim: us divided by a peer, both measured in one run, and what we want it to be."""

    what: str
    value: float
    goal: float | None = None
    better: Literal["lower", "higher"] = "lower"
    is_disturbed: bool = False

    @property
    def met(self) -> str:
        """Whether the goal is reached; a ratio that other programs may have made says neither."""
        if self.goal is None:
            return "–"
        if self.is_disturbed:
            return "unclear: machine busy"
        reached = self.value <= self.goal if self.better == "lower" else self.value >= self.goal
        return "yes" if reached else "**no**"

    @property
    def goal_text(self) -> str:
        return "–" if self.goal is None else f"{'≤' if self.better == 'lower' else '≥'} {self.goal:.2f}×"


@dataclass(frozen=True, slots=True)
class Part:
    """The outcome of one part of the benchmark."""

    name: str
    ratios: tuple[Ratio, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def markdown(self) -> str:
        lines = [f"Measured {datetime.now(UTC):%Y-%m-%d} on {os.cpu_count()} cores.", ""]
        if self.ratios:
            claims = [(ratio.what, f"{ratio.value:.3f}×", ratio.goal_text, ratio.met) for ratio in self.ratios]
            lines += [table(("what / what it is compared with", "ratio", "goal", "met"), claims), ""]
        lines += [table(self.columns, self.rows)]
        lines += [f"\n{note}" for note in self.notes]
        return "\n".join(lines)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "|".join("---" for _ in columns) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def put_in_page(text: str, part: Part) -> str:
    """The page with the block of this part replaced, everything else as it was."""
    block = re.compile(rf"(<!-- measured: {re.escape(part.name)} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not block.search(text):
        raise ValueError(f"the page has no place for '{part.name}'")
    return block.sub(lambda found: f"{found[1]}\n{part.markdown()}\n\n{found[2]}", text)


def write_page(parts: Sequence[Part]) -> None:
    for part in parts:
        page = PAGES.get(part.name, PAGE)
        page.write_text(put_in_page(page.read_text("utf-8"), part), "utf-8")
