"""Clauses: the halves of a sentence that each state something of their own. Pure; by punctuation and joining words.

Example:
    claim:   The paper mill beside the river burned down in March, and insurers refused payment.
    passage: The paper mill beside the river burned down in March. For months insurers refused payment.
    verdict: supported

Example:
    claim:   The paper mill beside the river burned down in March, and insurers refused payment.
    passage: The paper mill beside the river burned down in March.
    verdict: partial
    reason:  this part is not in the quote: insurers refused payment
"""

from __future__ import annotations

import re

from citewell.synthesis.checking.tokens import Token, tokens_of

_JOINT = re.compile(r";\s+|,?\s+(?:and|but|while|whereas|although)\s+|\s+[–—]\s+")
_LEAST_CONTENT = 3
_MOST = 6
# A clause has a verb: an auxiliary, or a word that ends like one.
_VERB = re.compile(
    r"\b(?:is|was|are|were|has|had|have|can|could|will|would|may|might|must|does|did|do|became|made|took|won|lost|found|led"
    r"|held|gave|came|went|saw|wrote|built|sold|bought|ran|began|left|grew|rose|fell|kept|met|said|[a-z]{3,}(?:ed|es|s))\b"
)


def clauses_of(text: str) -> list[str]:
    """The clauses of a sentence, two or more, or nothing where it is one statement."""
    parts = [part.strip(" ,.") for part in _JOINT.split(text[:4_000]) if part.strip(" ,.")]
    joined: list[str] = []
    for part in parts:
        if joined and not (_stands_alone(part) and _stands_alone(joined[-1])):
            joined[-1] = f"{joined[-1]} and {part}"
        else:
            joined.append(part)
    return joined if 1 < len(joined) <= _MOST else []


def _stands_alone(part: str) -> bool:
    content: list[Token] = [token for token in tokens_of(part) if token.is_content or token.folded[0].isdigit()]
    return len(content) >= _LEAST_CONTENT and bool(_VERB.search(part))
