"""`citewell note`: research for a note, written into its `## Research` section."""

from __future__ import annotations

import click

from citewell.cli.console import note as tell
from citewell.cli.console import print_json, print_text, style
from citewell.cli.egress import agreed_to
from citewell.cli.options import engine, json_option, verbose_option
from citewell.cli.progress import execute, wants_progress
from citewell.errors import BadInput
from citewell.notes.task import PREVIEW_CHARS, NoteDepth, NoteResult


@click.command(short_help="Write what your other notes say into a note.")
@click.argument("path")
@click.option(
    "--depth",
    type=click.Choice(("shallow", "deep")),
    default="shallow",
    show_default=True,
    help="How much is read and written of each topic.",
)
@click.option("--focus", metavar="WORDS", help="Only topics about this.")
@click.option("--max-cost", type=float, metavar="USD", help="Stop spending at this; needs known prices.")
@click.option("--preview", is_flag=True, help="Show what would leave this machine, and ask before anything does.")
@click.option(
    "--claims",
    is_flag=True,
    default=None,
    help="Also ask the web for what the note states and links to, not only for its headings and questions.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change, as a diff, and write nothing.")
@click.option("--undo", is_flag=True, help="Take back what was last written into the note.")
@verbose_option
@json_option
@click.pass_context
def note(
    ctx: click.Context,
    /,
    path: str,
    depth: NoteDepth,
    focus: str | None,
    max_cost: float | None,
    preview: bool,
    claims: bool | None,
    dry_run: bool,
    undo: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Find out what your other notes and sources say of what a note is about, and write it into the note.

    The note gets a section `## Research`, or a new one in its place: findings by topic, each with its source, and where
    a source disagrees with the note. Where CITEWELL_SEARCH names providers, they are asked for its headings and
    questions, and --depth deep reads and quotes what they find. Everything else in the file stays as it is, byte for
    byte, and so does what you write into the section. The note must lie in a folder that was added, where 'citewell
    add' reads it. A backup is kept outside of it.

    \b
    Examples:
      citewell note ~/notes/heat-pump.md --dry-run
      citewell note ~/notes/heat-pump.md --preview
      citewell note ~/notes/heat-pump.md --focus "noise" --depth deep
      citewell note ~/notes/heat-pump.md --undo
    """
    if undo and (dry_run or focus or max_cost is not None or depth != "shallow" or preview or claims):
        raise BadInput("--undo takes back and looks for nothing.", fix="Leave the other options out.")
    with engine(ctx, "note") as opened:
        if undo:
            result = opened.undo_note(path)
        else:
            agreed = opened.preview_note(path, depth=depth, focus=focus, claims=claims) if preview else None
            if agreed is not None and not agreed_to(agreed, as_json):
                return 0
            run_id = opened.start_note(
                path,
                depth=depth,
                focus=focus,
                dry_run=dry_run,
                max_cost=max_cost,
                claims=claims,
                web_queries=agreed.queries if agreed is not None else None,
            )
            execute(opened, run_id, quiet=not wants_progress(), verbose=verbose)
            result = opened.note_result(run_id)
    if as_json:
        print_json(result)
    else:
        _print(result, undone=undo)
    return 0


def _print(result: NoteResult, *, undone: bool) -> None:
    if undone:
        print_text(f"{result.path} is as it was before the last section was written.")
        return
    for one in result.skipped:
        tell(f"left out: {one}")
    if result.diff:
        print_text(result.diff)
    elif result.preview:
        print_text(f"{result.preview} …" if len(result.preview) == PREVIEW_CHARS else result.preview)
    print_text()
    if not result.preview:
        print_text("Nothing that was found speaks of its topics; the note is as it was.")
    elif result.diff is not None:
        print_text("Nothing was written.")
    elif result.changed:
        print_text(style(f"{result.path}: {result.topics_researched} topics researched", "bold"))
        print_text(f"Before: {result.backup} (citewell note PATH --undo goes back)")
    else:
        print_text(f"{result.path} says so already: it is as it was.")
