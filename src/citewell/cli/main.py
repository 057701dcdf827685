"""`citewell`: the program, its global options, and the one place where errors become exit codes."""

from __future__ import annotations

import gc
import importlib
import os
import sys
from pathlib import Path

import click

from citewell.cli.console import note, print_json
from citewell.errors import BadInput, CitewellError, Interrupted, NotFound, Unavailable
from citewell.version import __version__

EXIT_FAILED, EXIT_BAD_INPUT, EXIT_NOT_FOUND, EXIT_UNAVAILABLE, EXIT_CANCELLED = 1, 2, 3, 4, 130


def exit_code(error: CitewellError) -> int:
    """The exit code of an error; scripts rely on it."""
    match error:
        case Interrupted():
            return EXIT_CANCELLED
        case BadInput():
            return EXIT_BAD_INPUT
        case NotFound():
            return EXIT_NOT_FOUND
        case Unavailable():
            return EXIT_UNAVAILABLE
        case _:
            return EXIT_FAILED


# In the order a newcomer needs them: where each stands, and its line of `--help`, which so imports none of them.
_COMMANDS = {
    "add": ("library:add", "Index a folder or file."),
    "status": ("library:status", "What is indexed, and what is not and why."),
    "search": ("find:search", "Find passages."),
    "research": ("research:research", "Answer a question, with citations."),
    "report": ("report:report", "Write a cited report from a brief."),
    "note": ("note:note", "Write what your other notes say into a note."),
    "chat": ("chat:chat", "Ask and follow up, in a conversation."),
    "runs": ("runs:runs", "Recorded runs: show, resume, replay, compare."),
    "get": ("find:get", "Read documents."),
    "related": ("find:related", "What a document is linked with."),
    "topics": ("find:topics", "How a topic is connected."),
    "entities": ("find:entities", "What a name means, and where it is mentioned."),
    "embed": ("library:embed", "Prepare search by meaning."),
    "summarize": ("library:summarize", "Make summaries of documents."),
    "collections": ("library:collections", "List collections."),
    "remove": ("library:remove", "Forget documents."),
    "stats": ("library:stats", "Count everything."),
    "backup": ("archive:backup", "Write everything to one file."),
    "restore": ("archive:restore", "Put a backup in place."),
    "migrate": ("archive:migrate", "Move runs to PostgreSQL, or back."),
    "serve": ("serve:serve", "Serve the page, REST, and MCP over HTTP."),
    "mcp": ("serve:mcp", "Serve agents over MCP."),
    "models": ("models:models", "Judges, readers and rerankers: list, fetch, measure."),
    "doctor": ("library:doctor", "Check the set-up."),
    "demo": ("demo:demo", "Try it on a bundled sample corpus."),
    "eval": ("evals:evals", "Test answers and retrieval with cases of your own."),
    "bench": ("evals:bench", "Measure search on test collections."),
    "bench-verifier": ("models:bench_verifier", "Measure the verifier on labelled pairs."),
    "schema": ("schema:schema", "Print a JSON Schema."),
}


class Commands(click.Group):
    """The commands, found by name; one that is mistyped is told what it may have meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-"):
            import difflib

            near = difflib.get_close_matches(name.lower(), _COMMANDS, n=2, cutoff=0.5)
            hint = f" Did you mean {' or '.join(repr(one) for one in near)}?" if near else ""
            raise click.UsageError(f"No such command {name!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in _COMMANDS.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f"citewell.cli.{module}"), name)
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        return command


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        "Exit codes: 0 done, 1 failed, 2 bad input, 3 not found, 4 unavailable, 130 cancelled. "
        "Your shell completes commands and options after "
        'eval "$(_CITEWELL_COMPLETE=bash_source citewell)" (or zsh_source, fish_source).'
    ),
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the corpus and runs live (else CITEWELL_DATA_DIR, else the platform's data folder).",
)
@click.version_option(__version__, prog_name="citewell")
@click.pass_context
def cli(ctx: click.Context, data_dir: Path | None) -> None:
    """Answers from what you have saved, every passage exact.

    \b
    Start here:
      citewell add ~/notes                      index a folder of notes, pages and PDFs
      citewell search "heat pump noise"         find passages
      citewell research "why is the heat pump loud?"   an answer, every sentence cited
      citewell chat                             ask, follow up, open sources
      citewell get note:notes/heat-pump         read a document
      citewell status --problems                what was not indexed, and why
    """
    ctx.obj = data_dir


def main() -> None:
    """Run the program; every way out has its exit code."""
    # What modules make stays for good: until the command is loaded there is no garbage worth looking for.
    gc.disable()
    # A locale without UTF-8 must not turn a note's text into a crash.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        _drop_output()
        note(f"citewell: the output could not be written: {error.strerror or error}")
        code = code or EXIT_FAILED
    if code == EXIT_CANCELLED:
        # At once: a thread of the interrupted work may still wait for a lock, and exiting would wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def run(arguments: list[str]) -> int:
    """The exit code of one command line."""
    as_json = "--json" in arguments
    try:
        code = cli.main(args=arguments, prog_name="citewell", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except CitewellError as error:
        return _report(error, as_json)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return EXIT_BAD_INPUT
    except click.ClickException as error:
        usage = BadInput(error.format_message(), fix=_usage(error))
        return _report(usage, as_json)
    except (KeyboardInterrupt, click.Abort):
        return _report(Interrupted("Stopped. What was saved before is kept.", fix="Run it again to go on."), as_json)
    except BrokenPipeError:
        # The reader of our output has gone, as in `citewell search … | head`.
        _drop_output()
        return 0
    except OSError as error:
        # Output that cannot be written, as on a full disk; errors of the work itself are typed.
        _drop_output()
        note(f"citewell: the output could not be written: {error.strerror or error}")
        return EXIT_FAILED


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"See '{context.command_path} --help'." if context else "See 'citewell --help'."


def _report(error: CitewellError, as_json: bool) -> int:
    if as_json:
        from citewell.wire import error_document

        print_json(error_document(error))
    note(f"citewell: {error.message}")
    if error.fix:
        note(f"  → {error.fix}")
    return exit_code(error)
