"""Overview: everything about an entity or a topic. The topic is searched for by itself; its brief goes along."""

from __future__ import annotations

from citewell.planning.families.family import Family, VariantRule, words

OVERVIEW = Family(
    name="overview",
    title="Entity or topic overview",
    asks="What is known about a thing, without asking for one fact.",
    # How such questions are put is in `planning/overviews.py`, since topic briefs are inferred from the same.
    patterns=(),
    cleanup=words("overview summary summarise summarize brief briefing everything all know known über alles résumé"),
    variants=(VariantRule("topic", "{topic}", 0.9),),
    examples=(
        "What do I know about heat pumps?",
        "Tell me everything about Big Maggie",
        "Give me an overview of the Kirkhaven gauge",
        "Was weiß ich über Wärmepumpen?",
    ),
)
