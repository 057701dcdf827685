"""Commands that read the corpus: search, get, related."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from citewell.cli.console import kept_in_place, note, one_line, print_as_it_is, print_json, print_text, style
from citewell.cli.excerpts import place_of_row, snippet, why
from citewell.cli.options import engine, filter_options, filters_from, json_option
from citewell.errors import NotFound
from citewell.search.entities import EntityMap
from citewell.search.lanes import SemanticReport
from citewell.search.lookup import DocumentEntries, MissingDocument, SearchMode, SearchResult
from citewell.search.rows import EvidenceRow
from citewell.search.topics import TopicBrief
from citewell.text.documents import ContentMode, DocumentView, SectionView, SummaryView

SHOWN_CHARS = 320


@click.command(short_help="Find passages.")
@click.argument("query")
@click.option("--limit", default=8, show_default=True, help="How many documents to show.")
@click.option(
    "--mode",
    type=click.Choice(("lexical", "semantic", "hybrid")),
    help="By words, by meaning or by both (default: as CITEWELL_EMBEDDINGS says; off: by words).",
)
@click.option("--explain", "--verbose", "-v", "explain", is_flag=True, help="Say why each row was found.")
@filter_options
@json_option
@click.pass_context
def search(
    ctx: click.Context, /, query: str, limit: int, mode: SearchMode | None, explain: bool, as_json: bool, **chosen: Any
) -> None:
    """Find the documents that match a query, each with its best passage.

    Words are found in any form and any order; "quoted phrases" count more when they stand together. There are no
    operators to learn: everything you type is searched for.

    \b
    Examples:
      citewell search "tide gauge calibration"
      citewell search "inverter" --source-type pdf --since 2024
      citewell search "kelp" --tag farm/kelp --json
    """
    with engine(ctx) as opened:
        filters = opened.corpus.check_collections(filters_from(chosen))
        found = opened.corpus.search(query, limit=limit, filters=filters, mode=mode)
    for warning in found.warnings:
        note(warning)
    if as_json:
        print_json(found)
        return
    _print_search(found, explain)


def _print_search(found: SearchResult, explain: bool) -> None:
    if not found.results:
        print_text(
            f"Nothing found for “{one_line(found.query, 80)}” (searched for: {', '.join(found.terms) or 'nothing'})."
        )
        return
    for number, row in enumerate(found.results, start=1):
        print_row(number, row, explain)
    count = len(found.results)
    print_text(style(f"{count} {'document' if count == 1 else 'documents'} in {found.took_ms:.0f} ms", "dim"))
    if explain and found.semantic is not None and not found.semantic.problem:
        _print_semantic(found.semantic)


def _print_semantic(report: SemanticReport) -> None:
    """What meaning changed, or would change."""
    would = "changed" if report.use == "on" else "would change (shadow)"
    moves = [f"{move.source_key} {move.before}→{move.after}" for move in report.moved]
    parts = [
        f"{word} {', '.join(keys)}"
        for word, keys in (("in:", report.entered), ("out:", report.left), ("moved:", moves))
        if keys
    ]
    print_text(style(f"meaning {would} {'; '.join(parts) or 'nothing'} (weight {report.weight:.2f})", "dim"))


def print_row(number: int, row: EvidenceRow, explain: bool) -> None:
    """One row of evidence as a person reads it: its title, where it stands, the passage that matched."""
    print_text(f"{number}. ", style(kept_in_place(one_line(row.title, 100)), "bold"))
    facts = (row.source_key, row.url or "", place_of_row(row), f"{row.role}, {row.source_type}" if explain else "")
    print_text(style("  ".join(one_line(fact, 200) for fact in facts if fact), "dim"), indent=3)
    print_text(*snippet(row.text, row.matched_terms, SHOWN_CHARS), indent=3)
    if explain:
        print_text(f"why: {one_line(why(row), 240)}", indent=5)
        for signal in row.signals:
            print_text(f"{signal.value:+.3f} {one_line(f'{signal.name}: {signal.detail}', 240)}", indent=5)
        matched, missing = (", ".join(terms) or "nothing" for terms in (row.matched_terms, row.missing_terms))
        print_text(f"matched {one_line(matched, 240)}; missing {one_line(missing, 240)}", indent=5)
    print_text()


def _pages(sections: Sequence[SectionView]) -> str:
    pages = [section.page for section in sections if section.page]
    if not pages:
        return ""
    return f"p. {pages[0]}" + (f"–{pages[-1]}" if pages[-1] != pages[0] else "")


@click.command(short_help="Read documents.")
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@click.option("--query", metavar="TEXT", help="Show the part that is about this.")
@click.option(
    "--content-mode",
    type=click.Choice(("evidence", "full", "summary")),
    default="evidence",
    show_default=True,
    help="A window, the whole text, or a summary (derived, no quotation).",
)
@click.option("--max-chars", default=4_000, show_default=True, help="Size of a window.")
@json_option
@click.pass_context
def get(
    ctx: click.Context,
    keys: tuple[str, ...],
    query: str | None,
    content_mode: ContentMode,
    max_chars: int,
    as_json: bool,
) -> None:
    """Read documents by key. KEY@CONTENT_HASH reads an earlier text of a document.

    Of several keys, one that nobody has is said in its place, and the others are read.

    \b
    Examples:
      citewell get note:vault/projects/tide-gauge
      citewell get pdf:papers/report --query "page about foundations"
      citewell get note:vault/todo --content-mode full --json
      citewell get note:vault/todo --content-mode summary
    """
    with engine(ctx) as opened:
        if len(keys) == 1:
            (document,) = opened.corpus.get(
                *keys, query=query, content_mode=content_mode, max_chars=max_chars
            ).documents
            found: DocumentView | DocumentEntries = document
        else:
            found = opened.corpus.get_many(*keys, query=query, content_mode=content_mode, max_chars=max_chars)
            _refuse_if_all_missing(found)
    if as_json:
        print_json(found)
        return
    for entry in (found,) if isinstance(found, DocumentView) else found.documents:
        match entry:
            case DocumentView():
                _print_document(entry)
            case MissingDocument():
                note(f"citewell: {entry.error.message}")
                note(f"  → {entry.error.fix}")


def _refuse_if_all_missing(found: DocumentEntries) -> None:
    missing = [entry for entry in found.documents if isinstance(entry, MissingDocument)]
    if len(missing) == len(found.documents):
        named = ", ".join(one_line(entry.lookup, 80) for entry in missing[:3])
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise NotFound(f"None of these has a document: {named}{more}.", fix=missing[0].error.fix)


def _print_document(document: DocumentView) -> None:
    print_text(style(one_line(document.title), "bold"), "  ", style(document.source_key, "cyan"))
    place = document.url or document.note_path
    facts = (document.source_type, document.author, place, _pages(document.sections), document.created)
    print_text(style("  ".join(one_line(fact, 100) for fact in facts if fact), "dim"))
    if document.user_tags:
        print_text(style(" ".join(f"#{tag}" for tag in document.user_tags), "dim"))
    print_text()
    if document.content_mode == "summary":
        _print_summaries(document)
        return
    print_as_it_is(document.text)
    for file in document.attachments:
        what = file.source_key or one_line(file.reason, 120)
        print_text(style(f"[attached: {one_line(file.path, 100)} ({what})]", "dim"))
    if (document.start, document.end) != (0, document.length):
        part = f"characters {document.start}–{document.end} of {document.length}; --content-mode full shows all"
        print_text(style(f"[{part}]", "dim"))
    print_text()


def _print_summaries(document: DocumentView) -> None:
    """Derived text, said to be so: each with what it tells of."""
    for one in document.summaries:
        if one.role == "chunk_summary":
            print_text(style(f"characters {one.start}–{one.end}: ", "dim"), one_line(one.text, 1_000), indent=2)
        else:
            print_text(one.text or "There is nothing to tell of it.")
    kinds = " and ".join(dict.fromkeys(_summary_said(one) for one in document.summaries))
    print_text(style(f"[derived: {kinds}; no quotation. --content-mode full shows the text]", "dim"))
    print_text()


def _summary_said(one: SummaryView) -> str:
    written = f"written by {one.model}" if one.summary_kind == "model" else "sentences of the text"
    return f"{one.role}, {written}"


@click.command(short_help="What a document is linked with.")
@click.argument("key")
@click.option("--limit", default=8, show_default=True, help="How many documents to show.")
@json_option
@click.pass_context
def related(ctx: click.Context, key: str, limit: int, as_json: bool) -> None:
    """Show what a document links to and what links to it, with the passage around the link.

    \b
    Example:
      citewell related note:vault/projects/tide-gauge
    """
    with engine(ctx) as opened:
        found = opened.corpus.related(key, limit=limit)
    if as_json:
        print_json(found)
        return
    if not found.related:
        print_text("No linked documents.")
    for number, row in enumerate(found.related, start=1):
        print_text(style(f"{row.relationship}", "yellow"))
        print_row(number, row, explain=False)
    for file in found.attachments:
        if file.source_key is None:
            print_text(f"Attached: {one_line(file.path, 100)} ({one_line(file.reason, 120)})")
    if found.unresolved:
        print_text(f"Links that lead nowhere: {', '.join(one_line(name, 60) for name in found.unresolved)}")


# Commands about what the corpus speaks of: topics and entities.


_SHOWN_ENTITIES = 12
_SHOWN_EDGES = 15


@click.command(short_help="How a topic is connected.")
@click.argument("topic")
@click.option("--limit", type=int, help="How many documents to start from (default 12, at most 20).")
@click.option("--related-limit", type=int, help="How many linked documents to add (default 8, at most 12).")
@filter_options
@json_option
@click.pass_context
def topics(
    ctx: click.Context, /, topic: str, limit: int | None, related_limit: int | None, as_json: bool, **chosen: Any
) -> None:
    """Map a topic: the documents, tags, people and things around it, and which of them connect the most.

    The summary is derived: sentences of the documents as they stand, each with the key of its document.

    \b
    Examples:
      citewell topics "sugar kelp"
      citewell topics tide-gauge --tag project --json
    """
    with engine(ctx) as opened:
        brief = opened.corpus.topic_brief(
            topic,
            seed_limit=limit,
            related_limit=related_limit,
            filters=opened.corpus.check_collections(filters_from(chosen)),
        )
    if as_json:
        print_json(brief)
        return
    if not brief.nodes:
        note("Nothing in the corpus is about this. Try other words, or 'citewell search'.")
    print_brief(brief)
    labels = {node.id: node.label for node in brief.nodes}
    if brief.edges:
        print_text()
        print_text(style(f"Connections ({len(brief.edges)})", "bold"))
    for edge in brief.edges[:_SHOWN_EDGES]:
        left, right = (one_line(labels.get(end, end), 50) for end in (edge.source, edge.target))
        print_text(f"  {left} ", style(edge.relationship.replace("_", " "), "dim"), f" {right}")
    if len(brief.edges) > _SHOWN_EDGES:
        print_text(style(f"  and {len(brief.edges) - _SHOWN_EDGES} more with --json", "dim"))


def print_brief(brief: TopicBrief) -> None:
    """A brief as a person reads it, without its connections."""
    print_text(style(f"Topic: {one_line(brief.topic, 120)}", "bold"))
    if brief.summary:
        print_text()
        print_text(brief.summary)
    if brief.pivots:
        print_text()
        print_text(style("Pivots", "bold"))
    for pivot in brief.pivots:
        print_text(f"  {one_line(pivot.label, 60)}  ", style(f"{pivot.kind}, {pivot.reason}", "dim"))
    if brief.entities:
        print_text()
        print_text(style("Entities", "bold"))
    for entity in brief.entities[:_SHOWN_ENTITIES]:
        also = ", ".join(one_line(alias.name, 30) for alias in entity.aliases[:4])
        known = f"{entity.kind}, {entity.mentions} mentions in {len(entity.documents)} documents"
        print_text(f"  {one_line(entity.name, 60)}  ", style(known + (f"; also {also}" if also else ""), "dim"))


@click.command(short_help="What a name means, and where it is mentioned.")
@click.argument("name")
@click.option("--limit", type=int, help="How many documents to show (default 20, at most 60).")
@filter_options
@json_option
@click.pass_context
def entities(ctx: click.Context, /, name: str, limit: int | None, as_json: bool, **chosen: Any) -> None:
    """Look up a person, project, product, handle or place: its other names and every document that mentions it.

    Case and accents do not matter, an alias or a handle will do, and so does the key of the document about it. A name
    that means several things lists them.

    \b
    Examples:
      citewell entities "Agnes Tulloch"
      citewell entities @kelpwife --json
    """
    with engine(ctx) as opened:
        found = opened.corpus.entity_map(
            name, limit=limit, filters=opened.corpus.check_collections(filters_from(chosen))
        )
    if as_json:
        print_json(found)
        return
    _print_candidates(found) if found.status == "ambiguous" else _print_map(found)


def _print_candidates(found: EntityMap) -> None:
    print_text(f"{one_line(found.query, 80)!r} may mean any of these; ask with the key of the one you mean:")
    for candidate in found.candidates:
        print_text(
            *("  ", style(one_line(candidate.name, 60), "bold"), "  ", style(candidate.source_key, "cyan"), "  "),
            style(f"{candidate.kind}, by {one_line(candidate.why, 80)}", "dim"),
        )


def _print_map(found: EntityMap) -> None:
    print_text(style(one_line(found.name, 80), "bold"), "  ", style(found.kind, "dim"))
    for alias in found.aliases:
        where = f" in {alias.source_key}" if alias.source_key else ""
        print_text(f"  also {one_line(alias.name, 60)}  ", style(alias.origin.replace("_", " ") + where, "dim"))
    print_text()
    for document in found.documents:
        about = "about it, " if document.is_about else ""
        times = f"{document.count} mention{'' if document.count == 1 else 's'}"
        first = (
            f", first at {document.first.start} as “{one_line(document.written or '', 60)}”" if document.first else ""
        )
        print_text(f"  {one_line(document.title, 70)}  ", style(document.source_key, "cyan"))
        print_text(style(f"    {about}{times}{first}", "dim"))
    if found.cooccurring:
        print_text()
        print_text(style("Mentioned together with", "bold"))
    for other in found.cooccurring:
        print_text(f"  {one_line(other.name, 60)}  ", style(f"{other.kind}, in {other.documents} of these", "dim"))
