"""The vault around a note: what it embeds, what it links to, how another document is linked from it, and its file.

Only what `citewell add` reads is ever read or written, whatever a run says: no file outside of the folders that were
added, and none in them that the rules of its walk leave out.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import posixpath
from collections.abc import Iterator, Sequence
from pathlib import Path

from citewell.errors import BadInput, Conflict, NotFound
from citewell.ingest.walk import path_rules, rule_against
from citewell.notes.file import NotePlace, NoteRewriter, check_name, read_note
from citewell.notes.section import (
    NoteFormat,
    SectionContent,
    SectionPlacement,
    format_of,
    own_lines,
    place_section,
    without_section,
)
from citewell.notes.task import MAX_NOTE_CHARS, NoteChange, NoteLink, NoteTask, NoteText
from citewell.readers.markdown import markdown_document
from citewell.store.links import LinkTarget, choose_target, fold_name, lookup_name
from citewell.store.port import CorpusStore
from citewell.text.canonical import canonicalize
from citewell.text.documents import Document, Link, ReadDocument
from citewell.text.sentences import properties_of
from citewell.text.untrusted import escape, web_link, wikilink
from citewell.text.urls import canonical_url

MAX_DIFF_CHARS = 200_000
_EMBEDDED = ("vault_note", "text", "apple_note")
_EMBED_DEPTH = 3
# Files that are named for their place, and not for what is in them.
_NAMELESS = ("readme", "index", "_index")


class NoteVault:
    """Notes of the folders that were added."""

    def __init__(self, corpus: CorpusStore, rewriter: NoteRewriter, private: tuple[Path, ...] = ()) -> None:
        self._corpus = corpus
        self._rewriter = rewriter
        # Folders of our own, which nobody's notes are in.
        self._private = private

    def place(self, path: str, base: Path | None = None) -> NotePlace:
        """Where a note stands, by its path on the disk (from `base`, if given) or below one of the added folders."""
        found = self._places(path, base)
        there = found if len(found) == 1 else [place for place in found if os.path.lexists(place.whole)]
        if len(there) > 1:
            raise Conflict(f"Several folders have a {path}.", fix="Name the note by its whole path.")
        if there and os.path.lexists(there[0].whole):
            self._check_is_added(there[0])
            return there[0]
        if not found and os.path.lexists(os.path.join(base or Path("/"), os.path.expanduser(path))):
            raise BadInput(
                f"{path} does not lie in a folder that was added, so nothing is written into it.",
                fix="Add its folder first: citewell add FOLDER",
            )
        raise NotFound(f"There is no note at {path}.", fix="Check the path; 'citewell collections' lists the folders.")

    def known_place(self, path: str) -> NotePlace:
        """Where a note stands that somebody else names: one that is in the corpus, and still there.

        What is missing, outside, excluded or removed gets one answer: it says nothing of what else is on the disk.
        """
        known = [
            place
            for place in self._places(path, None)
            if self._rule_against(place) is None and self._corpus.keys_under(place.whole)
        ]
        if len(known) > 1:
            raise Conflict(f"Several folders have a {path}.", fix="Name the note by its whole path.")
        if not known or not os.path.lexists(known[0].whole):
            raise NotFound(
                "No note of the corpus has that path.",
                fix="Name a note by its path in a folder that was added; a new one is known after 'citewell add'.",
            )
        return known[0]

    def _places(self, path: str, base: Path | None) -> list[NotePlace]:
        """Where a path may lead: below the folder it names, or else below any folder that was added."""
        if not path or "\0" in path:
            raise BadInput("No note is named.", fix="Name a note by its path.")
        check_name(path)
        roots = [info.root for info in self._corpus.collections()]
        wanted = os.path.expanduser(path)
        if base is not None or os.path.isabs(wanted):
            found = _below(os.path.abspath(os.path.join(base or Path("/"), wanted)), roots)
            if found is not None:
                return [found]
        clean = posixpath.normpath(wanted.replace(os.sep, "/"))
        if os.path.isabs(wanted) or clean.startswith("../") or clean == "..":
            return []
        # A folder in another one may be a collection of its own.
        homes = [_below(os.path.join(root, *clean.split("/")), roots) or NotePlace(root, clean) for root in roots]
        return list(dict.fromkeys(homes))

    def _rule_against(self, place: NotePlace) -> str | None:
        """The rule by which `add` leaves this file out."""
        excludes = next((info.excludes for info in self._corpus.collections() if info.root == place.root), ())
        foreign = (*map(Path, self._corpus.roots_below(place.root)), *self._private)
        return rule_against(Path(place.root), place.path, path_rules(excludes), foreign)

    def _check_is_added(self, place: NotePlace) -> None:
        if rule := self._rule_against(place):
            raise BadInput(
                f"{place.path} is left out by 'citewell add' ({rule}), so nothing is written into it.",
                fix="Name a note that is in the corpus.",
            )

    def read(self, task: NoteTask) -> NoteText:
        """The note, without our section and with what it embeds; raises NotFound or BadInput."""
        place = self._checked(task)
        file = read_note(place)
        own = without_section(file.text, _format(place))
        text = canonicalize(own.removeprefix("\ufeff"))
        if not text.strip():
            raise BadInput(f"{task.path} is empty: there is nothing to research.", fix="Write something first.")
        read = markdown_document(text) if _format(place) == "markdown" else ReadDocument(text, None, ())
        keys = self._corpus.keys_under(place.whole)
        title = _title(read, posixpath.splitext(place.name)[0])
        linked = (self._resolved(link, task) for link in read.links if link.kind != "url")
        return NoteText(
            title=" ".join(title.split())[:300],
            text=read.text,
            expanded=self._expanded(read, task, frozenset(keys))[:MAX_NOTE_CHARS],
            basis=_basis(file.text, _format(place)),
            source_key=keys[0] if keys else None,
            linked_keys=tuple(dict.fromkeys(one.source_key for one in linked if one is not None)),
        )

    def link(self, task: NoteTask, keys: Sequence[str]) -> tuple[NoteLink, ...]:
        """How these documents are named in the note: every `[[link]]` leads to its document, as Obsidian reads it."""
        found = (self._corpus.find(key) for key in keys)
        return tuple(NoteLink(one.source_key, self._named(one, task)) for one in found if one is not None)

    def write(self, task: NoteTask, lines: Sequence[str], run_id: str, basis: str) -> NoteChange:
        """Put the section into the note, or say what that would change; raises Conflict where the note is another."""
        place = self._checked(task)
        written = SectionContent(tuple(lines), run_id, task.day)

        def change(text: str) -> str:
            return self._placed(text, place, written, basis).text

        if task.dry_run:
            before = read_note(place).text
            after = change(before)
            return NoteChange(before != after, _diff(before, after, task.path))
        done = self._rewriter.rewrite(place, change)
        return NoteChange(done.changed, _diff(done.before, done.after, task.path), done.backup)

    def _placed(self, text: str, place: NotePlace, written: SectionContent, basis: str) -> SectionPlacement:
        form = _format(place)
        if _basis(text, form) != basis:
            raise Conflict(f"{place.path} was changed meanwhile; it is left as it is.", fix="Try again.")
        return place_section(text, form, written)

    def undo(self, place: NotePlace) -> NoteChange:
        """Take back what was last written into a note."""
        done = self._rewriter.undo(place)
        return NoteChange(done.changed, _diff(done.before, done.after, place.path), done.backup)

    def _checked(self, task: NoteTask) -> NotePlace:
        if task.root not in {info.root for info in self._corpus.collections()}:
            raise BadInput("The note does not lie in a folder that was added.", fix="Add its folder first.")
        place = NotePlace(task.root, task.path)
        self._check_is_added(place)
        return place

    def _collection(self, task: NoteTask) -> str:
        return next(info.name for info in self._corpus.collections() if info.root == task.root)

    # Links

    def _resolved(self, link: Link, task: NoteTask) -> Document | None:
        """The document that a link of the note leads to."""
        name = lookup_name(link)
        return self._chosen(link.target, name, task) if name else None

    def _chosen(self, target: str, name: str, task: NoteTask) -> Document | None:
        called = self._called(name, task)
        candidates = [_candidate(number, found, one) for number, (found, one) in enumerate(called)]
        chosen = choose_target(target, task.path, candidates)
        return called[chosen.document_id][1] if chosen is not None and chosen.document_id is not None else None

    def _called(self, name: str, task: NoteTask) -> list[tuple[str, Document]]:
        """The documents of the note's own vault that answer to a name."""
        collection = self._collection(task)
        return [(found, one) for found, one in self._corpus.documents_called([name]) if one.collection == collection]

    def _named(self, document: Document, task: NoteTask) -> str:
        if document.note_path and document.collection == self._collection(task):
            for target in _spellings(document.note_path):
                if self._leads_to(target, document, task):
                    return _wikilink(target, _shown_as(document)) or escape(document.title)
        if document.url and canonical_url(document.url):
            return web_link(document.title, document.url)
        return escape(document.title)

    def _leads_to(self, target: str, document: Document, task: NoteTask) -> bool:
        """Whether a link means this document and could mean no other: programs differ in which of two they choose."""
        name = lookup_name(Link("wikilink", target, 0, 0))
        whole = target == next(reversed([*_spellings(document.note_path or "")]))
        fitting = {
            one.source_key
            for found, one in self._called(name, task)
            if choose_target(target, task.path, [_candidate(0, found, one)]) is not None
        }
        chosen = self._chosen(target, name, task)
        return chosen is not None and chosen.source_key == document.source_key and (whole or len(fitting) == 1)

    # Embeds

    def _expanded(self, read: ReadDocument, task: NoteTask, seen: frozenset[str], depth: int = 0) -> str:
        """The text with what it embeds in the place of each embed; a note embedded in itself stays a link.

        Obsidian shows an embedded note as a block of its own: it goes on from no sentence.
        """
        parts: list[str] = []
        at = 0
        for link in read.links:
            if link.kind != "embed" or depth >= _EMBED_DEPTH or sum(map(len, parts)) > MAX_NOTE_CHARS:
                continue
            document = self._resolved(link, task)
            if document is None or document.source_key in seen or document.source_type not in _EMBEDDED:
                continue
            text = self._corpus.slice(document.content_hash, 0, document.length)
            inner = markdown_document(_part(text, link))
            embedded = self._expanded(inner, task, seen | {document.source_key}, depth + 1)
            parts += [read.text[at : link.start], f"\n\n{embedded.strip()}\n\n"]
            at = link.end
        return "".join((*parts, read.text[at:]))


class RunNotes:
    """The vault as one run reaches it: what it writes bears its name."""

    def __init__(self, vault: NoteVault, run_id: str | None) -> None:
        self._vault = vault
        self._run_id = run_id or "unrecorded"

    def read(self, task: NoteTask) -> NoteText:
        return self._vault.read(task)

    def link(self, task: NoteTask, keys: Sequence[str]) -> tuple[NoteLink, ...]:
        return self._vault.link(task, keys)

    def write(self, task: NoteTask, lines: Sequence[str], basis: str) -> NoteChange:
        return self._vault.write(task, lines, self._run_id, basis)


def _below(path: str, roots: Sequence[str]) -> NotePlace | None:
    """The note at this path, if one of its folders is a root; links above the root are nobody's concern."""
    known = {os.path.realpath(root): root for root in roots}
    steps = [step for step in path.split(os.sep) if step]
    for count in range(len(steps) - 1, 0, -1):
        root = known.get(os.path.realpath(os.sep + os.sep.join(steps[:count])))
        # A link inside of a root that leads to that root again is no way to a note.
        if root is not None and not _is_inside(os.sep + os.sep.join(steps[:count]), root):
            return NotePlace(root, "/".join(steps[count:]))
    return None


def _is_inside(path: str, root: str) -> bool:
    """Whether a path that leads to a root is itself written as one below it."""
    return path != root and path.startswith(root + os.sep)


def _candidate(number: int, name: str, document: Document) -> LinkTarget:
    path = document.note_path or ""
    return LinkTarget(number, path, fold_name(posixpath.basename(path)) not in _names(name))


def _names(name: str) -> tuple[str, ...]:
    return name, f"{name}.md", f"{name}.markdown"


def _spellings(path: str) -> Iterator[str]:
    """How a note can be named in a link, the shortest first: its name, then with its folders."""
    bare = path.removesuffix(".md").removesuffix(".markdown")
    steps = bare.split("/")
    for count in range(1, len(steps) + 1):
        yield "/".join(steps[-count:])


def _shown_as(document: Document) -> str:
    """What a note is called where its file's name does not say it: there are many README.md."""
    folder, name = posixpath.split(document.note_path or "")
    stem = posixpath.splitext(name)[0]
    if document.title != stem:
        return document.title
    named = document.aliases[-1] if document.aliases else stem
    return named if named != stem or stem.casefold() not in _NAMELESS else posixpath.basename(folder) or stem


def _title(read: ReadDocument, stem: str) -> str:
    """What a note is called: a heading further down is that of a part of it."""
    _, body = properties_of(read.text)
    opens = read.text[body:].lstrip()
    is_first = opens.startswith("#") or (read.heading is not None and opens.startswith(read.heading))
    if read.title or (read.heading and (is_first or stem.casefold() in _NAMELESS)):
        return read.title or read.heading or stem
    return stem.replace("_", " ")


def _wikilink(target: str, title: str) -> str:
    """The link, shown by what the note is called where it needs a folder; empty where the name would break it."""
    link = wikilink(target)
    if not link.startswith("[["):
        return ""
    if "/" not in target:
        return link
    shown = wikilink(title).removeprefix("[[").removesuffix("]]")
    folder, _, name = target.rpartition("/")
    plain = folder.rpartition("/")[2] if name.casefold() in _NAMELESS else name
    named = shown if wikilink(title).startswith("[[") else plain
    return f"[[{target}|{named}]]"


def _part(text: str, link: Link) -> str:
    """What of a note is embedded: all of it, or what stands under a heading."""
    if not link.heading:
        return text
    wanted = fold_name(link.heading.rpartition("#")[2])
    read = markdown_document(text)
    for number, section in enumerate(read.sections):
        if section.heading is not None and fold_name(section.heading) == wanted:
            depth = len(section.heading_path)
            later = read.sections[number + 1 :]
            end = next((one.start for one in later if len(one.heading_path) <= depth), len(text))
            return text[section.start : end]
    return text


def _format(place: NotePlace) -> NoteFormat:
    form = format_of(place.name)
    assert form is not None
    return form


def _basis(text: str, form: NoteFormat) -> str:
    """The hash of what the user wrote in a note."""
    return hashlib.sha256("\n".join(own_lines(text, form)).encode("utf-8")).hexdigest()


def _diff(before: str, after: str, path: str) -> str:
    """What changed, as `diff -u` tells it."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), path, path, lineterm="")
    return "\n".join(lines)[:MAX_DIFF_CHARS]
