"""Writes `text/common_words.py`: how common the stems of English are, counted over public collections.

SciFact is left out, so that what is measured on it owes nothing to its texts. `python bench/common_words.py` from the
repository.
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

from citewell.evals.collections import read_jsonl
from citewell.text.language import is_stop_word
from citewell.text.words import index_terms

COLLECTIONS = ("squad2_dev", "hotpotqa_100", "multihoprag_facts", "cranfield", "med")
_MDN_EVERY = 60
_KEPT = 4_000
_STEP = 2.0
# A word that stands behind a small letter or a comma is not capitalised for the sake of its sentence.
_INSIDE = re.compile(r"(?<=[a-z,] )[A-Za-z]{2,}\b")
_SEEN, _CAPITAL = 3, 0.8
_PAGE = Path(__file__).resolve().parents[1] / "src/citewell/text/common_words.py"
_HEAD = '''"""How common the stems of English are: data, written by `bench/common_words.py` from public collections.

Each line of a group holds stems found in about one of `2 ** group` passages; what is in no group is rarer than all.

Example:
    claim:   A keeper used the brass theodolite.
    passage: A keeper polished the brass theodolite.
    verdict: supported

Example:
    claim:   A keeper pawned the brass theodolite.
    passage: A keeper polished the brass theodolite.
    verdict: partial
    reason:  not in the quote: pawned
"""

from __future__ import annotations

RAREST = {rarest}
_GROUPS: dict[int, str] = {{
{groups}
}}
# For each stem, the binary logarithm of how many passages one must read to meet it.
COMMON: dict[str, int] = {{stem: group for group, stems in _GROUPS.items() for stem in stems.split()}}
# Those of them that are capitalised inside of sentences too: they name something wherever they stand.
NAMES: frozenset[str] = frozenset(
    """{names}""".split()
)
'''


def main() -> None:
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else _PAGE.parents[5] / "shared" / "data"
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
    listed = "\n    ".join(textwrap.wrap(" ".join(names), 112))
    _PAGE.write_text(_HEAD.format(rarest=max(groups) + 1, groups=body, names=listed), "utf-8")
    print(f"{len(kept)} stems of {passages} passages")


def _is_word(form: str) -> bool:
    return form.isascii() and form.isalpha() and len(form) > 1 and not is_stop_word(form)


def _group(number: int, stems: list[str]) -> str:
    lines = textwrap.wrap(" ".join(stems), 108)
    return f'    {number}: """' + "\n        ".join(lines) + '""",'


def _passages(data: Path) -> Iterator[str]:
    for name in COLLECTIONS:
        for entry in read_jsonl(data / name / "corpus.jsonl"):
            yield str(entry["text"])
    with gzip.open(data / "scale" / "mdn_chunks.jsonl.gz", "rt", encoding="utf-8") as file:
        for at, line in enumerate(file):
            if at % _MDN_EVERY == 0:
                entry = json.loads(line)
                yield str(entry.get("text") or entry.get("content") or "")


if __name__ == "__main__":
    main()
