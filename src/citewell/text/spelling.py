"""How far apart two spellings are: letters left out, put in, exchanged, or swapped with their neighbour. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from citewell.domain.values import dataclass

SHORTEST = 4
LONG = 8
# What stemming may have cut off.
LONGEST_ENDING = 6


@dataclass(frozen=True, slots=True)
class Near:
    """A known word spelled nearly as another, how far apart they are, and how common the known one is."""

    form: str
    distance: int
    count: int


def slips_allowed(word: str) -> int:
    """How many slips a word may have to be taken for another."""
    return 1 if len(word) < LONG else 2


def distance(first: str, second: str, most: int) -> int:
    """The number of slips between two words, or `most + 1` where there are more; only cells near the diagonal count."""
    return most + 1 if abs(len(first) - len(second)) > most else _slips(first, second, most)[-1]


def beginning_distance(stem: str, word: str, most: int) -> int:
    """The number of slips between a stem and the beginning of a word that comes nearest to it.

    >>> beginning_distance("commun", "comunity", 1)
    1
    """
    return min(_slips(stem, word, most))


def _slips(first: str, second: str, most: int) -> list[int]:
    """The number of slips between a word and every beginning of another, or `most + 1` where there are more."""
    far = most + 1
    before: list[int] = []
    row = [at if at <= most else far for at in range(len(second) + 1)]
    for i, letter in enumerate(first, start=1):
        low, high = max(1, i - most), min(len(second), i + most)
        current = [far] * (len(second) + 1)
        if i <= most:
            current[0] = i
        for j in range(low, high + 1):
            same = letter == second[j - 1]
            cost = min(row[j - 1] + (not same), row[j] + 1, current[j - 1] + 1)
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == second[j - 1]:
                cost = min(cost, before[j - 2] + 1)
            current[j] = min(cost, far)
        # A swap reaches back two rows: both have to be hopeless.
        if min(current) > most and min(row) > most:
            return [far] * (len(second) + 1)
        before, row = row, current
    return row


def nearest(forms: Iterable[str], known: Iterable[tuple[str, int]]) -> list[Near]:
    """The known words a few slips from any of these forms: the nearest, with the same first letter, commonest first."""
    wanted = [(form, frozenset(form), slips_allowed(form), _pieces(form)) for form in dict.fromkeys(forms)]
    starts = {form[:1] for form, *_ in wanted}
    found: list[Near] = []
    for word, count in known:
        likely = [entry for entry in wanted if any(piece in word for piece in entry[3])]
        if not likely:
            continue
        letters, most = frozenset(word), slips_allowed(word)
        # Every slip changes at most two letters of the set.
        near = [(form, min(most, own)) for form, has, own, _ in likely if len(has ^ letters) <= 2 * min(most, own)]
        slipped = ((distance(form, word, most), most) for form, most in near if not _is_another(form, word))
        apart = min((slips for slips, most in slipped if slips <= most), default=0)
        if apart:
            found.append(Near(word, apart, count))
    return sorted(found, key=lambda one: (one.distance, one.form[:1] not in starts, -one.count, one.form))


def nearest_beginnings(word: str, known: Iterable[tuple[str, int]]) -> list[Near]:
    """The known stems a word begins with but for a few slips: its ending may be what kept it from being stemmed alike.

    "comunity" is stemmed to "comun", "welcomign" not at all: neither is near to "commun" or "welcom".
    """
    letters, most = frozenset(word), slips_allowed(word)
    found: list[Near] = []
    for stem, count in known:
        if len(stem) < SHORTEST or len(word) - len(stem) > LONGEST_ENDING or len(frozenset(stem) - letters) > most:
            continue
        if _is_another(stem, word):
            continue
        apart = beginning_distance(stem, word, most)
        if apart <= most:
            found.append(Near(stem, apart, count))
    return sorted(found, key=lambda one: (one.distance, -len(one.form), -one.count, one.form))


def _is_another(first: str, second: str) -> bool:
    """Whether two short words of one length differ in a letter: wifi is no slip of wife, but lnog one of long."""
    return len(first) == len(second) == SHORTEST and sorted(first) != sorted(second)


def _pieces(form: str) -> list[str]:
    """A word cut into so many pieces that one stays whole: a slip touches two at most. Most other words have none."""
    count = 2 * slips_allowed(form) + 1
    cuts = [number * len(form) // count for number in range(count + 1)]
    return [form[low:high] for low, high in pairwise(cuts)]
