"""`citewell chat`: a conversation with what was saved. Each question is a recorded run; each may lean on the last ones.

On a terminal answers are shown while they are written, Ctrl-C stops an answer and Ctrl-D leaves. From a pipe each
line is a question or a command, and Ctrl-C stops it all. Nothing but the runs is kept unless it is asked for.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import dataclass, field
from typing import Any

import click

from citewell.domain.errors import BadInput, CitewellError, Interrupted, NotFound
from citewell.domain.events import RunStarted
from citewell.domain.run_reports import ChatReport
from citewell.domain.runs import RunResult
from citewell.domain.transcripts import ChatTranscript
from citewell.engine import Citewell
from citewell.surfaces.cli.answers import print_answer
from citewell.surfaces.cli.chat_commands import COMMANDS, MARK, obey
from citewell.surfaces.cli.chat_state import ChatState, continued
from citewell.surfaces.cli.console import note, one_line, print_json, print_text, style
from citewell.surfaces.cli.execution import Display, Terminated, execute, put_old_runs_away, wants_progress
from citewell.surfaces.cli.live_answer import LiveAnswer
from citewell.surfaces.cli.main import exit_code
from citewell.surfaces.cli.options import (
    ask_options,
    engine,
    filter_options,
    filters_from,
    json_option,
    named_collections,
    verbose_option,
    warn_of_unused,
)
from citewell.surfaces.cli.runs import exit_code_of

PROMPT = "> "


@dataclass(slots=True)
class Chat:
    """A conversation under way."""

    engine: Citewell
    options: dict[str, Any]
    state: ChatState = field(default_factory=ChatState)
    saves_always: bool = False
    is_saved: bool = False
    is_interactive: bool = False
    is_verbose: bool = False
    is_over: bool = False
    results: list[RunResult] = field(default_factory=list)
    code: int = 0

    def take(self, line: str) -> None:
        """Answer a question, or do what a command says; what goes wrong is told, and the next line is taken."""
        try:
            if line.startswith(MARK):
                obey(self, line)
            else:
                self.ask(line)
        except Terminated:
            raise
        except KeyboardInterrupt:
            if not self.is_interactive:
                raise
            note("Stopped.")
        except CitewellError as error:
            if isinstance(error, Interrupted) and not self.is_interactive:
                raise
            self._tell(error)

    def ask(self, question: str) -> None:
        run_id = self.engine.start(question, history=self.state.history, pinned=self.state.pins, **self.options)
        self.state = self.state.asked(question, run_id)
        self._watch(run_id)

    def resume(self) -> None:
        """Go on with the answer that was stopped."""
        run_id = self.state.stopped_run
        if run_id is None:
            raise BadInput("No answer was stopped.", fix="Ask a question.")
        self._watch(run_id, self.engine.runs.resume(run_id))

    def save(self) -> None:
        self.engine.save_transcript(self.state.transcript())

    def _watch(self, run_id: str, after: int = -1) -> None:
        try:
            result = execute(
                self.engine,
                run_id,
                quiet=not wants_progress(),
                verbose=self.is_verbose,
                after=after,
                display=self._display(),
            )
            self.state = self.state.answered(result)
        finally:
            if self.is_saved:
                self.save()
        self.results.append(result)
        self.code = self.code or exit_code_of(result)
        print_answer(result, verbose=self.is_verbose)
        print_text()

    def _display(self) -> Display | None:
        return LiveAnswer() if sys.stdout.isatty() and not self.is_verbose else None

    def _tell(self, error: CitewellError) -> None:
        if isinstance(error, Interrupted):
            note("Stopped. /resume goes on with it.")
            return
        self.code = self.code or exit_code(error)
        note(f"citewell: {self.engine.without_secrets(error.message)}")
        if error.fix:
            note(f"  → {self.engine.without_secrets(error.fix)}")


@click.command(short_help="Ask and follow up, in a conversation.")
@click.argument("question", required=False)
@click.option(
    "--continue",
    "earlier",
    metavar="CONVERSATION|RUN|last",
    help="Go on with an earlier conversation: by its id, or by any of its runs.",
)
@click.option("--save", "saves", is_flag=True, help="Keep the conversation: questions, keys and runs (never indexed).")
@ask_options(
    *("model", "planner", "timeout", "max_cost", "max_tokens", "semantic"),
    timeout={"help": "Deadline of each answer (default 90)."},
    max_cost={"help": "Stop spending at this for each answer."},
    max_tokens={"help": "Stop asking models at so many tokens for each answer."},
)
@verbose_option
@filter_options
@json_option
@click.pass_context
def chat(
    ctx: click.Context,
    /,
    question: str | None,
    earlier: str | None,
    saves: bool,
    verbose: bool,
    as_json: bool,
    **chosen: Any,
) -> int:
    """Ask, read, ask on: a conversation with everything you have saved.

    A follow-up such as "who kept it?" is understood from the questions before it. Every answer is a recorded run with
    its citations, as of 'citewell research'. In the conversation, /help lists what can be done beside asking.

    \b
    Examples:
      citewell chat                                  ask away; Ctrl-C stops an answer, Ctrl-D leaves
      citewell chat "who lit the lamp?" --tag lighthouse
      citewell chat --save                           keep the conversation in chat-transcripts/
      citewell chat --continue last                  go on where you left off
      printf 'who lit the lamp?\\nwho kept it?\\n' | citewell chat
      citewell chat --json < questions.txt | jq '.answers[].answer'

    \b
    A conversation:
      > who lit the lamp?
      The lamp was lit by Josiah Pell on 14 November 1859. [1]
      > /open 1                                      the passage in its document
      > /pin 1                                       keep it among the evidence
      > and where did the oil come from?
      > /export lamp.md
    """
    filters = filters_from(chosen)
    with engine(ctx) as opened:
        named_collections(opened, filters)
        warn_of_unused(opened)
        talk = Chat(opened, chosen, saves_always=saves, is_saved=saves, is_verbose=verbose)
        talk.is_interactive = sys.stdin.isatty() and not as_json
        if earlier is not None:
            talk.state, was_saved = _earlier(opened, earlier)
            talk.is_saved = saves or was_saved
        # One document on stdout: what a person would read goes where progress goes.
        with redirect_stdout(sys.stderr) if as_json else nullcontext():
            _converse(talk, question)
        put_old_runs_away(opened)
    if as_json:
        print_json(ChatReport(talk.state.conversation_id, talk.is_saved, talk.state.turns, tuple(talk.results)))
    return 0 if talk.is_interactive else talk.code


def _converse(talk: Chat, question: str | None) -> None:
    if talk.is_interactive:
        _greet(talk)
    for line in _lines(talk, question):
        if not talk.is_interactive:
            print_text(style(f"{PROMPT}{one_line(line, 300)}", "bold"))
        talk.take(line)
        if talk.is_over:
            return


def _lines(talk: Chat, question: str | None) -> Iterator[str]:
    """What is asked: the question of the command line, then what is typed, or what comes through the pipe."""
    if question is not None:
        yield question
    typed = _typed() if talk.is_interactive else _piped()
    yield from (line.strip() for line in typed if line.strip())


def _typed() -> Iterator[str]:
    _offer_commands()
    while True:
        try:
            yield _read_line()
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            note("Ctrl-D leaves.")


def _read_line() -> str:
    if sys.stdout.isatty():
        return input(PROMPT)
    print(PROMPT, end="", file=sys.stderr, flush=True)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line


def _piped() -> Iterator[str]:
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    yield from sys.stdin


def _offer_commands() -> None:
    """Editing, earlier lines, and commands by Tab, where this Python has them. No line is written to disk."""
    with suppress(ImportError):
        import readline

        def complete(text: str, number: int) -> str | None:
            known = [f"{MARK}{name} " for name in COMMANDS if f"{MARK}{name}".startswith(text)]
            return known[number] if text.startswith(MARK) and number < len(known) else None

        readline.set_completer_delims(" ")
        readline.set_completer(complete)
        readline.parse_and_bind("tab: complete")


def _greet(talk: Chat) -> None:
    documents = talk.engine.corpus.stats().documents
    if not documents:
        print_text("Nothing is saved yet. Add a folder or file first: citewell add ~/path/to/your/notes")
    elif not talk.state.turns:
        count = f"{documents:,} {'document' if documents == 1 else 'documents'}"
        print_text(style(f"{count}. Ask something; /help says what else there is, Ctrl-D leaves.", "dim"))
    for turn in talk.state.turns:
        print_text(style(f"{PROMPT}{one_line(turn.question, 200)}", "dim"))
    if talk.state.last is not None:
        print_answer(talk.state.last, verbose=talk.is_verbose)
        print_text()
    elif talk.state.stopped_run is not None:
        print_text(style("The last answer was stopped; /resume goes on with it.", "dim"))


def _earlier(opened: Citewell, name: str) -> tuple[ChatState, bool]:
    """An earlier conversation, and whether it is a saved one: by its id, or by a run that was part of it."""
    with suppress(NotFound):
        return _continued(opened, opened.transcript(name)), True
    try:
        run_id = opened.runs.find(name)
    except NotFound:
        raise NotFound(
            f"There is no conversation and no run {one_line(name, 80)}.",
            fix="'citewell runs list' has the runs; a saved conversation is named chat-RUN.",
        ) from None
    for transcript in opened.transcripts(200).transcripts:
        if any(turn.run_id == run_id for turn in transcript.turns):
            return _continued(opened, transcript), True
    return _from_run(opened, run_id), False


def _continued(opened: Citewell, transcript: ChatTranscript) -> ChatState:
    last = transcript.turns[-1].run_id if transcript.turns else None
    result: RunResult | None = None
    if last is not None:
        with suppress(NotFound):
            result = opened.runs.show(last).result
    return continued(transcript, result)


def _from_run(opened: Citewell, run_id: str) -> ChatState:
    """A conversation nobody saved: a run's own record says what was asked before it, and what was pinned."""
    view = opened.runs.show(run_id, with_events=True)
    started = next((entry.event for entry in view.events if isinstance(entry.event, RunStarted)), None)
    if started is None:
        raise NotFound(f"The record of run {run_id} does not say what was asked.", fix="Ask the question again.")
    before = started.request.conversation
    state = ChatState(conversation=f"chat-{run_id}").pinned(*before.pinned)
    for prior in before.history:
        state = state.asked(prior.question, None)
    state = state.asked(started.request.question, run_id)
    return state.answered(view.result) if view.result is not None else state
