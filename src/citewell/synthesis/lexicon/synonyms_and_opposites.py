"""Synonyms, opposites and irregular verbs of everyday English, as questions and notes use them. Data, and look-ups.

A question says "broke down" where a note says "failed". Groups are general English, kept small on purpose: a synonym
lends support at a discount (`topic`) and never satisfies a protected anchor.
"""

from __future__ import annotations

from citewell.synthesis.lexicon.word_groups import others_of, stemmed_groups

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
