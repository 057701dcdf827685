"""Groups of words from `word_groups.toml`, read once, and for each word the others of its groups. Look-ups only."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from itertools import permutations

from citewell.text.words import stem


@lru_cache(maxsize=1)
def _written() -> dict[str, str]:
    text = files("citewell.check").joinpath("word_groups.toml").read_text("utf-8")
    return {name: str(groups) for name, groups in tomllib.loads(text).items()}


def stemmed_groups(name: str) -> Iterator[list[str]]:
    """The groups of one list, each word as its English stem."""
    for group in _written()[name].strip().replace("|", "\n").split("\n"):
        yield [stem(word, "en") for word in group.split()]


def others_of(groups: Iterable[list[str]]) -> dict[str, frozenset[str]]:
    """For each stem, the other stems of all its groups."""
    others: dict[str, set[str]] = {}
    for group in groups:
        for one, other in permutations(group, 2):
            if one != other:
                others.setdefault(one, set()).add(other)
    return {one: frozenset(found) for one, found in others.items()}


# Synonyms, opposites and irregular verbs of everyday English, as questions and notes use them. Data, and look-ups.
#
# A question says "broke down" where a note says "failed". Groups are general English, kept small on purpose: a synonym
# lends support at a discount (`topic`) and never satisfies a protected anchor.


_SYNONYMS_OF = others_of(stemmed_groups("synonyms"))
_OPPOSITES_OF = others_of(stemmed_groups("opposites"))
_VERB_FORMS = others_of(stemmed_groups("irregular_verbs"))


def synonyms(form: str) -> frozenset[str]:
    """The stems that may stand for this English stem."""
    return _SYNONYMS_OF.get(form, frozenset())


def opposites(form: str) -> frozenset[str]:
    """The stems that say the contrary of this English stem."""
    return _OPPOSITES_OF.get(form, frozenset())


def verb_forms(form: str) -> frozenset[str]:
    """The other stems of an irregular verb: lost for lose."""
    return _VERB_FORMS.get(form, frozenset())


# Words of contrary meaning, as the checking of claims knows them. Data, and look-ups.


def _with_forms(words: str) -> frozenset[str]:
    stems = [stem(word, "en") for word in words.split()]
    return frozenset(form for one in stems for form in (one, *verb_forms(one)))


_CONTRARY_OF = others_of(stemmed_groups("contraries"))
_UP = _with_forms("increase rise raise elevate grow gain climb surge expand accelerate strengthen improve boost double")
_DOWN = _with_forms(
    "decrease reduce fall drop diminish decline lessen shrink slump plunge shorten slow weaken worsen halve sink"
)


@lru_cache(maxsize=65_536)
def contraries(form: str) -> frozenset[str]:
    """The stems that say the contrary of this one, in every form of a verb: `lost` for `gained`."""
    found: set[str] = set()
    for one in (form, *verb_forms(form)):
        for other in _CONTRARY_OF.get(one, ()):
            found |= {other} | verb_forms(other)
    return frozenset(found)


def moves_against(one: str, other: str) -> bool:
    """Whether one stem tells of a rise and the other of a fall."""
    return (one in _UP and other in _DOWN) or (one in _DOWN and other in _UP)
