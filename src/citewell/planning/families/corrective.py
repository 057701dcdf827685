"""Corrective follow-up: the last question again with something put right. What was not meant is left out."""

from __future__ import annotations

from citewell.planning.families.family import Family, VariantRule, words

CORRECTIVE = Family(
    name="corrective",
    title="Corrective follow-up",
    asks="The question before, put right: another thing, another year, not this one but that.",
    # How corrections are put, and what becomes of the question before, is in `planning/corrections.py`.
    patterns=(),
    cleanup=words(
        "meant mean instead actually sorry wrong one ones other rather meinte meine voulais dire quería decir"
    ),
    variants=(VariantRule("correction", "{correction}", 0.6),),
    examples=(
        "no, I meant the 2019 one",
        "not the ferry, the bus",
        "I meant Ewan Ross the slater, not the oceanographer",
        "sorry, the Scoter instead",
        "nein, ich meinte den Bus",
    ),
)
