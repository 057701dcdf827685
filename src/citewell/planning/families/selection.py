"""Selection: which model, tool or product to take, and why. Words of praise are no search terms."""

# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)

from __future__ import annotations

from citewell.planning.families.family import Family, VariantRule, patterns, words

_US = r"(?:i|we|you|one|they|people)"
_TAKE = r"(?:use|choose|pick|buy|get|take|try|select|prefer|recommend|install|order|go\s+(?:with|for)|settle\s+on)"

SELECTION = Family(
    name="selection",
    title="Model or tool selection",
    asks="Which of several things to take for a purpose, what else there is, or why one was taken.",
    patterns=patterns(
        rf"^(?:which|what)\s+(?P<topic>.+?)\s+(?:should|would|could|do|did|shall)\s+{_US}\s+{_TAKE}\b(?:\s+(?:for|to)\s+"
        r"(?P<purpose>.+?))?[\s?.!]*$",
        r"\bbest\s+(?P<topic>[\w\s.'’-]{2,60}?)\s+(?:for|to)\s+(?P<purpose>.+?)[\s?.!]*$",
        r"^(?:what(?:['’]s|\s+is|\s+are)|which\s+(?:is|are))\s+the\s+best\s+(?P<topic>.+?)[\s?.!]*$",
        r"\balternatives?\s+(?:to|for)\s+(?P<topic>.+?)[\s?.!]*$",
        rf"^why\s+(?:did|do|have)\s+{_US}\s+(?:{_TAKE}|chosen|picked|selected|settled\s+on|chose)\s+(?P<topic>.+?)"
        r"(?:\s+for\s+(?P<purpose>.+?))?[\s?.!]*$",
        r"^(?:what|which)\s+(?P<topic>.+?)\s+(?:is|are|was|were|works?)\s+(?:good|best|suitable|right|suited|recommended)\s+for\s+"
        r"(?P<purpose>.+?)[\s?.!]*$",
        rf"^should\s+{_US}\s+{_TAKE}\s+(?P<topic>.+?)[\s?.!]*$",
        r"\b(?:recommend(?:ed|ation|ations)?)\s+(?:an?\s+|the\s+|for\s+|any\s+)?(?P<topic>.+?)[\s?.!]*$",
        r"^welche[nrs]?\s+(?P<topic>.+?)\s+(?:soll|sollte|sollten|sollen)\s+(?:ich|wir|man)\b",
        r"^quel(?:le)?s?\s+(?P<topic>.+?)\s+(?:choisir|utiliser|prendre|acheter)\b",
        r"^¿?\s*qué\s+(?P<topic>.+?)\s+(?:elegir|usar|comprar|debería)\b",
    ),
    cleanup=words(
        """best better good recommend recommended recommendation recommendations choose chose chosen choosing pick picked
        picking select selected alternative alternatives suitable suited should would buy prefer welche welcher welches
        quel quelle choisir utiliser qué elegir usar"""
    ),
    variants=(VariantRule("topic", "{topic} {purpose}", 0.9), VariantRule("topic", "{topic}", 0.75)),
    examples=(
        "Which library should we use for the shared logbook?",
        "What is the best battery for islanding?",
        "Why did we pick Driftlog for the shared logbook?",
        "alternatives to Cellhaven",
        "Which lime is suitable for the north gable?",
    ),
)
