"""Selection: which model, tool or product to take, and why. Words of praise are no search terms."""

# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)

from __future__ import annotations

from citewell.planning.families.family import Family, VariantRule, patterns, words
from citewell.planning.families.media import SEEN, SPOKEN

_US = r"(?:i|we|you|one|they|people)"
_TAKE = r"(?:use|choose|pick|buy|get|take|try|select|prefer|recommend|install|order|go\s+(?:with|for)|settle\s+on)"
# Whoever took it: "which laptop did the author buy", "what brand does Steph use".
_SOMEBODY = rf"(?:{_US}|(?:the|my|our|his|her|their)\s+\w+|(?-i:[A-Z])[\w.'’-]+(?:\s+(?-i:[A-Z])[\w.'’-]+)?)"
_TAKES = r"(?:use|choose|pick|buy|take|prefer|recommend|order|apply|wear|rely\s+on|go\s+(?:with|for)|settle\s+on)"
_FITS = r"(?:good|best|suitable|right|suited|recommended|appropriate|ideal|meant|fit)"

SELECTION = Family(
    name="selection",
    title="Model or tool selection",
    asks="Which of several things to take for a purpose or is in use, what else there is, or why one was taken.",
    patterns=patterns(
        rf"^(?:which|what)\s+(?P<topic>.+?)\s+(?:should|would|could|shall)\s+{_US}\s+{_TAKE}\b(?:\s+(?:for|to)\s+"
        r"(?P<purpose>.+?))?[\s?.!]*$",
        rf"^(?:which|what)\s+(?P<topic>.+?)\s+(?:should|would|could|do|does|did|shall|can)\s+{_SOMEBODY}\s+(?:not\s+)?(?P<kept>{_TAKES})\b",
        r"^(?:which|what)\s+(?P<topic>.+?)\s+(?:can|could)(?:['’]t|not)?\s+.{1,20}?\bgo\s+wrong\s+with\b(?:\s+(?:for|to)\s+(?P<purpose>.+?))?[\s?.!]*$",
        rf"^(?:which|what)\s+(?P<topic>.+?)\s+(?:is|are)\s+{_FITS}[\s?.!]*$",
        rf"^(?:which|what)\s+(?:\w+\s+)?(?:can|could|should|do|would)\s+{_US}\s+\w+\s+instead\s+of\s+(?P<topic>.+?)[\s?.!]*$",
        r"\bbest\s+(?P<topic>[\w\s.'’-]{2,60}?)\s+(?:for|to)\s+(?P<purpose>.+?)[\s?.!]*$",
        r"^(?:what(?:['’]s|\s+is|\s+are|\s+was|\s+were)|which\s+(?:is|are|was|were))\s+the\s+best\s+(?P<topic>.+?)[\s?.!]*$",
        r"\balternatives?\s+(?:to|for)\s+(?P<topic>.+?)[\s?.!]*$",
        # Without a question word: "K8s Helm alternatives", "best ocr engine", "Hermes agent model stack".
        r"^(?P<topic>[^?]{2,80}?)\s+alternatives?[\s?.!]*$",
        r"^best\s+(?P<topic>[^?]{2,80}?)[\s?.!]*$",
        r"^(?P<topic>(?:[^\s?]+\s+){0,6}?(?:model|tech|technology|tool|tooling|software|app|editor|desk|my|our)\s+(?:stack|setup|toolchain))[\s?.!]*$",
        rf"^why\s+(?:did|do|have)\s+{_US}\s+(?:{_TAKE}|chosen|picked|selected|settled\s+on|chose)\s+(?P<topic>.+?)"
        r"(?:\s+for\s+(?P<purpose>.+?))?[\s?.!]*$",
        rf"^(?:what|which)\s+(?P<topic>.+?)\s+(?:is|are|was|were|works?)\s+{_FITS}\s+for\s+"
        r"(?P<purpose>.+?)[\s?.!]*$",
        rf"^should\s+{_US}\s+{_TAKE}\s+(?P<topic>.+?)[\s?.!]*$",
        r"\b(?:recc?omm?end(?:ed|ation|ations)?)\s+(?:an?\s+|the\s+|for\s+|any\s+)?(?P<topic>.+?)[\s?.!]*$",
        r"^(?P<topic>[^?]{2,80}?)\s+(?:recc?omm?endations?)[\s?.!]*$",
        r"^welche[nrs]?\s+(?P<topic>.+?)\s+(?:soll|sollte|sollten|sollen)\s+(?:ich|wir|man)\b",
        r"^quel(?:le)?s?\s+(?P<topic>.+?)\s+(?:choisir|utiliser|prendre|acheter)\b",
        r"^¿?\s*qué\s+(?P<topic>.+?)\s+(?:elegir|usar|comprar|debería)\b",
        r"^welche[nrs]?\s+(?P<topic>.+?)\s+(?:eignet|empfiehlt|passt)\b",
    ),
    # What a talk recommends stands in the talk.
    unless=patterns(
        rf"\b(?:in|from|during|at|do|does|did)\s+(?:the|that|this|my|his|her|their|an?)\s+(?:[@\w.'’-]+\s+){{0,3}}?(?:{SPOKEN}|{SEEN})\b",
        r"\b(?:precautions?|steps?|actions?|measures?|care)\s+(?:should|would|could|do|did|shall|can)\b",
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
        "which model should I use for summarising transcripts",
        "K8s Helm alternatives",
        "Hermes agent model stack",
    ),
)
