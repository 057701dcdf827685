"""`citewell chat`: a conversation with what was saved. Each question is a recorded run; each may lean on the last ones.

On a terminal answers are shown while they are written, Ctrl-C stops an answer and Ctrl-D leaves. From a pipe each
line is a question or a command, and Ctrl-C stops it all. Nothing but the runs is kept unless it is asked for.
"""

from __future__ import annotations

import difflib
import re
import shlex
import string
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell.cli.answers import print_answer
from citewell.cli.console import (
    Line,
    StyledText,
    indented,
    kept_in_place,
    note,
    one_line,
    page_width,
    paragraph_lines,
    print_json,
    print_lines,
    print_pairs,
    print_text,
    style,
)
from citewell.cli.main import exit_code
from citewell.cli.models import offer_judge
from citewell.cli.options import (
    ask_options,
    engine,
    filter_options,
    filters_from,
    json_option,
    verbose_option,
    warn_of_unused,
)
from citewell.cli.progress import Terminated, execute, put_old_runs_away, wants_progress
from citewell.cli.runs import exit_code_of
from citewell.engine import Citewell
from citewell.errors import BadInput, CitewellError, Interrupted, NotFound
from citewell.models.endpoints import EXTRACTIVE
from citewell.runs.events import RunStarted
from citewell.runs.reports import ChatReport, ChatTranscript, TranscriptTurn
from citewell.runs.run import RunResult
from citewell.search.conversation import SESSION_TURNS
from citewell.text.documents import DocumentView, Span
from citewell.wire import to_json

if TYPE_CHECKING:
    from citewell.export.formats import ExportForm


# A conversation as the terminal keeps it: what was asked, which run answered, what is pinned. Pure.
#
# A follow-up is understood from the questions before it and from what is pinned; earlier answers are never part of it.
#
#     >>> state = ChatState().asked("Who lit the lamp?", "20260105T101500-0a1b2c3d").pinned("note:notes/lamp")
#     >>> state.history
#     ({'id': 'q1', 'question': 'Who lit the lamp?'},)
#     >>> state.conversation_id, state.pins
#     ('chat-20260105T101500-0a1b2c3d', ('note:notes/lamp',))


MOST_TURNS, MOST_PINS = SESSION_TURNS, 24


@dataclass(frozen=True, slots=True)
class ChatSource:
    """A passage that can be opened or pinned: of a citation, or of a row that was found and not cited."""

    label: str
    source_key: str
    title: str
    where: str
    span: Span
    is_cited: bool


@dataclass(frozen=True, slots=True)
class ChatState:
    """A conversation so far; `last` is what the last question came to, once it has."""

    turns: tuple[TranscriptTurn, ...] = ()
    pins: tuple[str, ...] = ()
    conversation: str = ""
    last: RunResult | None = None

    @property
    def conversation_id(self) -> str:
        """Named after its first run, so that it needs no clock and leads back to the record."""
        return self.conversation or (f"chat-{self.turns[0].run_id}" if self.turns else "")

    @property
    def history(self) -> tuple[dict[str, str], ...]:
        """What the next question is told of the ones before it."""
        return tuple({"id": turn.question_id, "question": turn.question} for turn in self.turns[-MOST_TURNS:])

    @property
    def stopped_run(self) -> str | None:
        """The run of the last question, where it has no answer yet."""
        if self.turns and self.turns[-1].answer_status is None:
            return self.turns[-1].run_id
        return None

    def asked(self, question: str, run_id: str | None) -> ChatState:
        turn = TranscriptTurn(self._next_id(), question, run_id, pinned_keys=self.pins)
        return replace(self, turns=(*self.turns, turn), last=None)

    def answered(self, result: RunResult) -> ChatState:
        """The last question has its answer."""
        cited = tuple(dict.fromkeys(citation.source_key for citation in result.citations))
        turn = replace(self.turns[-1], answer_status=result.answer_status, cited_keys=cited)
        return replace(self, turns=(*self.turns[:-1], turn), last=result)

    def pinned(self, *keys: str) -> ChatState:
        pins = tuple(dict.fromkeys((*self.pins, *keys)))
        if len(pins) > MOST_PINS:
            raise BadInput(
                f"At most {MOST_PINS} documents can be pinned.", fix="Take some out: /unpin KEY, /unpin all."
            )
        return replace(self, pins=pins)

    def unpinned(self, *keys: str) -> ChatState:
        return replace(self, pins=tuple(key for key in self.pins if key not in keys))

    def transcript(self) -> ChatTranscript:
        return ChatTranscript(self.conversation_id, self.turns)

    def sources(self) -> tuple[ChatSource, ...]:
        """The citations of the last answer by their numbers, then what else was found, by letters."""
        if self.last is None:
            return ()
        cited = [
            ChatSource(str(one.n), one.source_key, one.title, one.note_path or one.url or "", one.span, is_cited=True)
            for one in self.last.citations
        ]
        keys = {one.source_key for one in cited}
        rows = [row for row in (self.last.pack.evidence if self.last.pack else ()) if row.source_key not in keys]
        found = [
            ChatSource(label, row.source_key, row.title, row.note_path or row.url or "", row.span, is_cited=False)
            for label, row in zip(string.ascii_lowercase, rows, strict=False)
        ]
        return (*cited, *found)

    def source(self, name: str) -> ChatSource | None:
        """What a number, a letter or a key names among these."""
        wanted = name.strip("[]")
        return next((one for one in self.sources() if wanted in (one.label, one.source_key)), None)

    def _next_id(self) -> str:
        taken = {turn.question_id for turn in self.turns}
        return next(name for number in range(len(self.turns) + 1, 10_000) if (name := f"q{number}") not in taken)


def continued(transcript: ChatTranscript, last: RunResult | None) -> ChatState:
    """A saved conversation, to be gone on with."""
    if not transcript.turns:
        raise NotFound(f"Conversation {transcript.conversation_id} is empty.", fix="Start one with 'citewell chat'.")
    return ChatState(transcript.turns, transcript.turns[-1].pinned_keys, transcript.conversation_id, last)


# A source opened at its passage: the lines around it, the passage marked, and where that is in the file.


AROUND = 6
_MARK, _BESIDE = "> ", "  "


def open_passage(opened: Citewell, source: ChatSource, around: int = AROUND) -> None:
    """Print a document around a passage, as it was when it was cited."""
    lookup = f"{source.source_key}@{source.span.content_hash}"
    (document,) = opened.corpus.get(lookup, content_mode="full").documents
    starts = _line_starts(document.text)
    first, last = _line_at(starts, source.span.start), _line_at(starts, max(source.span.start, source.span.end - 1))
    print_text(style(one_line(document.title, 100), "bold"), "  ", style(_where(document, first), "dim"))
    page = next((one.page for one in document.sections if one.start <= source.span.start < one.end and one.page), None)
    if page is not None:
        print_text(style(f"p. {page}", "dim"))
    print_text()
    begin, end = max(0, first - around), min(len(starts), last + around + 1)
    if begin:
        print_text(style(f"… {_count(begin, 'line')} before", "dim"))
    for number in range(begin, end):
        print_lines(_shown(document, starts, number, source))
    if end < len(starts):
        print_text(style(f"… {_count(len(starts) - end, 'line')} after: /open {source.label} {around * 4}", "dim"))


def _count(count: int, what: str) -> str:
    return f"{count:,} {what if count == 1 else f'{what}s'}"


def _shown(document: DocumentView, starts: list[int], number: int, source: ChatSource) -> list[Line]:
    """One line of the text, wrapped; what of it belongs to the passage is marked and bold."""
    start = starts[number]
    end = starts[number + 1] if number + 1 < len(starts) else len(document.text)
    text = document.text[start:end].rstrip("\n")
    from_, to = (min(max(at - start, 0), len(text)) for at in (source.span.start, source.span.end))
    pieces = [StyledText(text[:from_]), StyledText(text[from_:to], "bold"), StyledText(text[to:])]
    mark = _MARK if from_ < to else _BESIDE
    return indented(paragraph_lines(pieces, page_width() - len(mark)), mark, mark)


def _line_starts(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text.rstrip("\n")))]


def _line_at(starts: list[int], offset: int) -> int:
    return bisect_right(starts, offset) - 1


def _where(document: DocumentView, line: int) -> str:
    """The file and, where its text is the file itself, the line: as editors take it."""
    named = one_line(document.note_path or document.url or document.source_key, 200)
    is_file = bool(document.note_path) and named.lower().endswith((".md", ".markdown", ".txt"))
    return f"{named}:{line + 1}" if is_file else named


# What can be typed in a conversation beside questions: `/sources`, `/open 2`, `/pin 1`, `/export talk.md`, …


MARK = "/"
_OF_THE_ANSWER: dict[str, ExportForm] = {".docx": "docx", ".pdf": "pdf", ".bib": "bibtex", ".ris": "ris"}


@dataclass(frozen=True, slots=True)
class ChatCommand:
    """One command: how it is typed, what it does."""

    usage: str
    about: str
    do: Callable[[Chat, Sequence[str]], None]


def obey(chat: Chat, line: str) -> None:
    """Do what a line that begins with a slash says."""
    try:
        name, *arguments = shlex.split(line[len(MARK) :])
    except ValueError:
        name, *arguments = line[len(MARK) :].split() or [""]
    command = COMMANDS.get({"exit": "quit", "q": "quit", "?": "help"}.get(name, name))
    if command is None:
        near = difflib.get_close_matches(name, COMMANDS, n=1)
        meant = f"Did you mean /{near[0]}?" if near else "/help lists what there is."
        raise BadInput(f"There is no command /{one_line(name, 40)}.", fix=meant)
    command.do(chat, arguments)


def _help(chat: Chat, arguments: Sequence[str]) -> None:
    print_text("Whatever does not begin with a slash is a question; it may lean on the ones before it.")
    print_pairs((command.usage, command.about) for command in COMMANDS.values())
    print_text("Ctrl-C stops an answer, Ctrl-D leaves.")


def _sources(chat: Chat, arguments: Sequence[str]) -> None:
    sources = chat.state.sources()
    if not sources:
        print_text("There are no sources yet: ask something first.")
        return
    cited, found = ([one for one in sources if one.is_cited is kind] for kind in (True, False))
    for key in dict.fromkeys(one.source_key for one in cited):
        same = [one for one in cited if one.source_key == key]
        _print_source("".join(f"[{one.label}]" for one in same), same[0], chat.state)
    if found:
        print_text("Found too, and not cited:" if cited else "Found, and not cited:")
    for one in found:
        _print_source(f"{one.label}.", one, chat.state)


def _print_source(mark: str, source: ChatSource, state: ChatState) -> None:
    pin = "  (pinned)" if source.source_key in state.pins else ""
    title = kept_in_place(one_line(source.title, 100))
    where = f"  {one_line(source.where or source.source_key, 200)}{pin}"
    print_text(style(mark, "cyan"), " ", style(title, "bold"), style(where, "dim"))


def _open(chat: Chat, arguments: Sequence[str]) -> None:
    if not arguments or len(arguments) > 2 or (len(arguments) == 2 and not arguments[1].isdecimal()):
        raise BadInput("Say which source to open.", fix="/open 1, /open a, or /open 1 40 for more lines around it.")
    source = chat.state.source(arguments[0])
    if source is None:
        raise NotFound(f"There is no source {one_line(arguments[0], 80)}.", fix="/sources lists them.")
    open_passage(chat.engine, source, int(arguments[1]) if len(arguments) == 2 else AROUND)


def _pin(chat: Chat, arguments: Sequence[str]) -> None:
    if arguments:
        chat.state = chat.state.pinned(*(_key(chat, name) for name in arguments))
    _print_pins(chat.state)


def _key(chat: Chat, name: str) -> str:
    """The key of a source, or of any document that is named by its key."""
    source = chat.state.source(name)
    if source is not None:
        return source.source_key
    if name.strip("[]").isdecimal() or len(name) == 1:
        raise NotFound(f"There is no source {name}.", fix="/sources lists them; a document can be named by its key.")
    (document,) = chat.engine.corpus.get(name, content_mode="summary").documents
    return document.source_key


def _unpin(chat: Chat, arguments: Sequence[str]) -> None:
    if not arguments:
        raise BadInput("Say what to take out.", fix="/unpin 1, /unpin KEY, or /unpin all.")
    named = chat.state.pins if "all" in arguments else [_pinned_key(chat.state, name) for name in arguments]
    chat.state = chat.state.unpinned(*named)
    _print_pins(chat.state)


def _pinned_key(state: ChatState, name: str) -> str:
    source = state.source(name)
    key = source.source_key if source is not None else name
    if key not in state.pins:
        raise NotFound(f"{one_line(name, 80)} is not pinned.", fix="/pin lists what is.")
    return key


def _print_pins(state: ChatState) -> None:
    print_text("Among the evidence of every question from here on:" if state.pins else "Nothing is pinned.")
    for key in state.pins:
        print_text(style(one_line(key, 200), "cyan"), indent=2)


def _history(chat: Chat, arguments: Sequence[str]) -> None:
    if not chat.state.turns:
        print_text("Nothing was asked yet.")
    for turn in chat.state.turns:
        status = (turn.answer_status or "stopped").replace("_", " ")
        run = f"  {status}  {turn.run_id}" if turn.run_id else ""
        print_text(f"{turn.question_id}  {one_line(turn.question, 200)}", style(run, "dim"))


def _new(chat: Chat, arguments: Sequence[str]) -> None:
    chat.state, chat.is_saved = ChatState(), chat.is_saved and chat.saves_always
    print_text("A new conversation: nothing of the one before is used.")


def _save(chat: Chat, arguments: Sequence[str]) -> None:
    chat.is_saved = True
    if chat.state.turns:
        chat.save()
        print_text(f"Saved as {chat.state.conversation_id}, and after each question from here on.")
    else:
        print_text("The conversation will be saved after each question.")


def _export(chat: Chat, arguments: Sequence[str]) -> None:
    if len(arguments) > 1:
        raise BadInput("One file at a time.", fix="/export talk.md; a name with spaces goes in quotes.")
    if not chat.state.turns:
        raise BadInput("There is nothing to export yet.", fix="Ask something first.")
    target = Path(arguments[0] if arguments else f"{chat.state.conversation_id}.md").expanduser()
    content = _exported(chat, target.suffix.lower())
    try:
        with target.open("xb") as file:
            file.write(content)
    except FileExistsError:
        raise BadInput(f"{target} is there already.", fix="Choose another name: /export talk-2.md") from None
    except OSError as error:
        raise BadInput(f"{target} cannot be written: {error.strerror}.", fix="Choose another place.") from None
    print_text(f"Wrote {target} ({len(content):,} bytes).")


def _exported(chat: Chat, suffix: str) -> bytes:
    """The whole conversation as Markdown or as a transcript; the last answer in the other forms."""
    runs = chat.engine.runs
    if suffix == ".md":
        asked = [(turn.question, turn.run_id or "") for turn in chat.state.turns]
        return runs.exported_conversation(chat.state.conversation_id, asked).content
    if suffix == ".json":
        return to_json(chat.state.transcript()) + b"\n"
    last = chat.state.turns[-1].run_id or ""
    if suffix == ".zip":
        return runs.archive(last)
    if suffix == ".html":
        return runs.share_page(last).encode("utf-8")
    if suffix not in _OF_THE_ANSWER:
        raise BadInput(
            f"There is no form {suffix or 'without an ending'} to export to.",
            fix="The conversation: .md, .json. The last answer: .docx, .pdf, .html, .bib, .ris, .zip.",
        )
    return runs.exported(last, _OF_THE_ANSWER[suffix]).content


def _quit(chat: Chat, arguments: Sequence[str]) -> None:
    chat.is_over = True


COMMANDS = {
    "sources": ChatCommand("/sources", "what the last answer cites [1], and what else was found (a, b, …)", _sources),
    "open": ChatCommand("/open 1 [LINES]", "a source at its passage, as it was when it was cited", _open),
    "pin": ChatCommand("/pin 1 a KEY", "have these documents among the evidence from here on; alone: list them", _pin),
    "unpin": ChatCommand("/unpin 1|KEY|all", "take them out again", _unpin),
    "history": ChatCommand("/history", "the questions so far, and their runs", _history),
    "resume": ChatCommand("/resume", "go on with the answer that was stopped", lambda chat, _: chat.resume()),
    "new": ChatCommand("/new", "forget what was asked and pinned, and begin anew", _new),
    "save": ChatCommand("/save", "keep this conversation: its questions, keys and runs, never the answers", _save),
    "export": ChatCommand(
        "/export FILE",
        "the conversation as .md or .json, or the last answer as .docx .pdf .html .bib .ris .zip",
        _export,
    ),
    "help": ChatCommand("/help", "this list", _help),
    "quit": ChatCommand("/quit", "leave", _quit),
}


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
        options = dict(self.options)
        # In a conversation the model that writes plans too.
        if options.get("planner") is None and (options.get("model") or self.engine.settings.model) != EXTRACTIVE:
            options["planner"] = True
        run_id = self.engine.start(question, history=self.state.history, pinned=self.state.pins, **options)
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
            )
            self.state = self.state.answered(result)
        finally:
            if self.is_saved:
                self.save()
        self.results.append(result)
        self.code = self.code or exit_code_of(result)
        print_answer(result, verbose=self.is_verbose)
        print_text()
        if self.is_interactive:
            offer_judge(self.engine.settings, result)

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
    with engine(ctx) as opened:
        opened.corpus.check_collections(filters_from(chosen))
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
        print_text(
            style(
                f"{_count(documents, 'document')}. Ask something; /help says what else there is, Ctrl-D leaves.", "dim"
            )
        )
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
