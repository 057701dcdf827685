"""Sufficiency: whether the best passage answers the question, or only speaks of its subject. Pure.

The tempting case is a corpus full of the subject that never states the asked attribute; then the right answer is a
refusal. What must be there, in the sentence or right beside it: a value of the asked kind, the words that name the
attribute, every number, version and name of the question, no contrary of its words, and about half of the rest by
weight. Words decide: a fact told in quite other words is refused, and a question that differs from a fact only in who
did what to whom is answered. The thresholds were chosen on SQuAD 2.0 questions, apart from those they are measured on,
and on the sample corpus; putting the estimate of `answerability` in their place refused more for no better trade.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.domain.queries import Concept
from citewell.synthesis.answer_values import DECIDING
from citewell.synthesis.asking import Asked, ValueKind
from citewell.synthesis.scoring import Scored
from citewell.synthesis.topic import Topic
from citewell.synthesis.values import denials_in
from citewell.text.folding import folded_text
from citewell.text.words import index_terms

LEAST_COVERAGE = 0.45
LEAST_OWN = 0.2
# With an attribute word missing, the rest has to carry this much.
_LEAST_WITHOUT_ATTRIBUTE = 0.55
# With a word missing that nothing in the corpus has, the rest has to carry this much, in this many words.
_LEAST_WITHOUT_UNSEEN = 0.55
_LEAST_OTHER_WORDS = 3
# With what was done missing, the rest has to carry this much.
_LEAST_WITHOUT_DEED = 0.7
_WHO_DID = re.compile(r"(?:who|which [a-z]+|what [a-z]+) (?:else |first |also )?([a-z]+)\b")

_SPOKEN: dict[ValueKind, str] = {
    "money": "an amount of money",
    "length": "a measure of length",
    "frequency": "how often",
    "duration": "how long",
}


def what_is_missing(asked: Asked, best: Scored, topic: Topic, concepts: Sequence[Concept]) -> str:
    """Why the best passage is no answer, in a few words; empty where it is one."""
    return (
        _missing_value(asked, best)
        or missing_names(best, topic, concepts)
        or contrary_said(asked, best)
        or _missing_attribute(asked, best)
        or _missing_deed(asked, best)
        or _missing_unseen(best, topic)
        or _missing_words(best)
    )


def _missing_value(asked: Asked, best: Scored) -> str:
    if asked.value in DECIDING and best.value == 0:
        return f"no passage states {_SPOKEN.get(asked.value, f'a {asked.value}')} for this"
    if asked.value == "name" and not asked.defines and best.value < (0.5 if asked.attributes else 0.3):
        return "no passage gives the name asked for"
    if asked.value == "reason" and best.value < 1.0:
        return "no passage gives a reason for this"
    return ""


def missing_names(best: Scored, topic: Topic, concepts: Sequence[Concept]) -> str:
    """A number, version, tag, name or quoted phrase of the question that nothing near the passage mentions."""
    exact = [term.text for term in topic.terms if term.is_exact and term.text in best.missing]
    named = [concept for concept in concepts if concept.role == "anchor" and concept.protected is None]
    # The last word of a name tells whose it is: Martin alone is not Martin Okafor.
    missing = [one.name for one in named if one.terms and one.terms[-1] in best.missing]
    quoted = [one.name for one in concepts if one.protected == "phrase" and not _is_quoted(one.name, best)]
    found = list(dict.fromkeys((*exact, *missing, *quoted)))
    return f"no passage speaks of {', '.join(found)} in this connection" if found else ""


def _is_quoted(phrase: str, best: Scored) -> bool:
    """Whether the source has the phrase, word for word, in its text or as its title."""
    source = best.passage.source
    said = index_terms(f"{source.title}\n{source.text}", "en")
    return f" {index_terms(phrase, 'en')} " in f" {said} "


def contrary_said(asked: Asked, best: Scored) -> str:
    """Where the passage says the contrary of what is asked, or the question denies what the passage does not."""
    if best.opposed and asked.kind != "yes_no":
        return f"the nearest passage says the contrary of {', '.join(best.opposed)}"
    if asked.kind != "yes_no" and denials_in(asked.text) and not denials_in(best.passage.shown):
        return "no passage denies what the question denies"
    return ""


def _missing_attribute(asked: Asked, best: Scored) -> str:
    words = [word for word in asked.attributes if word in best.missing]
    counted = asked.kind == "how_many" and len(words) == len(asked.attributes)
    if words and (best.coverage < _LEAST_WITHOUT_ATTRIBUTE or counted):
        return f"no passage states the {' '.join(words)}"
    return ""


def _missing_deed(asked: Asked, best: Scored) -> str:
    """What somebody is asked to have done, in a question that says little else: who, or which firm, *owns* the shed."""
    found = _WHO_DID.match(folded_text(asked.text))
    if asked.value == "name" and found and found[1] in best.missing and best.coverage < _LEAST_WITHOUT_DEED:
        return f"no passage says who {found[1]} it"
    return ""


def _missing_unseen(best: Scored, topic: Topic) -> str:
    """A word of the question that the whole corpus does not have, nor anything that means the same.

    With it goes what was asked: a shed that was built says nothing of when it was demolished.
    """
    unseen = [term.text for term in topic.terms if term.is_unseen and term.text in best.missing]
    others = len(topic.terms) - len(best.missing)
    if unseen and (best.coverage < _LEAST_WITHOUT_UNSEEN or others < _LEAST_OTHER_WORDS):
        return f"no passage speaks of {', '.join(unseen)} in this connection"
    return ""


def _missing_words(best: Scored) -> str:
    if best.coverage >= LEAST_COVERAGE and best.own >= LEAST_OWN:
        return ""
    return f"the nearest passages do not mention {', '.join(best.missing) or 'this'}"
