"""Builds the pairs: `python -m claim_pairs.build --data FILE.jsonl.gz … --out OUT.jsonl.gz [--pairs 360000]`.

The same files and the same seed give the same pairs. `--show` prints samples of every kind to be read by a person.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

from claim_pairs import asked, balance, layouts, natural, small_worlds
from claim_pairs.pair import LABELS, Pair, is_short
from claim_pairs.passages import Asked, Sentence, read_asked, read_sentences

SOURCE = "minimal"
WORLDS = 260  # of each template, for 100,000 pairs
TABLES = 5_000  # likewise


def drafts(random: Random, sentences: Iterable[Sentence], questions: Iterable[Asked], size: int) -> Iterator[Pair]:
    """More pairs than are wanted, of every kind."""
    for sentence in sentences:
        makers = random.sample(natural.NATURAL, len(natural.NATURAL))
        for maker in makers[: len(makers) * 3 // 4]:
            yield from maker(random, sentence)
    for question in questions:
        yield from asked.answered(random, question)
    for template in small_worlds.read_templates():
        for _ in range(WORLDS * size // 100_000 + 2):
            yield from small_worlds.small_world(random, template)
    for _ in range(TABLES * size // 100_000 + 2):
        yield from layouts.table(random)
        yield from layouts.enumeration(random)


def build(paths: list[Path], size: int, seed: int) -> list[Pair]:
    random = Random(seed)
    made = drafts(random, read_sentences(paths, random), read_asked(paths), size)
    pairs = balance.without_doubles(pair for pair in made if is_short(pair))
    kinds = len({pair.kind for pair in pairs})
    return balance.evened(random, pairs, per_kind=max(2, 2 * size // kinds))[:size]


def write(pairs: Iterable[Pair], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(out, "wt", encoding="utf-8") as lines:
        for pair in pairs:
            row = {
                "source": SOURCE,
                "kind": pair.kind,
                "claim": pair.claim,
                "passage": pair.passage,
                "label": pair.label,
            }
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def counted(pairs: Iterable[Pair]) -> str:
    """A table of how many pairs of each kind and label there are."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for pair in pairs:
        counts[pair.kind][pair.label] += 1
    rows = [f"{kind:18}" + "".join(f"{counts[kind][label]:9}" for label in LABELS) for kind in sorted(counts)]
    return "\n".join([f"{'kind':18}" + "".join(f"{label:>9}"[:9] for label in LABELS), *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", type=Path, required=True, help="training files whose passages are used")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=360_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--show", type=int, default=0, help="samples of each kind to print")
    given = parser.parse_args()
    pairs = build(given.data, given.pairs, given.seed)
    write(pairs, given.out)
    print(counted(pairs))
    print(len(pairs), "pairs")
    for kind in sorted({pair.kind for pair in pairs}) if given.show else ():
        for pair in [pair for pair in pairs if pair.kind == kind][: given.show]:
            print(f"\n[{kind}: {pair.label}]\n  claim   {pair.claim}\n  passage {pair.passage}")


if __name__ == "__main__":
    main()
