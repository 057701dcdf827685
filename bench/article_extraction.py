"""How much of an article the page reader keeps, and how much else, beside trafilatura in the same run.

    python bench/article_extraction.py FOLDER

FOLDER is a copy of the public article extraction benchmark (scrapinghub/article-extraction-benchmark): `html/*.html.gz`
and `ground-truth.json`. Precision and recall are of four-word runs with their counts, averaged over pages, as that
benchmark defines them. Nothing of it is part of this repository.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citewell.answer.passages import readable
from citewell.readers.pages import PageBytes, read_page

_TOKEN = re.compile(r"\w+", re.UNICODE | re.MULTILINE | re.IGNORECASE | re.DOTALL)
_RUN = 4


@dataclass(frozen=True)
class Score:
    """How one reader did on every page."""

    name: str
    precision: float
    recall: float

    @property
    def f1(self) -> float:
        return 2 * self.precision * self.recall / (self.precision + self.recall)


def runs(text: str) -> Counter[tuple[str, ...]]:
    """The four-word runs of a text, each with how often it comes; a shorter text is one run."""
    words = _TOKEN.findall(text)
    if not words:
        return Counter()
    return Counter(tuple(words[at : at + _RUN]) for at in range(max(1, len(words) - _RUN + 1)))


def matched(true: str, found: str) -> tuple[float, float, float]:
    """True, false and missed runs, as shares of all of them."""
    wanted, got = runs(true), runs(found)
    hit = sum((wanted & got).values())
    extra, missed = sum(got.values()) - hit, sum(wanted.values()) - hit
    total = hit + extra + missed
    return (hit / total, extra / total, missed / total) if total else (0.0, 0.0, 0.0)


def score(name: str, pairs: list[tuple[str, str]]) -> Score:
    parts = [matched(true, found) for true, found in pairs]
    precision = [1.0 if fp == fn == 0 else hit / (hit + fp) if hit else 0.0 for hit, fp, fn in parts if hit + fp > 0]
    recall = [1.0 if fp == fn == 0 else hit / (hit + fn) if hit else 0.0 for hit, fp, fn in parts if hit + fn > 0]
    return Score(name, statistics.mean(precision), statistics.mean(recall))


def of_reader(markup: str) -> str:
    read = read_page(PageBytes(markup.encode(), "text/html", "https://page.example/", "utf-8")).read
    return readable(read.text) if read is not None else ""


def of_trafilatura(markup: str) -> str:
    import trafilatura

    found: Any = trafilatura.extract(markup, include_comments=False)
    return str(found or "")


def measure(folder: Path) -> list[Score]:
    """Both, on every page of the benchmark."""
    truth = json.loads((folder / "ground-truth.json").read_text("utf-8"))
    pages = {name: gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes()).decode() for name in truth}
    readers: dict[str, Callable[[str], str]] = {"citewell": of_reader, "trafilatura": of_trafilatura}
    return [
        score(name, [(truth[page].get("articleBody", ""), read(markup)) for page, markup in pages.items()])
        for name, read in readers.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    for one in measure(parser.parse_args().folder):
        print(f"{one.name:<12} F1 {one.f1:.4f}  precision {one.precision:.4f}  recall {one.recall:.4f}")


if __name__ == "__main__":
    main()
