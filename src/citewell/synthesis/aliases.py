"""Aliases: other names a document gives to what it is about ("posts as @kelpwife", "formerly Limpet"). Pure.

A note about a person speaks of them by one name; a question may use another. Only names the text itself introduces by
such a turn of phrase count, and they count for every passage of that document.
"""

from __future__ import annotations

import re

_INTRODUCED = re.compile(
    r"""\b(?:(?:better[ ]|also[ ]|formerly[ ])?known[ ]as|a\.?k\.?a\.?|alias(?:es)?|handle|nickname|nicknamed|formerly
      |goes[ ]by|answers[ ]to|(?:posts|commits|signs|writes|publishes|trades|trading)[ ](?:\w+[ ])?as|renamed|called)
      [:]?[ ]["'“‘*_`]{0,3}(@?[\w][\w.-]*)""",
    re.VERBOSE | re.IGNORECASE,
)


def aliases_in(text: str) -> str:
    """The names a text introduces for its subject, separated by spaces."""
    return " ".join(dict.fromkeys(match[1] for match in _INTRODUCED.finditer(text)))
