"""What a model is asked to write, and how its report is read: a summary, claims with their types, open questions. Pure.

## Summary
The lines were seeded late [1.2].
## Claims
- fact: Line 3 was lost in March [2.1].
- recommendation: Seed in October [4.3].
## Open questions
- What the new lines cost is not in the evidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from citewell.briefs.planning import shown_brief
from citewell.briefs.untrusted import TAG_RESEARCH_SOURCE, UNTRUSTED_DIRECTIVE, wrap_untrusted
from citewell.domain.answers import Draft, DraftSentence, PreparedSynthesis
from citewell.domain.briefs import CLAIM_TYPES, Brief, ClaimType, ReportPlan
from citewell.domain.chat import ChatMessage, ChatRequest
from citewell.synthesis.drafting import read_answer
from citewell.synthesis.shown_evidence import inert, render_source

SUMMARY, CLAIMS, OPEN = "Summary", "Findings", "Open questions"
REPORT_PROMPT = "report.v1"
_RULES = f"""You write a report for a brief from numbered evidence.

- Say only what the evidence says. Bring in no knowledge of your own, not even to explain.
- End every sentence with the mark of the passage it rests on, such as [2.3]; two marks where it needs two: [1.2] [4.1].
  Use only marks that stand in the evidence.
- Keep numbers, dates, names and negations exactly as they stand.
- Where sources disagree, give both sides with their marks and say which is newer.
- Write these sections, each with its heading on a line of its own:
## Summary
Two to five sentences that answer the brief.
## Claims
One claim a line, each one sentence, beginning with `- fact:`, `- analysis:`, `- comparison:` or `- recommendation:`.
Cover every sub-query the evidence speaks of.
## Open questions
What the brief asks and the evidence does not say, one plain sentence a line, without marks. Left out if there is none.
- Do not write addresses, links, keys or a list of sources: the engine adds them.
- {UNTRUSTED_DIRECTIVE}"""
_HEADING = re.compile(r"^\s{0,3}(?:#{1,6}\s*|\*\*)(?P<name>[^*#\n]{1,60}?)\W*$", re.MULTILINE)
_TYPED = re.compile(
    rf"^(?P<lead>\s*(?:[-*+•]|\d{{1,2}}[.)])?\s*)\**(?P<type>{'|'.join(CLAIM_TYPES)})\**\s*[:–-]\s*\**", re.I
)
_SECTIONS = (
    ("open", OPEN),
    ("gap", OPEN),
    ("unanswered", OPEN),
    ("claim", CLAIMS),
    ("finding", CLAIMS),
    ("key", CLAIMS),
)


@dataclass(frozen=True, slots=True)
class ReportDraft:
    """A model's report as a draft, and the type of each claim by its text."""

    draft: Draft
    types: dict[str, ClaimType]


def report_request(
    brief: Brief, plan: ReportPlan, prepared: PreparedSynthesis, model: str, max_output_tokens: int, seconds: float,
    *, hosted: bool,
) -> ChatRequest:  # fmt: skip
    """Ask for the report: the rules, the brief, what was looked into, the evidence."""
    looked = "\n".join(f"- {inert(one.query)}" for one in plan.sub_queries)
    evidence = "\n".join(
        wrap_untrusted(TAG_RESEARCH_SOURCE, render_source(source, withhold_secrets=hosted).strip())
        for source in prepared.sources
    )
    asked = f"{shown_brief(brief)}\n\nSub-queries:\n{looked}\n\nEvidence:\n\n{evidence}"
    messages = (ChatMessage("system", _RULES), ChatMessage("user", asked))
    return ChatRequest("write", model, messages, max_output_tokens, seconds)


def read_report(reply: str, prepared: PreparedSynthesis, *, is_repair: bool, is_cut: bool) -> ReportDraft:
    """The draft in a reply; what keeps it from being a report is named in its `problems`."""
    types: dict[str, ClaimType] = {}
    sentences: list[DraftSentence] = []
    bad: list[str] = []
    lines = [(name, line) for name, body in _sections(reply) for line in _lines(name, body)]
    for number, (name, line) in enumerate(lines, start=1):
        typed = _TYPED.match(line)
        read = read_answer(_TYPED.sub(r"\g<lead>", line), prepared, is_cut=is_cut and number == len(lines))
        is_gap = name == OPEN or read.refused
        said = [_as_gap(one) if is_gap else one for one in read.sentences if one.kind != "heading"]
        if typed is not None:
            kind: ClaimType = next(one for one in CLAIM_TYPES if one == typed["type"].lower())
            types |= {one.text: kind for one in said if one.kind == "claim"}
        if said and not any(one.kind == "heading" and one.text == name for one in sentences):
            sentences.append(DraftSentence(name, "heading"))
        sentences += said
        bad += read.bad_marks
    draft = Draft(
        tuple(sentences),
        refused=False,
        repair=is_repair,
        written_by="model",
        bad_marks=tuple(dict.fromkeys(bad)),
        problems=tuple(_problems(sentences, bad, prepared)),
        is_cut=is_cut,
    )
    return ReportDraft(draft, types)


def parts_of(sentences: Sequence[DraftSentence]) -> dict[str, list[DraftSentence]]:
    """The sentences under each heading."""
    parts: dict[str, list[DraftSentence]] = {}
    current = SUMMARY
    for one in sentences:
        if one.kind == "heading":
            current = one.text
        else:
            parts.setdefault(current, []).append(one)
    return parts


def _sections(reply: str) -> list[tuple[str, str]]:
    """What stands under which heading; what stands above the first belongs to the summary."""
    found: dict[str, list[str]] = {SUMMARY: []}
    at, current = 0, SUMMARY
    for heading in _HEADING.finditer(reply):
        found.setdefault(current, []).append(reply[at : heading.start()])
        named = heading["name"].strip().casefold()
        current = next(
            (section for word, section in _SECTIONS if word in named), SUMMARY if "summar" in named else CLAIMS
        )
        at = heading.end()
    found.setdefault(current, []).append(reply[at:])
    return [(name, "\n".join(parts).strip()) for name, parts in found.items() if "".join(parts).strip()]


def _lines(name: str, body: str) -> list[str]:
    """A summary is read as a whole; of claims and open questions each line is one."""
    return [body] if name == SUMMARY else [line for line in body.split("\n") if line.strip()]


def _as_gap(sentence: DraftSentence) -> DraftSentence:
    return replace(sentence, kind="gap", quotes=(), block=None)


def _problems(sentences: Sequence[DraftSentence], bad: Sequence[str], prepared: PreparedSynthesis) -> list[str]:
    parts = parts_of(sentences)
    claims = [one for name, said in parts.items() if name != OPEN for one in said if one.kind == "claim"]
    found: list[str] = []
    if not claims:
        return ["there is no report in the reply"]
    if not any(one.kind == "claim" for one in parts.get(SUMMARY, ())):
        found.append("there is no summary under `## Summary`")
    if not any(one.kind == "claim" for one in parts.get(CLAIMS, ())):
        found.append("there are no claims under `## Claims`")
    if bad:
        listed = ", ".join(dict.fromkeys(bad))
        found.append(f"marks that are not in the evidence: {listed[:200]} (it has [1] to [{len(prepared.sources)}])")
    found += [f"without a mark: {one.text[:160]}" for one in claims if not one.quotes and not one.bad_marks][:6]
    return found
