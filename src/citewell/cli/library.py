"""Commands about the corpus: add, status, collections, remove, stats, doctor."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event

import click

from citewell.cli.console import note, one_line, print_json, print_pairs, print_table, print_text, style
from citewell.cli.options import engine, json_option
from citewell.cli.progress import sync_bar
from citewell.engine import Citewell
from citewell.errors import BadInput, CitewellError
from citewell.search.lanes import EncodeProgress, EncodeReport
from citewell.store.port import AddReport, CollectionInfo, CorpusStatus, FileRecord, SummaryReport
from citewell.text.documents import SOURCE_TYPES, SourceType

# `citewell embed`: the vectors of the semantic lane, with progress; Ctrl-C loses nothing that was stored.


STOPPED = 130  # the exit code of work that was interrupted


@click.command(short_help="Prepare search by meaning.")
@json_option
@click.pass_context
def embed(ctx: click.Context, as_json: bool) -> None:
    """Make the vectors that search by meaning needs, on this machine; run it again to go on where it stopped.

    'citewell add' does this itself for up to CITEWELL_ENCODE_MINUTES, unless CITEWELL_EMBEDDINGS is off. Passages
    without a vector are found by their words.

    \b
    Examples:
      citewell embed
      citewell search "cars" --mode semantic
    """
    with engine(ctx) as opened:
        report = encode(opened)
    if as_json:
        print_json(report)
        return
    print_text(
        f"{report.encoded:,} passages encoded in {report.seconds:.1f} s, {report.left:,} of {report.chunks:,} left."
    )


def encode(opened: Citewell, most_seconds: float | None = None) -> EncodeReport:
    """Encode what is left, with a bar on a terminal."""
    with _bar() as show:
        for event in opened.corpus.encode(most_seconds):
            if isinstance(event, EncodeReport):
                return event
            show(event)
    raise AssertionError("encoding ends with its report")


def encode_after_add(opened: Citewell) -> bool:
    """Encode what was added, where the settings ask for it; whether it was left to run to its end.

    What was added is found by its words in any case, so nothing that goes wrong here undoes or fails the `add`.
    """
    if opened.settings.embeddings == "off":
        return True
    try:
        left = encode(opened, opened.settings.encode_minutes * 60).left
        if left:
            note(f"{left:,} passages are not encoded yet and found by their words. 'citewell embed' goes on.")
    except KeyboardInterrupt:
        left = opened.corpus.vectors_left()
        note(f"Stopped encoding: {left:,} passages left, found by their words meanwhile. 'citewell embed' goes on.")
        return False
    except CitewellError as error:
        note(f"Not encoded, so found by words only. {error.message} {error.fix}")
    return True


@contextmanager
def _bar() -> Iterator[Callable[[EncodeProgress], None]]:
    if not sys.stderr.isatty():
        yield lambda event: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
        TextColumn("left"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("Encoding", total=None, rate="")

        def show(event: EncodeProgress) -> None:
            seconds = progress.tasks[0].elapsed or 0.0
            rate = f"{event.done / seconds:,.0f} passages/s" if event.done and seconds else ""
            progress.update(task, total=event.total, completed=event.done, rate=rate)

        yield show


_SHOWN_PROBLEMS = 10
_EMPTY = "Nothing has been added yet. Add a folder or file: citewell add ~/path/to/your/notes"


@click.command(short_help="Index a folder or file.")
@click.argument("paths", nargs=-1, required=True)
@click.option("--collection", metavar="NAME", help="Name of the collection (default: the folder's name).")
@click.option("--source-type", type=click.Choice(SOURCE_TYPES), help="What these documents are, whatever their kind.")
@click.option(
    "--exclude",
    "excludes",
    multiple=True,
    metavar="GLOB|tag:NAME",
    help="Leave out files, folders or tags; remembered.",
)
@click.option("--watch", is_flag=True, help="Stay and follow the folder until Ctrl-C.")
@click.option("--no-vectors", is_flag=True, help="Return once the words are indexed; 'citewell embed' does the rest.")
@click.option("--verbose", "-v", is_flag=True, help="Name each file on stderr once it is safely stored.")
@json_option
@click.pass_context
def add(
    ctx: click.Context,
    paths: tuple[str, ...],
    collection: str | None,
    source_type: SourceType | None,
    excludes: tuple[str, ...],
    watch: bool,
    no_vectors: bool,
    verbose: bool,
    as_json: bool,
) -> int:
    """Index notes, saved pages, PDFs and text; run it again to bring the corpus up to date.

    Unchanged files cost next to nothing, deleted ones are forgotten, renamed ones keep their key. Your files are only
    read, never changed. Everything is found by its words at once; then passages are encoded, so that they are found by
    their meaning too. Ctrl-C loses nothing.

    \b
    Examples:
      citewell add ~/vault
      citewell add ~/vault --exclude 'Templates/*' --exclude '*.pdf' --exclude tag:private
      citewell add paper.pdf page.html
      citewell add ~/vault --watch
    """
    if watch:
        _follow(ctx, paths, collection, source_type, excludes, as_json=as_json, no_vectors=no_vectors)
        return 0
    with engine(ctx) as opened:
        reports = [_add_one(opened, _path(path), collection, source_type, excludes, verbose=verbose) for path in paths]
        report = _merge(reports)
        if as_json:
            print_json(report)
        else:
            _print_report(report)
        is_whole = no_vectors or encode_after_add(opened)
    return 0 if is_whole else STOPPED


def _follow(
    ctx: click.Context,
    paths: tuple[str, ...],
    collection: str | None,
    source_type: SourceType | None,
    excludes: tuple[str, ...],
    *,
    as_json: bool,
    no_vectors: bool,
) -> None:
    """Report each change as it comes; with --json one document, when it ends."""
    if len(paths) != 1:
        raise BadInput("--watch follows one path at a time.", fix="Run it once for each folder.")
    reports: list[AddReport] = []
    with engine(ctx) as opened:
        events = opened.corpus.watch(
            _path(paths[0]), Event(), collection=collection, source_type=source_type, excludes=excludes
        )
        try:
            for event in events:
                if isinstance(event, AddReport):
                    reports.append(event)
                    note(_changes(event))
                    if not no_vectors and not encode_after_add(opened):
                        break
        except KeyboardInterrupt:
            note("Stopped following.")
    if as_json and reports:
        print_json(_merge(reports))


def _path(path: str) -> Path:
    if not path.strip():
        raise BadInput("The path is empty.", fix="Name a folder or file, for example: citewell add ~/notes")
    if "\0" in path:
        raise BadInput("The path has a NUL character in it.", fix="Check how the path was made.")
    return Path(path)


def _add_one(
    opened: Citewell,
    path: Path,
    collection: str | None,
    source_type: SourceType | None,
    excludes: tuple[str, ...],
    *,
    verbose: bool,
) -> AddReport:
    with sync_bar(f"Adding {path.name or path}") as bar:
        for event in opened.corpus.sync(path, collection=collection, source_type=source_type, excludes=excludes):
            if isinstance(event, AddReport):
                return event
            bar.show(event)
            if verbose:
                for name in event.committed:
                    note(f"stored {one_line(name, 4_000)}")
    raise AssertionError("a sync ends with its report")


def _merge(reports: list[AddReport]) -> AddReport:
    """One report for all the paths of a command."""
    merged = reports[0]
    for report in reports[1:]:
        counts = {
            name: getattr(merged, name) + getattr(report, name)
            for name in ("indexed", "updated", "renamed", "unchanged", "deleted", "skipped", "failed", "bytes")
        }
        merged = replace(
            report,
            **counts,
            seconds=round(merged.seconds + report.seconds, 3),
            collections=tuple(dict.fromkeys((*merged.collections, *report.collections))),
            problems=(*merged.problems, *report.problems),
            excluded=(*merged.excluded, *report.excluded),
        )
    return merged


def _changes(report: AddReport) -> str:
    """What an `add` did, on one line."""
    counts = (
        f"{report.indexed} new, {report.updated} updated, {report.renamed} renamed, {report.unchanged} unchanged, "
        f"{report.deleted} deleted, {report.skipped} skipped, {report.failed} failed"
    )
    return f"{', '.join(report.collections)}: {counts} in {report.seconds:.1f} s"


def _print_report(report: AddReport) -> None:
    print_text(_changes(report))
    print_text(f"The corpus now holds {report.documents} documents in {report.chunks} chunks.")
    for problem in report.problems[:_SHOWN_PROBLEMS]:
        print_text(f"  {one_line(problem.path, 80)}: {one_line(problem.reason, 120)}")
    if len(report.problems) > _SHOWN_PROBLEMS:
        print_text(f"  … and {len(report.problems) - _SHOWN_PROBLEMS} more: citewell status --problems")


@click.command(short_help="What is indexed, and what is not and why.")
@click.option("--problems", is_flag=True, help="Only files that were skipped, failed or read in part, with the reason.")
@click.option("--secrets", is_flag=True, help="Also look for keys, tokens and passwords in what is indexed.")
@json_option
@click.pass_context
def status(ctx: click.Context, problems: bool, secrets: bool, as_json: bool) -> None:
    """Show every file the corpus knows and how it fared, and what rules keep out.

    \b
    Examples:
      citewell status
      citewell status --problems
      citewell status --secrets
      citewell status --json | jq '.files[] | select(.status == "failed")'
    """
    with engine(ctx) as opened:
        found = opened.corpus.status(with_secrets=secrets)
    if problems:
        shown = tuple(file for file in found.files if _is_problem(file))
        found = replace(found, files=shown, excluded=())
    if as_json:
        print_json(found)
        return
    _print_status(found)
    if secrets:
        _print_secrets(found)


def _is_problem(file: FileRecord) -> bool:
    """Left out, or indexed with something to say about it."""
    return file.status in ("skipped", "failed") or (file.status in ("indexed", "updated") and bool(file.reason))


def _print_status(found: CorpusStatus) -> None:
    if not found.documents and not found.files:
        print_text(_EMPTY)
        return
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.by_source_type.items()) or "nothing yet"
    print_text(f"{found.documents} documents in {found.chunks} chunks ({kinds})")
    if found.vectors.model:
        print_text(f"search by meaning sees {found.vectors.encoded:,} of {found.chunks:,} chunks")
    rows = [[file.collection, file.path, file.status, file.reason, _time(file.at)] for file in found.files]
    rows += [[entry.collection, entry.path, "excluded", entry.rule, ""] for entry in found.excluded]
    print_table(("collection", "file", "status", "reason", "at"), rows, "No file has a problem.")


def _time(at: str) -> str:
    return at[:16].replace("T", " ")


def _print_secrets(found: CorpusStatus) -> None:
    if not found.secrets:
        print_text("Nothing that looks like a key, token or password was found.")
        return
    rows = ([entry.collection, entry.path, entry.kind, entry.source_key] for entry in found.secrets)
    print_table(("collection", "file", "looks like", "key"), rows)


@click.command(short_help="List collections.")
@json_option
@click.pass_context
def collections(ctx: click.Context, as_json: bool) -> None:
    """List the folders that were added, with how much each holds.

    \b
    Examples:
      citewell collections
      citewell search "kelp" --collection vault
    """
    with engine(ctx) as opened:
        found = opened.corpus.collections()
    if as_json:
        print_json(found)
        return
    rows = (
        [c.name, c.root, str(c.documents), str(c.files), _time(c.last_sync or "never"), _watched(c)]
        for c in found.collections
    )
    print_table(("collection", "folder", "documents", "files", "last sync", "watched"), rows, _EMPTY)


def _watched(collection: CollectionInfo) -> str:
    """Whether `add --watch` follows it at this moment."""
    if collection.root in collection.watched:
        return "yes"
    return "in part" if collection.watched else "no"


@click.command(short_help="Forget documents.")
@click.argument("names", nargs=-1, required=True, metavar="PATH|KEY...")
@click.option("--purge", is_flag=True, help="Also delete the runs that cite them, with what they quote.")
@json_option
@click.pass_context
def remove(ctx: click.Context, names: tuple[str, ...], purge: bool, as_json: bool) -> None:
    """Forget documents, their stored texts and everything derived from them. Your files stay as they are.

    A file that is still in a collection's folder is indexed again by the next 'citewell add', unless it is excluded.

    \b
    Examples:
      citewell remove ~/old-vault
      citewell remove note:vault/diary/2019-01-01
    """
    with engine(ctx) as opened:
        report = opened.corpus.remove(*names, purge=purge)
    if as_json:
        print_json(report)
        return
    print_text(f"Forgot {report.documents} documents.")
    if report.cited_by_runs:
        what = "were deleted too" if purge else "keep what they quote (--purge deletes them too)"
        print_text(f"{len(report.cited_by_runs)} runs cite them and {what}: {', '.join(report.cited_by_runs[:5])}")
    for name in report.collections:
        print_text(f"The collection {name} is empty now and was forgotten too.")


@click.command(short_help="Count everything.")
@json_option
@click.pass_context
def stats(ctx: click.Context, as_json: bool) -> None:
    """Count documents, chunks, links, tags and languages.

    \b
    Examples:
      citewell stats
      citewell stats --json | jq .documents
    """
    with engine(ctx) as opened:
        found = opened.corpus.stats()
    if as_json:
        print_json(found)
        return
    pairs = [(name, _count(getattr(found, name))) for name in found.__dataclass_fields__]
    print_pairs(pairs)


def _count(value: int | dict[str, int]) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count:,}" for name, count in value.items()) or "none"
    return f"{value:,}"


_MARKS = {
    "ok": ("ok", "green"),
    "warning": ("warning", "yellow"),
    "missing": ("missing", "yellow"),
    "error": ("ERROR", "red"),
}


@click.command(short_help="Check the set-up.")
@json_option
@click.pass_context
def doctor(ctx: click.Context, as_json: bool) -> int:
    """Say what is configured, what works and what is missing, with the fix for each; exit 1 where there is an ERROR.

    \b
    Example:
      citewell doctor
    """
    with engine(ctx) as opened:
        report = opened.doctor()
    code = int(any(check.state == "error" for check in report.checks))
    if as_json:
        print_json(report)
        return code
    print_text(f"citewell {report.version}, data in {report.data_dir}")
    for check in report.checks:
        word, colour = _MARKS[check.state]
        print_text(style(word.rjust(7), colour), f"  {check.name}: {one_line(check.detail)}")
        if check.fix:
            print_text(f"         → {one_line(check.fix)}")
    print_text()
    print_text("Settings (environment, or citewell.toml in the data folder):")
    print_pairs((f"  {view.name}", f"{view.value or '–'}  ({view.source})") for view in report.settings)
    return code


# `citewell summarize`: derived summaries of documents, by their own sentences or by a model; Ctrl-C loses nothing.


_SHOWN_FAILURES = 5


@click.command(short_help="Make summaries of documents.")
@click.argument("keys", nargs=-1, metavar="[KEY...]")
@click.option("--all", "every", is_flag=True, help="Every document that lacks one.")
@click.option("--model", default="", metavar="MODEL", help="A model writes them, such as ollama:NAME.")
@click.option(
    "--max-cost",
    "max_cost_usd",
    type=click.FloatRange(min=0),
    help="Stop before it costs more; a hosted model needs it.",
)
@json_option
@click.pass_context
def summarize(
    ctx: click.Context, keys: tuple[str, ...], every: bool, model: str, max_cost_usd: float | None, as_json: bool
) -> None:
    """Store a summary of each document and of its parts, apart from the text; run it again to go on where it stopped.

    Without a model a summary is made of the text's own sentences. Summaries are derived: 'get --content-mode summary'
    shows them, answers never quote them. With CITEWELL_SUMMARIES=on search looks into them too. A document that
    changes loses its summary.

    \b
    Examples:
      citewell summarize --all
      citewell summarize note:vault/projects/tide-gauge --model ollama:llama3.2
      citewell summarize --all --model openai:NAME --max-cost 0.50
    """
    if bool(keys) == every:
        raise BadInput("Name documents or --all.", fix="For example: citewell summarize --all")
    with engine(ctx) as opened:
        for event in opened.corpus.summarize(*keys, model=model, max_cost_usd=max_cost_usd):
            if isinstance(event, SummaryReport):
                report = event
            elif sys.stderr.isatty():
                click.echo(f"\r{event.done:,} of {event.total:,} documents", nl=False, err=True)
    if sys.stderr.isatty():
        click.echo("", err=True)
    if as_json:
        print_json(report)
        return
    _print_summaries(report)


def _print_summaries(report: SummaryReport) -> None:
    by = f" by {report.model}" if report.model else ""
    cost = f", {report.cost_usd:.4f} USD" if report.model and report.cost_usd is not None else ""
    print_text(f"{report.documents:,} documents summarised{by} in {report.seconds:.1f} s{cost}, {report.left:,} left.")
    if report.stopped == "cost_limit_reached":
        note("Stopped: the next call might cost more than the ceiling allows. Run it again to go on.")
    for key in report.withheld:
        note(f"Not sent, because a key or a password seems to stand in it: {one_line(key, 120)}")
    for key, reason in report.failed[:_SHOWN_FAILURES]:
        note(f"{one_line(key, 120)}: {one_line(reason, 200)}")
    if len(report.failed) > _SHOWN_FAILURES:
        note(f"… and {len(report.failed) - _SHOWN_FAILURES} more without a summary.")
