"""Aliases: other names a document gives to what it is about ("posts as @kelpwife", "formerly Limpet"). Pure.

A note about a person speaks of them by one name; a question may use another. Only names the text itself introduces by
such a turn of phrase count, and they count for every passage of that document.
"""

from __future__ import annotations

from citewell.corpus.aliases import introduced_names


def aliases_in(text: str) -> str:
    """The names a text introduces for its subject, separated by spaces."""
    return " ".join(dict.fromkeys(introduced_names(text)))
