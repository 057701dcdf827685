"""Options that several commands share, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

import click

from citewell.app import Engine, open_engine
from citewell.domain.documents import SOURCE_TYPES
from citewell.domain.errors import BadInput, CitewellError
from citewell.domain.queries import Filters
from citewell.settings import is_secret, load_settings, unused_settings
from citewell.surfaces.cli.console import note

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")

_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?$")


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
    return Filters(
        source_types=tuple(chosen["source_types"]),
        tags=tuple(chosen["tags"]),
        collections=tuple(chosen["collections"]),
        only=tuple(chosen["only"]),
        since=_date("--since", chosen["since"]),
        until=_date("--until", chosen["until"]),
        exclude_paths=tuple(_given("--not-in", path) for path in chosen["exclude_paths"]),
        exclude_domains=tuple(_given("--not-from", domain) for domain in chosen["exclude_domains"]),
    )


def _given(name: str, value: str) -> str:
    """A path or domain to leave out; a blank one would leave out everything or nothing."""
    if not value.strip().strip("/"):
        raise BadInput(f"{name} is empty.", fix=f"Name what to leave out, for example: {name} Archive")
    return value


def _date(name: str, value: str | None) -> str | None:
    if value is not None and not (_DATE.match(value) and _is_day(value)):
        raise BadInput(f"{name} is '{value}'.", fix="Write a date as 2024, 2024-05 or 2024-05-31.")
    return value


def _is_day(value: str) -> bool:
    """Whether a date that may lack its day or month is in the calendar."""
    try:
        date.fromisoformat(f"{value}-01-01"[:10])
    except ValueError:
        return False
    return True


@contextmanager
def engine(context: click.Context) -> Iterator[Engine]:
    """The engine for one command."""
    data_dir: Path | None = context.find_root().obj
    opened = open_engine(load_settings(data_dir))
    try:
        yield opened
    except CitewellError as error:
        error.message, error.fix = opened.without_secrets(error.message), opened.without_secrets(error.fix)
        raise
    finally:
        opened.close()


def warn_of_unused(opened: Engine) -> None:
    """Say which settings were set for what this version does not do yet; keys may be there for other programs."""
    for name in unused_settings(opened.settings):
        if not is_secret(name):
            note(f"citewell: {name} is set, but nothing uses it yet.")
