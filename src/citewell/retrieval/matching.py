"""Where the words of a query stand in a text: word by word, Unicode-aware, with exact spans."""

from __future__ import annotations

from collections.abc import Sequence

from citewell.domain.queries import LexicalQuery, Term
from citewell.domain.values import dataclass
from citewell.text.words import compound_forms, compounds, find_words


@dataclass(frozen=True, slots=True)
class Match:
    """One word of the text that one term of the query asked for."""

    term: str
    start: int
    end: int


def find_matches(text: str, query: LexicalQuery, language: str | None) -> list[Match]:
    """Every place where a term of the query stands in the text, in order."""
    wanted = _by_form(query.terms)
    found = [Match(wanted[word.form], word.start, word.end) for word in find_words(text, wanted, language)]
    if any(not form.isalnum() for form in wanted):
        for compound in compounds(text):
            for form in compound_forms(compound.form):
                if form in wanted:
                    found.append(Match(wanted[form], compound.start, compound.end))
                    break
    return sorted(found, key=lambda match: (match.start, match.end))


def _by_form(terms: Sequence[Term]) -> dict[str, str]:
    return {form: term.text for term in terms for form in term.forms}
