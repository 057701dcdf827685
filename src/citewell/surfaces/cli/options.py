"""Options that several commands share, and what they mean."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from citewell.domain.documents import SOURCE_TYPES
from citewell.domain.errors import CitewellError, NotFound
from citewell.domain.queries import Filters, checked_filters
from citewell.public import Citewell
from citewell.settings import is_secret, unused_settings
from citewell.surfaces.cli.console import note

if TYPE_CHECKING:
    from citewell.domain.policy import Approve, Permission
    from citewell.domain.runs import Surface

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")


verbose_option = click.option(
    "--verbose", "-v", is_flag=True, help="Also say how the run went: steps, verdicts, trace."
)


def filter_options(command: Command) -> Command:
    """What narrows a search before anything is ranked."""
    for option in (
        click.option("--until", metavar="DATE", help="Only documents dated at or before this day, month or year."),
        click.option("--since", metavar="DATE", help="Only documents dated at or after this day, month or year."),
        click.option(
            "--only", multiple=True, metavar="PATH", help="Only documents at or below this path of a collection."
        ),
        click.option("--not-in", "exclude_paths", multiple=True, metavar="PATH", help="Nothing at or below this path."),
        click.option(
            "--not-from", "exclude_domains", multiple=True, metavar="DOMAIN", help="Nothing saved from this domain."
        ),
        click.option("--collection", "collections", multiple=True, metavar="NAME", help="Only this collection."),
        click.option(
            "--tag", "tags", multiple=True, metavar="TAG", help="Only documents with this tag (or one nested in it)."
        ),
        click.option(
            "--source-type", "source_types", multiple=True, type=click.Choice(SOURCE_TYPES), help="Only this kind."
        ),
    ):
        command = option(command)
    return command


def filters_from(chosen: dict[str, Any]) -> Filters:
    """The filters a user chose, checked."""
    return checked_filters(
        Filters(
            source_types=tuple(chosen["source_types"]),
            tags=tuple(chosen["tags"]),
            collections=tuple(chosen["collections"]),
            only=tuple(chosen["only"]),
            since=chosen["since"],
            until=chosen["until"],
            exclude_paths=tuple(chosen["exclude_paths"]),
            exclude_domains=tuple(chosen["exclude_domains"]),
        )
    )


@contextmanager
def engine(context: click.Context, surface: Surface = "cli") -> Iterator[Citewell]:
    """Citewell for one command, as a Python program has it."""
    data_dir: Path | None = context.find_root().obj
    opened = Citewell(data_dir, surface=surface)
    _log_to_stderr(opened.settings.log_level)
    # A server and an agent's tool have nobody in front of them, whoever started them.
    if context.info_name not in ("serve", "mcp"):
        opened.approve = asked_on_terminal()
    try:
        yield opened
    except CitewellError as error:
        error.message, error.fix = opened.without_secrets(error.message), opened.without_secrets(error.fix)
        raise
    finally:
        opened.close()


def _log_to_stderr(level: str) -> None:
    """Log as far as it is set; only Citewell's own: what libraries log may hold headers."""
    if not level:
        return
    import logging

    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="citewell: %(message)s")
    logging.getLogger("citewell").setLevel(level.upper())


def asked_on_terminal() -> Approve | None:
    """Asks the person at the terminal whether something may be done; None where there is no terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def approve(wanted: Permission) -> bool:
        note(f"citewell: {wanted.action} ({wanted.risk} risk): {wanted.what}")
        try:
            return click.confirm("Go on?", default=False, err=True)
        except click.Abort:
            return False

    return approve


def named_collections(opened: Citewell, filters: Filters) -> Filters:
    """The filters, if every collection they name is there."""
    known = [one.name for one in opened.corpus.collections().collections] if filters.collections else []
    for name in filters.collections:
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, n=1)
            listed = f"There are: {', '.join(known[:8])}." if known else "Add one with 'citewell add FOLDER'."
            raise NotFound(f"There is no collection named {name}.", fix=f"Did you mean {near[0]}?" if near else listed)
    return filters


def warn_of_unused(opened: Citewell) -> None:
    """Say which settings were set for what this version does not do yet; keys may be there for other programs."""
    for name in unused_settings(opened.settings):
        if not is_secret(name):
            note(f"citewell: {name} is set, but nothing uses it yet.")
