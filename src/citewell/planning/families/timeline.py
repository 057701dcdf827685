"""Timeline: how something went over time. The subject is searched for by itself and with each year that is named."""

# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)

from __future__ import annotations

from citewell.planning.families.family import Family, VariantRule, patterns, words

TIMELINE = Family(
    name="timeline",
    title="Timeline or history",
    asks="What happened in which order, or how something changed over time.",
    patterns=patterns(
        r"\b(?:timeline|chronology|history|evolution|story\s+so\s+far)\s+(?:of|for|behind)\s+(?P<topic>.+?)[\s?.!]*$",
        r"^(?P<topic>[^?]{2,80}?)\s+(?:timeline|chronology|history)[\s?.!]*$",
        r"^how\s+(?:has|have|did|does|do)\s+(?P<topic>.+?)\s+(?:change|evolve|develop|grow|go)[ds]?\s+"
        r"(?:over\s+(?:time|the\s+years|the\s+last)|since|from|between|through)\b",
        r"^what\s+(?:has\s+|have\s+)?(?:happened|changed)\s+(?:(?:to|with|at|in|on|about)\s+(?P<topic>.+?)\s+)?"
        r"(?:between\s+\D{0,20}\d{4}\s+and|since|from\s+\D{0,20}\d{4}\s+(?:to|until|through)|over\s+the\s+years)",
        r"^(?P<topic>.{2,100}?)\s+(?:over\s+time|over\s+the\s+years|year\s+by\s+year|through\s+the\s+years)[\s?.!]*$",
        r"\b(?:sequence|order)\s+of\s+events\s+(?:of|in|at|around|during|leading\s+(?:up\s+)?to)\s+(?P<topic>.+?)[\s?.!]*$",
        r"\b(?:geschichte|chronik|zeitleiste)\s+(?:von|der|des|vom)\s+(?P<topic>.+?)[\s?.!]*$",
        r"\b(?:histoire|chronologie)\s+(?:de\s+la|de\s+l['’]|de|du|des)\s*(?P<topic>.+?)[\s?.!]*$",
        r"\b(?:historia|cronología)\s+(?:de\s+la|del|de\s+los|de)\s+(?P<topic>.+?)[\s?.!]*$",
    ),
    unless=patterns(r"\b(?:browser|browsing|shell|command|git|search|chat|medical|credit)\s+history\b"),
    cleanup=words(
        """timeline chronology history evolution story sequence order events event happened happen changed change changes
        evolve evolved develop developed time years year through geschichte chronik zeitleiste histoire chronologie
        historia cronología"""
    ),
    optional=("year",),
    variants=(VariantRule("dated", "{topic} {year}", 0.85), VariantRule("topic", "{topic}", 0.85)),
    examples=(
        "timeline of the Orrin Head Light",
        "How has the member tariff changed over the years?",
        "What happened to the turbine between 2023 and 2025?",
        "history of the kelp farm",
        "Geschichte des Leuchtturms",
    ),
)
