"""The section as Markdown: findings by topic, what disagrees with the note, notes it does not link to yet. Pure.

Everything that came from a document or a model is escaped (`text/markdown.py`): it shows as it was written,
fetches nothing and makes no heading, tag or comment of its own. Links are the engine's: `[[…]]` that lead where they
say, or Markdown links to the address a source was saved from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from citewell.domain.answers import CheckedSentence, Citation
from citewell.domain.notes import NoteDisagreement, NoteTopic
from citewell.synthesis.markup import readable
from citewell.synthesis.near_duplicates import are_copies, shingles
from citewell.text.markdown import escape

MAX_RELATED = 3
_LONGEST_QUOTE = 400
_LONGEST_HEADING = 80


@dataclass(frozen=True, slots=True)
class TopicFindings:
    """What was found on a topic: sentences that hold, with what they cite; quoted word for word, or told."""

    topic: NoteTopic
    sentences: tuple[CheckedSentence, ...]
    is_quoted: bool


def compose_section(
    findings: Sequence[TopicFindings],
    citations: Sequence[Citation],
    disagreements: Sequence[NoteDisagreement],
    related: Sequence[str],
    links: Mapping[str, str],
    *,
    offered: Mapping[NoteTopic, Sequence[str]] | None = None,
) -> tuple[str, ...]:
    """The lines of the section; none where nothing was found. What is offered was found on the web and not read."""
    cited = {citation.n: citation for citation in citations}
    parts: list[list[str]] = []
    if disagreements:
        parts.append(_disagreeing(disagreements, links))
    said = [shingles(one.quote) for one in disagreements]
    unread: set[str] = set()
    for one in findings:
        fresh = [sentence for sentence in one.sentences if _is_new(sentence.text, said)]
        lines = [_finding(sentence, cited, links, is_quoted=one.is_quoted) for sentence in fresh]
        lines += _offered((offered or {}).get(one.topic, ()), unread)
        if lines:
            parts.append([f"### {escape(_short(one.topic.topic))}", "", *lines])
    told = {one.source_key for one in disagreements}
    named = [f"- {links[key]}" for key in related if key in links and key not in told][:MAX_RELATED]
    if named and parts:
        parts.append(["### Related notes not linked here", "", *named])
    return tuple(line for part in parts for line in (*part, ""))[:-1]


def _is_new(text: str, said: list[frozenset[str]]) -> bool:
    """Whether the section does not say it yet; from then on it does."""
    own = shingles(text)
    if any(are_copies(own, other) for other in said):
        return False
    said.append(own)
    return True


def _short(topic: str) -> str:
    """A topic as a heading: a long sentence ends at a word."""
    if len(topic) <= _LONGEST_HEADING:
        return topic.rstrip(".:;,")
    return topic[:_LONGEST_HEADING].rsplit(" ", 1)[0].rstrip(".:;,") + " …"


def _finding(
    sentence: CheckedSentence, cited: Mapping[int, Citation], links: Mapping[str, str], *, is_quoted: bool
) -> str:
    # A model may copy a line with its bullet and its links; what it says is read without them.
    said = f"“{escape(sentence.text)}”" if is_quoted else escape(readable(sentence.text))
    where = [_where(cited[n], links) for n in sentence.citations if n in cited]
    return f"- {said} — {', '.join(dict.fromkeys(where))}" if where else f"- {said}"


def _offered(found: Sequence[str], told: set[str]) -> list[str]:
    """Links to what nobody has read, said to be that; each stands in the section once."""
    fresh = [link for link in found if link not in told]
    told.update(fresh)
    return [f"- Found on the web, not read: {', '.join(fresh)}"] if fresh else []


def _where(citation: Citation, links: Mapping[str, str]) -> str:
    named = links.get(citation.source_key) or escape(citation.title)
    return f"{named}, p. {citation.page}" if citation.page is not None else named


def _disagreeing(found: Sequence[NoteDisagreement], links: Mapping[str, str]) -> list[str]:
    """A callout, as Obsidian and GitHub both show one."""
    lines = ["> [!WARNING]"]
    for one in found:
        lines += [
            f"> - This note: “{escape(one.stated[:_LONGEST_QUOTE])}”",
            f">   {links.get(one.source_key) or escape(one.source_key)}: “{escape(one.quote[:_LONGEST_QUOTE])}”",
        ]
    return lines
