"""The generated parts of docs/families.md: what each family makes of its examples, planned for real."""

from __future__ import annotations

from citewell.search.conversation import ChatPrompt
from citewell.search.families import FAMILIES, Family
from citewell.search.plan import plan_question
from citewell.search.query import Concept, Limits, QueryPlan
from citewell.store.port import Filters

_CORRECTED = (
    ("What was the 2020 share offer?", "no, I meant the 2019 one"),
    ("When does the ferry leave Kirkhaven?", "not the ferry, the bus"),
    ("How accurate is the Corvid R80?", "sorry, the Scoter instead"),
    ("Who is Ewan Ross?", "I meant Ewan Ross the slater, not the oceanographer"),
)


def table() -> str:
    """A section for each family."""
    return "\n\n".join(_section(family) for family in FAMILIES)


def corrections() -> str:
    lines = ["| before | follow-up | asked | left out |", "|---|---|---|---|"]
    for earlier, current in _CORRECTED:
        plan = _plan(current, earlier)
        lines.append(f"| {earlier} | {current} | {plan.text_query} | {_names(plan.excluded)} |")
    return "\n".join(lines)


def _section(family: Family) -> str:
    earlier = "When does the ferry leave?" if family.name == "corrective" else ""
    rows = ["| example | looked for | also asked as |", "|---|---|---|"]
    for example in family.examples:
        plan = _plan(example, earlier)
        further = [
            f"{one.query} ({one.kind})" for one in plan.query_variants if one.kind not in ("original", "content")
        ]
        cells = (example, _names(plan.required), "; ".join(further) or "–")
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    rules = [f"Required as a whole: {', '.join(family.required)}."] if family.required else []
    if family.sources:
        kinds = dict.fromkeys(kind for found in family.sources.values() for kind in found)
        rules.append(f"Points to: {', '.join(f'`{kind}`' for kind in kinds)}.")
    if family.cleanup:
        rules.append(f"No search terms: {', '.join(sorted(family.cleanup)[:12])} and the like.")
    intro = f"## {family.title} (`{family.name}`)\n\n{family.asks} {' '.join(rules)}".rstrip()
    return f"{intro}\n\n" + "\n".join(rows)


def _plan(question: str, earlier: str) -> QueryPlan:
    return plan_question(ChatPrompt(question, (earlier,) if earlier else ()), Filters(), Limits(8, 700, False, 2))


def _names(concepts: tuple[Concept, ...]) -> str:
    return ", ".join(one.name for one in concepts) or "–"
