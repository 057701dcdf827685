"""What can be typed in a conversation beside questions: `/sources`, `/open 2`, `/pin 1`, `/export talk.md`, …"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from citewell.domain.errors import BadInput, NotFound
from citewell.surfaces.cli.chat_state import ChatState, Source
from citewell.surfaces.cli.console import one_line, print_pairs, print_text, style
from citewell.surfaces.cli.layout import kept_in_place
from citewell.surfaces.cli.passages import AROUND, open_passage
from citewell.surfaces.wire import to_json

if TYPE_CHECKING:
    from citewell.exporting.exported import ExportForm
    from citewell.surfaces.cli.chat import Chat

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


def _print_source(mark: str, source: Source, state: ChatState) -> None:
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


def _resume(chat: Chat, arguments: Sequence[str]) -> None:
    chat.resume()


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
    "resume": ChatCommand("/resume", "go on with the answer that was stopped", _resume),
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
