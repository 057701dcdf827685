"""Fixed words of the engine around quoted sentences. They claim nothing, so verification leaves them out."""

from __future__ import annotations

OUTDATED = "Earlier note, since corrected: "
NOT_FOUND = "Not found in your corpus: "
LEAD_INS = (OUTDATED,)


def without_lead_in(text: str) -> str:
    """The sentence without the engine's own words before it."""
    for lead_in in LEAD_INS:
        if text.startswith(lead_in):
            return text.removeprefix(lead_in)
    return text
