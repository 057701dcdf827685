"""A small corpus about a lighthouse, and models that write reports about it, for tests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from support.model_script import ModelRequest, Reply, judges, says

NOTES = {
    "Lamp.md": "# Lamp\n\nThe Orrin Head lamp was lit by Josiah Pell on 14 November 1859. It burned colza oil.\n",
    "Oil.md": "# Oil\n\nThe Orrin Head lamp burned 812 gallons of colza oil in 1859. The oil cost 162 pounds a year.\n",
    "Keeper.md": "# Keeper\n\nThe keeper of Orrin Head was paid 60 pounds a year. Josiah Pell kept it until 1871.\n",
    "Copy.md": "# Old copy\n\nThe Orrin Head lamp was lit by Josiah Pell on 14 November 1859. It burned colza oil.\n",
}
QUESTION = "Who lit the Orrin Head lamp, and how much oil did the Orrin Head lamp burn?"
GOOD = """## Summary
Josiah Pell lit the Orrin Head lamp on 14 November 1859 {lit by}.
## Claims
- fact: The Orrin Head lamp burned 812 gallons of colza oil in 1859 {812 gallons}.
- comparison: The oil cost 162 pounds a year {162 pounds}.
## Open questions
- The evidence does not say who built the tower.
"""


def mark(prompt: str, words: str) -> str:
    """The mark of the passage that has these words, as the prompt shows it."""
    found = re.search(rf"^(⟦\d+\.\d+⟧) .*{re.escape(words)}", prompt, re.MULTILINE)
    assert found, f"{words!r} is not in the prompt:\n{prompt}"
    return found[1]


def marked(draft: str, prompt: str) -> str:
    """A draft with `{words}` turned into the marks of the passages that have them."""
    return re.sub(r"\{([^{}]+)\}", lambda found: mark(prompt, found[1]), draft)


def plans(*queries: str) -> str:
    return json.dumps([{"query": query, "why": "a part"} for query in queries])


def scripted(*drafts: str, plan: Reply | str = "", triage: Reply | str = "") -> Callable[[ModelRequest], Reply]:
    """A model that plans, judges sources, and writes these drafts, one a call."""
    left = list(drafts)
    planned = plan or plans("Who lit the Orrin Head lamp?", "How much oil did the Orrin Head lamp burn?")

    def reply(request: ModelRequest) -> Reply:
        if "You plan the research for a report" in request.prompt:
            return planned if isinstance(planned, Reply) else says(planned)
        if "You judge how far web sources" in request.prompt:
            return triage if isinstance(triage, Reply) else says(triage or "[]")
        if judged := judges(request):
            return judged
        draft = left.pop(0) if len(left) > 1 else left[0]
        return says(marked(draft, request.prompt))

    return reply
