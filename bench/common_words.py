"""Writes `text/english_stems.txt`: how common the stems of English are, counted over passages made for training.

Encyclopedia, news, fiction, letters, speech and captions, as many passages of each, and none of what anything is
measured on. `python bench/common_words.py DATA` from the repository.
"""

from __future__ import annotations

import gzip
import json
import math
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from citewell.text.languages import is_stop_word
from citewell.text.words import index_terms

_FILES = ("questions.jsonl.gz", "claims.jsonl.gz")
# Every source speaks as loudly as another one.
_MOST_OF_A_SOURCE = 4_000
_KEPT = 4_000
_STEP = 2.0
# A word that stands behind a small letter or a comma is not capitalised for the sake of its sentence.
_INSIDE = re.compile(r"(?<=[a-z,] )[A-Za-z]{2,}\b")
_SEEN, _CAPITAL = 3, 0.8
_PAGE = Path(__file__).resolve().parents[1] / "src/citewell/text/english_stems.txt"
_HEAD = """# Stems of English by how common they are, written by bench/common_words.py.
# `GROUP:` stems found in about one of 2 ** GROUP passages; `names:` those that are capitalised inside of sentences too.
"""


def main() -> None:
    data = Path(sys.argv[1])
    counts: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    inside: Counter[str] = Counter()
    passages = 0
    for text in _passages(data):
        counts.update({form for form in index_terms(text, "en").split() if _is_word(form)})
        passages += 1
        for word in _INSIDE.findall(text):
            form = index_terms(word, "en").split(" ")[0]
            inside[form] += 1
            capital[form] += word[0].isupper()
    kept = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:_KEPT]
    groups: dict[int, list[str]] = {}
    for stem, count in kept:
        groups.setdefault(round(math.log(passages / count, _STEP)), []).append(stem)
    body = "\n".join(_group(number, sorted(stems)) for number, stems in sorted(groups.items()))
    names = sorted(stem for stem, _ in kept if inside[stem] >= _SEEN and capital[stem] >= _CAPITAL * inside[stem])
    _PAGE.write_text(f"{_HEAD}{body}\n{_group('names', names)}\n", "utf-8")
    print(f"{len(kept)} stems of {passages} passages")


def _is_word(form: str) -> bool:
    return form.isascii() and form.isalpha() and len(form) > 1 and not is_stop_word(form)


def _group(name: int | str, stems: list[str]) -> str:
    return "\n".join(f"{name}: {line}" for line in textwrap.wrap(" ".join(stems), 108))


def _passages(data: Path) -> Iterator[str]:
    """Passages, each once, with as many of each source as of any other."""
    taken: Counter[str] = Counter()
    seen: set[str] = set()
    for name in _FILES:
        with gzip.open(data / "train" / name, "rt", encoding="utf-8") as file:
            for line in file:
                entry = json.loads(line)
                source, text = str(entry["source"]), str(entry["passage"])
                if text not in seen and taken[source] < _MOST_OF_A_SOURCE:
                    seen.add(text)
                    taken[source] += 1
                    yield text


if __name__ == "__main__":
    main()
