"""Words of one family and words of contrary meaning, as the checking of claims knows them. Data, and look-ups.

A country and its people; verbs of effect and of measurement as reports use them.
"""

from __future__ import annotations

from functools import lru_cache

from citewell.synthesis.lexicon.synonyms_and_opposites import verb_forms
from citewell.synthesis.lexicon.word_groups import others_of, stemmed_groups
from citewell.text.words import stem


def _with_forms(words: str) -> frozenset[str]:
    stems = [stem(word, "en") for word in words.split()]
    return frozenset(form for one in stems for form in (one, *verb_forms(one)))


_FAMILY_OF = others_of(stemmed_groups("families"))
_CONTRARY_OF = others_of(stemmed_groups("contraries"))
_UP = _with_forms("increase rise raise elevate grow gain climb surge expand accelerate strengthen improve boost double")
_DOWN = _with_forms(
    "decrease reduce fall drop diminish decline lessen shrink slump plunge shorten slow weaken worsen halve sink"
)
_DENYING_PREFIXES = ("un", "in", "im", "non", "dis", "ir", "il")


def same_family(form: str) -> frozenset[str]:
    """The stems that may stand for this one."""
    return _FAMILY_OF.get(form, frozenset())


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


def denies_by_prefix(one: str, other: str) -> bool:
    """Whether one stem is the other with a prefix that denies: `unstable` and `stable`."""
    shorter, longer = sorted((one, other), key=len)
    return len(shorter) > 3 and any(longer == prefix + shorter for prefix in _DENYING_PREFIXES)
