"""Words a claim puts in quotation marks: they must stand in the cited text to the letter. Pure.

White space, case at the beginning and the shape of the marks do not count, nor does the full stop that a sentence puts
inside them. Single quoted words ("so-called") are names or irony and are not taken for quotations.

Example:
    claim:   The keeper wrote that "the lamp burned all night".
    passage: The keeper wrote: the lamp burned all night, and nobody slept.
    verdict: supported

Example:
    claim:   The keeper wrote that "the lamp burned the whole night".
    passage: The keeper wrote: the lamp burned all night, and nobody slept.
    verdict: unsupported
    reason:  not word for word in the quote: “the lamp burned the whole night”
"""

from __future__ import annotations

import re

from citewell.text.folding import folded_text

_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{2,2000})[\"”“»]")
_SPACE = re.compile(r"\s+")
_LEAST_WORDS = 3
_ELLIPSIS = re.compile(r"\s*(?:\[?…\]?|\[?\.\.\.\]?)\s*")


def unquoted(said: str, quoted: str) -> str:
    """The first quotation of the claim that the quotes do not have, or nothing."""
    if '"' not in said and "“" not in said and "«" not in said and "„" not in said:
        return ""
    told = _plain(quoted)
    for match in _QUOTED.finditer(said[:20_000]):
        words = match[1].strip().rstrip(".,;:!?")
        if len(words.split()) < _LEAST_WORDS:
            continue
        if not all(_plain(part) in told for part in _ELLIPSIS.split(words) if part):
            return match[1].strip()
    return ""


def _plain(text: str) -> str:
    return _SPACE.sub(" ", folded_text(text).replace("“", '"').replace("”", '"')).strip()
