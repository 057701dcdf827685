"""Options that several commands share, and what they mean."""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from citewell.ask import FILTERS, HINTS, Ask, default_of, parts_of
from citewell.cli.console import note
from citewell.engine import Citewell
from citewell.errors import CitewellError
from citewell.settings import is_secret, unused_settings
from citewell.store.port import Filters

if TYPE_CHECKING:
    from citewell.policy import Approve, Permission
    from citewell.search.query import Surface

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print exactly one JSON document.")
verbose_option = click.option(
    "--verbose", "-v", is_flag=True, help="Also say how the run went: steps, verdicts, trace."
)


def ask_options(*names: str, **instead: dict[str, Any]) -> Callable[[Command], Command]:
    """The options of a question with these names, as `Ask` declares them, with what a command says otherwise."""

    def with_options(command: Command) -> Command:
        for name in reversed(names):
            command = _option(name, **instead.get(name, {}))(command)
        return command

    return with_options


def _option(name: str, **instead: Any) -> Callable[[Command], Command]:
    kind, said = parts_of(HINTS[name])
    kind, inner = (typing.get_args(kind)[0], True) if typing.get_origin(kind) is tuple else (kind, False)
    kind = parts_of(kind)[0]
    shown = next((one.extra for one in said if one.extra), {})
    flag = shown.get("flag") or f"--{name.replace('_', '-')}"
    made: dict[str, Any] = {"help": next(one.description for one in reversed(said) if one.description)}
    if typing.get_origin(kind) is typing.Literal:
        made["type"] = click.Choice(typing.get_args(kind))
    elif kind is not bool:
        made |= {"type": kind, "metavar": shown.get("metavar") or None}
    if inner:
        made["multiple"] = True
    elif kind is bool and default_of(name) is True:
        made |= {"is_flag": True, "callback": lambda context, parameter, value: not value}
    elif kind is bool:
        flag = f"{flag}/--no-{flag[2:]}"
        made["default"] = None
    elif default_of(name) is not None:
        made |= {"default": default_of(name), "show_default": True}
    return click.option(instead.pop("flag", flag), name, **{**made, **instead})


# What narrows a search before anything is ranked.
filter_options = ask_options(*FILTERS)


def filters_from(chosen: dict[str, Any]) -> Filters:
    """The filters a user chose, checked."""
    return Ask("", **{name: chosen[name] for name in FILTERS}).filters


@contextmanager
def engine(context: click.Context, surface: Surface = "cli") -> Iterator[Citewell]:
    """Citewell for one command, as a Python program has it."""
    data_dir: Path | None = context.find_root().obj
    opened = Citewell(data_dir, surface=surface)
    _log_to_stderr(opened.settings.log_level)
    # A server and an agent's tool have nobody in front of them, anyone who started them.
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


def warn_of_unused(opened: Citewell) -> None:
    """Say which settings were set for what this version does not do yet; keys may be there for other programs."""
    for name in unused_settings(opened.settings):
        if not is_secret(name):
            note(f"citewell: {name} is set, but nothing uses it yet.")
