"""A run as a note: front matter, the answer with its marks, and the sources as wikilinks with their quotes. Pure.

Everything that came from a document or a model is escaped, so that it shows as it is written: no image is fetched, no
link is live and no line becomes a heading when the note is opened.
"""

from __future__ import annotations

import json
from collections.abc import Sequence, Set

from citewell.check.layout import answer_markdown
from citewell.check.verdict import Citation
from citewell.export.formats import Exportable, ExportedFile
from citewell.text.untrusted import code, escape, markdown, wikilink


def to_markdown(run: Exportable) -> str:
    return "\n\n".join((_front_matter(run), *_parts(run))) + "\n"


def conversation_file(conversation_id: str, turns: Sequence[tuple[str, Exportable | None]]) -> ExportedFile:
    """A conversation as one note: each question with its answer and sources, or that it has none to pass on."""
    runs = [run for _, run in turns if run is not None]
    fields: dict[str, object] = {
        "title": " ".join(turns[0][0].split()),
        "created": runs[0].asked_at if runs else "",
        "conversation_id": conversation_id,
        "runs": [run.result.run_id for run in runs],
        "sources": list(dict.fromkeys(one.source_key for run in runs for one in run.result.citations)),
        "tags": ["citewell"],
    }
    parts = [_yaml(fields)]
    for question, run in turns:
        parts += _parts(run) if run is not None else [f"# {escape(question)}", "No answer to pass on."]
    content = "\n\n".join(parts) + "\n"
    return ExportedFile(f"citewell-{conversation_id}.md", "text/markdown", content.encode("utf-8"))


def _parts(run: Exportable) -> list[str]:
    """A question, its answer, and the sources of it."""
    result = run.result
    retracted = {one.citation.source_key for one in run.documents if one.paper is not None and one.paper.is_retracted}
    parts = [
        f"# {escape(result.question)}",
        answer_markdown(result.sentences, markdown) or "No answer was given.",
    ]
    if result.provenance:
        parts.append(f"*{escape(result.provenance)}*")
    if result.contradictions:
        lines = [f"- {escape(one.about)}: {escape(' / '.join(one.values))}" for one in result.contradictions]
        parts.append("## Sources disagree\n\n" + "\n".join(lines))
    if result.citations:
        parts.append("## Sources\n\n" + "\n".join(_source(citation, retracted) for citation in result.citations))
    return parts


def _front_matter(run: Exportable) -> str:
    result = run.result
    fields: dict[str, object] = {
        "title": " ".join(result.question.split()),
        "created": run.asked_at,
        "run_id": result.run_id,
        "answer_status": result.answer_status,
        "model": result.model if result.tool == "extractive" else f"{result.provider}:{result.model}",
        "generator": f"citewell {result.tool_version}",
        "sources": list(dict.fromkeys(citation.source_key for citation in result.citations)),
        "tags": ["citewell"],
    }
    return _yaml(fields)


def _yaml(fields: dict[str, object]) -> str:
    """Front matter; a JSON string is YAML too, whatever stands in it."""
    lines = [f"{name}: {json.dumps(value, ensure_ascii=True)}" for name, value in fields.items()]
    return "---\n" + "\n".join(lines) + "\n---"


def _source(citation: Citation, retracted: Set[str]) -> str:
    places = [
        wikilink(citation.note_path) if citation.note_path else "",
        escape(citation.url) if citation.url else "",
        f"p. {citation.page}" if citation.page is not None else "",
        code(citation.source_key),
        "**retracted**" if citation.source_key in retracted else "",
    ]
    where = " · ".join(place for place in places if place)
    quoted = [f"   > {escape(line)}".rstrip() for line in citation.quote.splitlines() if line.strip()]
    return "\n".join([f"{citation.n}. {escape(citation.title)} · {where}", *quoted])
