"""What the classes of an entailment model mean, by the names its `config.json` gives them (`id2label`). Pure.

Spelling does not count: `ENTAILMENT`, `entailed`, `supports`, `not-entailment` are understood. A model with two classes
tells one thing from the rest (entailment, or contradiction), and the rest counts as neutral: it claims nothing that
the model cannot tell. Without names (`LABEL_0`, or no `id2label`) the order is taken to be entailment, neutral,
contradiction, of two entailment and the rest; a model of another order needs its names written into `config.json`.

Example:
    id2label: {"0": "CONTRADICTION", "1": "NEUTRAL", "2": "ENTAILMENT"}
    classes:  contradicts, neutral, entails

Example:
    id2label: {"0": "LABEL_0", "1": "LABEL_1"}
    classes:  entails, neutral
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from citewell.domain.answers import Entails

Meaning = Literal["entails", "neutral", "contradicts"]

_SPELLINGS: dict[Meaning, str] = {
    "entails": "entailment entailed entails entail supported supports support consistent e",
    "contradicts": "contradiction contradicted contradicts refuted refutes refute conflict c",
    "neutral": "neutral notenoughinfo nei unknown unrelated n notentailment notentailed nonentailment notsupported "
    "unsupported notcontradiction noncontradiction nocontradiction noconflict",
}
_NAMES = {name: meaning for meaning, names in _SPELLINGS.items() for name in names.split()}
_UNNAMED = re.compile(r"label\d+|\d+")
_ORDER: dict[int, tuple[Meaning, ...]] = {2: ("entails", "neutral"), 3: ("entails", "neutral", "contradicts")}


class UnknownClasses(ValueError):
    """Class names that nobody can read as entailment, neutral or contradiction."""


def meanings_of(id2label: Mapping[str, object] | None, count: int) -> tuple[Meaning, ...]:
    """What each of a model's classes means, in their order; raises UnknownClasses."""
    if count not in _ORDER:
        raise UnknownClasses(f"has {count} classes, where a judge has two or three")
    names = [_plain((id2label or {}).get(str(number), f"LABEL_{number}")) for number in range(count)]
    if all(_UNNAMED.fullmatch(name) for name in names):
        return _ORDER[count]
    unknown = [name for name in names if name not in _NAMES]
    if unknown:
        raise UnknownClasses(f"names its classes {', '.join(names)}, of which {', '.join(unknown)} means nothing here")
    found = tuple(_NAMES[name] for name in names)
    if len(set(found)) != count:
        raise UnknownClasses(f"names its classes {', '.join(names)}, of which two mean the same")
    return found


def _plain(name: object) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def entails_of(meanings: Sequence[Meaning], shares: Sequence[float]) -> Entails:
    """The probabilities of a model's classes as one value."""
    found = dict(zip(meanings, shares, strict=True))
    return Entails(found.get("entails", 0.0), found.get("neutral", 0.0), found.get("contradicts", 0.0))


def combined(windows: Sequence[Entails]) -> Entails:
    """What several windows of one text say together: the best entailment and the worst contradiction of any of them.

    A text supports a statement in one place, and contradicts it in one place. Where both are high the two share what
    there is, so that neither is certain; what they leave is neutral.

    Example:
        windows:  (.90, .08, .02) and (.05, .15, .80)
        combined: (.53, .00, .47)
    """
    best, worst = max(one.entails for one in windows), max(one.contradicts for one in windows)
    total = max(1.0, best + worst)
    entails, contradicts = best / total, worst / total
    return Entails(entails, max(0.0, 1.0 - entails - contradicts), contradicts)
