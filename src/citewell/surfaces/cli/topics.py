"""Commands about what the corpus speaks of: topics and entities."""

from __future__ import annotations

from typing import Any

import click

from citewell.domain.topics import EntityMap, TopicBrief
from citewell.surfaces.cli.console import note, one_line, print_json, print_text, style
from citewell.surfaces.cli.options import engine, filter_options, filters_from, json_option, named_collections

_SHOWN_ENTITIES = 12
_SHOWN_EDGES = 15


@click.command(short_help="How a topic hangs together.")
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
            filters=named_collections(opened, filters_from(chosen)),
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
        found = opened.corpus.entity_map(name, limit=limit, filters=named_collections(opened, filters_from(chosen)))
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
