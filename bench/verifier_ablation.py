"""What each rule of the verifier earns: every one switched off alone, and what then changes on each set.

    python bench/verifier_ablation.py DATA [--only NAME …] [--most 60]

A rule is switched off by a function that finds nothing in its place. For each set: how many false claims more (or
fewer) are called supported, how many fewer are called contradicted, and how many true ones are called supported or
contradicted. A rule that changes nothing on sets it was not written with gives nothing. The `test` halves stay closed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verifier import CLAIMS, EXPERTS, TUNED_ON, UNSEEN, length_matched
from verifier_pairs import pairs_of

from citewell.evals.bench import auroc
from citewell.evals.verifier import CheckedPair, LabelledPair, check_pairs, read_pairs

_CHECKING = "citewell.check"


def _nothing(*_: Any, **__: Any) -> str:
    return ""


def _none(*_: Any, **__: Any) -> None:
    return None


def _empty(*_: Any, **__: Any) -> tuple[()]:
    return ()


def _no(*_: Any, **__: Any) -> bool:
    return False


def _no_words(*_: Any, **__: Any) -> frozenset[str]:
    return frozenset()


# What is switched off: the place a function is called from, and what stands in its place.
RULES: dict[str, list[tuple[str, Callable[..., Any]]]] = {
    "quotations": [("claim.unquoted", _nothing)],
    "withdrawn": [("claim.withdrawal", _nothing)],
    "signs": [("claim.other_sign", _none)],
    "stated_values": [("support_features.missing_values", _empty)],
    "naming": [("support_features.missing_names", _empty)],
    "denials": [("support_features.differs", _nothing)],
    "denials: between": [("denials._denied_between", _nothing)],
    "order": [("claim.turned_about", _nothing)],
    "order: verbs": [("order._verb_cuts", _empty)],
    "turning": [("claim.turned", _nothing)],
    "arithmetic": [("claim.reckoned", _none)],
    "table_rows": [("claim.check_row", _none)],
    "relations": [("support_features.wrong_relation", _nothing)],
    "relations: contrary": [("relations.contrary_word", _nothing)],
    "relations: name": [("relations.other_name", _nothing)],
    "relations: number": [("relations.other_number", _nothing)],
    "relations: unit": [("relations.other_unit", _nothing)],
    "relations: quantifier": [("relations.other_quantifier", _nothing)],
    "wording": [("claim.differs_in_wording", _nothing)],
    "wording: moved": [("wording._moved", _nothing)],
    "wording: telling": [("wording._telling", _nothing)],
    "wording: preposition": [("wording._other_preposition", _nothing)],
    "wording: plural": [("wording._made_plural", _nothing)],
    "wording: pronouns": [("wording._is_meant", _no)],
    "omissions": [("wording.left_out", _nothing)],
    "omissions: harmless": [("omissions._is_harmless", _no)],
    "voices": [("wording.in_other_voice", _empty)],
    "forms": [("forms.same_family", _no_words), ("forms.spellings", _no_words), ("forms.are_derived", _no)],
}


@dataclass(frozen=True, slots=True)
class Counts:
    """How the claims of a set are called, true and false ones apart, and how the score orders them."""

    false_supported: int
    false_contradicted: int
    true_supported: int
    true_contradicted: int
    refuted: float
    unsupported: float

    def against(self, other: Counts) -> str:
        """The change from another count, nothing where nothing changes."""
        names = ("false_supported", "false_contradicted", "true_supported", "true_contradicted")
        changed = [f"{getattr(self, name) - getattr(other, name):+d}" for name in names]
        scores = [f"{getattr(self, name) - getattr(other, name):+.3f}" for name in ("refuted", "unsupported")]
        return "" if self == other else f"{'/'.join(changed)} ({' '.join(scores)})"


def count(checked: Sequence[CheckedPair]) -> Counts:
    def called(verdict: str, *, true: bool) -> int:
        return sum(one.check.verdict == verdict and one.is_supported is true for one in checked)

    yes = [one.check.support for one in checked if one.is_supported]
    scores = [
        round(auroc(yes, [one.check.support for one in checked if one.pair.label == label]) or 0.0, 4)
        for label in ("refuted", "unsupported")
    ]
    return Counts(
        called("supported", true=False),
        called("contradicted", true=False),
        called("supported", true=True),
        called("contradicted", true=True),
        *scores,
    )


def sets(data: Path, most: int) -> Iterator[tuple[str, list[LabelledPair]]]:
    """The sets a rule may be judged by."""
    for name in ("falsehood_kinds", "fluent", "near_wording"):
        path = CLAIMS / f"{name}.jsonl"
        halves = [json.loads(line)["half"] for line in path.read_text("utf-8").splitlines()]
        yield name, [pair for pair, half in zip(read_pairs(path), halves, strict=True) if half == "dev"]
    if (data / EXPERTS).is_file():
        yield "scifact", length_matched(read_pairs(data / EXPERTS))
    for name, folders in (("built", TUNED_ON), ("built, MDN", (UNSEEN,))):
        pairs = [pair for one in folders if (data / one).is_dir() for pair in pairs_of(data / one, most)]
        yield name, [LabelledPair(one.claim, one.evidence, one.label) for one in pairs]


@contextlib.contextmanager
def switched_off(names: Sequence[str]) -> Iterator[None]:
    """The verifier without these rules."""
    kept: list[tuple[Any, str, Any]] = []
    for name in names:
        for place, instead in RULES[name]:
            module_name, _, function = place.partition(".")
            module = importlib.import_module(f"{_CHECKING}.{module_name}")
            kept.append((module, function, getattr(module, function)))
            setattr(module, function, instead)
    importlib.import_module(f"{_CHECKING}.evidence_match").read_evidence.cache_clear()
    try:
        yield
    finally:
        for module, function, before in reversed(kept):
            setattr(module, function, before)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="*", help="rules; all where none is named")
    parser.add_argument("--most", type=int, default=60, help="built pairs of each kind and collection")
    args = parser.parse_args()
    over = dict(sets(args.data, args.most))
    whole = {name: count(check_pairs(pairs)) for name, pairs in over.items()}
    print("false supported / false contradicted / true supported / true contradicted (AUROC refuted, unsupported)")
    for name, counted in whole.items():
        print(f"{name}, {len(over[name])} pairs: {counted}", flush=True)
    for rule in args.only or RULES:
        with switched_off([rule]):
            found = {name: count(check_pairs(pairs)).against(whole[name]) for name, pairs in over.items()}
        print(f"| {rule} | {' | '.join(found.values())} |", flush=True)


if __name__ == "__main__":
    main()
