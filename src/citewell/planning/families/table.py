"""The families in the order in which they are tried. The first that recognises a question has it."""

from __future__ import annotations

from citewell.planning.families.comparison import COMPARISON
from citewell.planning.families.corrective import CORRECTIVE
from citewell.planning.families.exact_title import EXACT_TITLE
from citewell.planning.families.family import Family
from citewell.planning.families.media import MEDIA
from citewell.planning.families.overview import OVERVIEW
from citewell.planning.families.person import PERSON
from citewell.planning.families.project import PROJECT
from citewell.planning.families.selection import SELECTION
from citewell.planning.families.timeline import TIMELINE

FAMILIES: tuple[Family, ...] = (
    CORRECTIVE,
    EXACT_TITLE,
    COMPARISON,
    TIMELINE,
    SELECTION,
    MEDIA,
    OVERVIEW,
    PROJECT,
    PERSON,
)

# What belongs to none of them: no cleanup, no rules of its own.
GENERAL = Family(
    name="general",
    title="General",
    asks="Everything else.",
    patterns=(),
    examples=("How deep below the surface do the kelp longlines sit?",),
)
