"""`citewell demo`: the sample corpus in a data folder of its own, and three questions answered from it."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from citewell.cli.answers import print_answer
from citewell.cli.console import note, print_json, print_text, style
from citewell.cli.options import json_option
from citewell.cli.progress import execute
from citewell.engine import Citewell
from citewell.evals.suite import sample_corpus
from citewell.runs.reports import DemoReport
from citewell.runs.run import RunResult

QUESTIONS = (
    "When was the Orrin Head Light first lit?",
    "Why did Big Maggie's gearbox break down in February 2025?",
    "What colour is the cottage's front door?",
)


@click.command(short_help="Try it on a bundled sample corpus.")
@json_option
@click.pass_context
def demo(ctx: click.Context, as_json: bool) -> None:
    """Index the bundled sample corpus and answer three questions from it, one of them rightly refused.

    It needs no model, no key and no network. The sample lives in a data folder of its own (--data-dir, else a temporary
    one), so your own corpus is never touched.

    \b
    Examples:
      citewell demo
      citewell --data-dir ~/sample demo
    """
    with _data_dir(ctx.find_root().obj) as folder:
        engine = Citewell(folder, surface="cli")
        try:
            _show(engine, as_json=as_json)
        finally:
            engine.close()


@contextmanager
def _data_dir(chosen: Path | None) -> Iterator[Path]:
    if chosen is not None:
        yield chosen
        return
    with tempfile.TemporaryDirectory(prefix="citewell-demo-") as folder:
        yield Path(folder)


def _show(engine: Citewell, *, as_json: bool) -> None:
    report = engine.corpus.add(sample_corpus(), collection="skelday")
    note(
        f"Indexed one person's notes, saved pages and PDFs: {report.documents} documents in {report.chunks} chunks,"
        f" {report.seconds:.1f} s; {report.skipped} files left out, each with its reason."
    )
    answers: list[RunResult] = []
    for question in QUESTIONS:
        result = execute(engine, engine.start(question), quiet=True)
        answers.append(result)
        if not as_json:
            print_answer(result, asked=True)
            print_text()
    if as_json:
        print_json(DemoReport(report.documents, report.chunks, tuple(answers)))
        return
    program = _program()
    print_text(style("Now with your own notes:", "bold"))
    print_text(f"  {program} add ~/path/to/your/notes")
    print_text(f'  {program} research "a question about something you saved"')
    print_text(f'  {program} search "words you remember"')
    print_text()
    print_text(style("And in a browser, with every sentence beside its passage and every run kept:", "bold"))
    print_text(f"  {program} serve        then open the address that it prints")


def _program() -> str:
    """How this program is called from here: by name where the shell finds it, else by its path."""
    return "citewell" if shutil.which("citewell") else os.path.relpath(Path(sys.executable).parent / "citewell")
