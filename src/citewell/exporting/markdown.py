"""A run as a note: front matter, the answer with its marks, and the sources as wikilinks with their quotes. Pure.

Everything that came from a document or a model is escaped, so that it shows as it is written: no image is fetched, no
link is live and no line becomes a heading when the note is opened.
"""

from __future__ import annotations

import json

from citewell.domain.answers import Citation
from citewell.exporting.exported import Exportable
from citewell.recording.markdown import code, escape, wikilink


def to_markdown(run: Exportable) -> str:
    result = run.result
    parts = [
        _front_matter(run),
        f"# {escape(result.question)}",
        "\n\n".join(_answer(run)) or "No answer was given.",
    ]
    if result.contradictions:
        lines = [f"- {escape(one.about)}: {escape(' / '.join(one.values))}" for one in result.contradictions]
        parts.append("## Sources disagree\n\n" + "\n".join(lines))
    if result.citations:
        parts.append("## Sources\n\n" + "\n".join(_source(citation) for citation in result.citations))
    return "\n\n".join(parts) + "\n"


def _front_matter(run: Exportable) -> str:
    """YAML; a JSON string is one too, whatever stands in it."""
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
    lines = [f"{name}: {json.dumps(value, ensure_ascii=True)}" for name, value in fields.items()]
    return "---\n" + "\n".join(lines) + "\n---"


def _answer(run: Exportable) -> list[str]:
    parts: list[str] = []
    for sentence in run.result.sentences:
        if sentence.kind == "heading":
            parts.append(f"## {escape(sentence.text)}")
            continue
        marks = "".join(f" \\[{n}\\]" for n in sentence.citations)
        flag = " *(not supported by its source)*" if sentence.verdict == "unsupported" else ""
        parts.append(f"{escape(sentence.text)}{marks}{flag}")
    return parts


def _source(citation: Citation) -> str:
    places = [
        wikilink(citation.note_path) if citation.note_path else "",
        escape(citation.url) if citation.url else "",
        f"p. {citation.page}" if citation.page is not None else "",
        code(citation.source_key),
    ]
    where = " · ".join(place for place in places if place)
    quoted = [f"   > {escape(line)}".rstrip() for line in citation.quote.splitlines() if line.strip()]
    return "\n".join([f"{citation.n}. {escape(citation.title)} · {where}", *quoted])
