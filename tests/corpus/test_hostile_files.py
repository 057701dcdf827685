"""Hostile files cost themselves only: each is read or refused with a reason, soon, and everything else is indexed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from citewell import AddReport, BadInput, Citewell, Settings
from citewell.errors import Unreadable
from citewell.readers.importers.registry import documents_in
from citewell.readers.process_pool import MEMORY_BYTES
from citewell.store.prepare import prepare_document
from citewell.wiring import SystemClock
from corpus.hostile_files import NAUGHTY, REPEATED, hostile_files

pytestmark = pytest.mark.slow

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]

ENTITIES = "declares entities of its own: not read"
# What must not be indexed, and a piece of the reason; everything else is text, however odd.
LIMITED = "brought its reader down"
REFUSED: dict[str, str | tuple[str, ...]] = {
    # What unpacks to gigabytes meets its reader's limit of memory, or ends before it.
    "pdf/double-flate.pdf": ("no text layer", LIMITED),
    "pdf/nested-forms.pdf": ("no text layer", LIMITED),
    "pdf/kids-cycle.pdf": "not a readable PDF",
    "pdf/100k-pages.pdf": "no text layer",
    "pdf/encrypted.pdf": "encrypted",
    "pdf/truncated.pdf": "not a readable PDF",
    "html/attributes.html": "more than 1000 attributes",
    "html/nesting.html": "nests more than",
    "html/one-line.html": "larger than 20 MB",
    "zip/bomb.docx": "unpacks to more than is sensible",
    "zip/bomb.epub": "unpacks to more than is sensible",
    "zip/linked.docx": "no text",
    **{f"xml/{attack}.svg": "not imported yet" for attack in ("laughs", "outside")},
    **{f"xml/{attack}.{kind}": ENTITIES for attack in ("laughs", "outside") for kind in ("opml", "rss", "xml", "docx")},
}


def _known(path: str) -> tuple[str, ...]:
    """The reasons a file may be refused for."""
    reasons = REFUSED[path]
    return (reasons,) if isinstance(reasons, str) else reasons


NAMES = [name for name, _ in hostile_files()]


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Citewell, Path, float]:
    """An engine to which all of them were added at once, with two good notes around them; and how long it took."""
    folder = tmp_path_factory.mktemp("attacked")
    files: dict[str, Callable[[], bytes]] = dict(hostile_files())
    files |= {"a-good.md": partial(bytes, b"First good words."), "z.md": partial(bytes, b"Last words.")}
    for name, made in files.items():
        path = folder / "vault" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(made())
    engine = Citewell(Settings(data_dir=folder / "data"), SystemClock())
    started = time.monotonic()
    *_, report = engine.corpus.sync(folder / "vault")
    assert isinstance(report, AddReport)
    return engine, folder / "vault", time.monotonic() - started


@pytest.mark.attack("B4")
@pytest.mark.attack("B5")
@pytest.mark.attack("B6")
@pytest.mark.attack("B7")
@pytest.mark.slow
def test_every_hostile_file_is_indexed_or_refused_with_one_clear_reason(attacked: tuple[Citewell, Path, float]) -> None:
    engine, _, _ = attacked
    files = {file.path: file for file in engine.corpus.status().files}
    assert files.keys() == {*NAMES, "a-good.md", "z.md"}
    refused = {path: file.reason for path, file in files.items() if file.status in ("skipped", "failed")}
    assert refused.keys() == REFUSED.keys()
    unclear = [path for path, reason in refused.items() if not any(words in reason for words in _known(path))]
    assert unclear == []
    assert [engine.search(words).results[0].note_path for words in ("first good", "last")] == ["a-good.md", "z.md"]


@pytest.mark.attack("B4")
@pytest.mark.attack("B5")
@pytest.mark.attack("B6")
@pytest.mark.attack("B7")
@pytest.mark.slow
def test_hostile_files_are_done_with_soon_and_within_a_readers_memory(attacked: tuple[Citewell, Path, float]) -> None:
    engine, vault, seconds = attacked
    assert seconds < 10 * len(NAMES)
    # In a process of its own: what other tests started before would count here.
    program = (
        "import resource, sys; from pathlib import Path; from citewell import Citewell\n"
        "with Citewell(sys.argv[1], embeddings='off') as cw: cw.add(Path(sys.argv[2]))\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    data = engine.settings.data_dir.with_name("again")
    done = subprocess.run([sys.executable, "-c", program, data, vault], capture_output=True, text=True, check=True)
    assert 0 < int(done.stdout) * 1024 < MEMORY_BYTES + 200_000_000


@pytest.mark.attack("B6")
@pytest.mark.attack("B7")
@pytest.mark.slow
def test_nothing_outside_the_vault_is_read_by_any_of_them(attacked: tuple[Citewell, Path, float]) -> None:
    engine, _, _ = attacked
    foreign = ("root", "bin", "bash", "nologin", "climbed", "lol")
    rows = engine.search(" ".join(foreign)).results
    # A file may be called so; none says so.
    assert [row.note_path for row in rows if any(word in row.text.casefold().split() for word in foreign)] == []


@pytest.mark.slow
def test_the_next_add_works_and_reads_none_of_them_again(attacked: tuple[Citewell, Path, float]) -> None:
    engine, root, _ = attacked
    *_, report = engine.corpus.sync(root)
    assert isinstance(report, AddReport)
    assert (report.indexed, report.updated, report.bytes) == (0, 0, 0)
    assert engine.store.check_integrity() == []


@pytest.mark.attack("B8")
@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("Kelp søker lys – 海藻.".encode("utf-16"), "Kelp søker lys – 海藻."),
        (("Kelp søker lys – 海藻. " * 20).encode("utf-16-le"), "Kelp søker lys – 海藻."),
        (("Kelp søker lys – 海藻. " * 20).encode("utf-16-be"), "Kelp søker lys – 海藻."),
        (b"\xef\xbb\xbfwith a mark", "with a mark"),
        (b"before\0after", "before\ufffdafter"),
        ("one \ud800 half".encode("utf-8", "surrogatepass"), "one \ufffd half"),
    ],
    ids=["utf-16", "utf-16-le", "utf-16-be", "bom", "nul", "surrogate"],
)
def test_text_in_any_encoding_is_stored_as_it_reads(
    data: bytes, words: str, vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    add_path(vault({"note.txt": data}))
    (document,) = engine.corpus.get("text:vault/note", content_mode="full").documents
    assert words in document.text


@pytest.mark.attack("B8")
def test_naughty_strings_come_back_as_they_were_and_can_be_asked_for(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    text = "\n".join(NAUGHTY)
    add_path(vault({"note.md": text}))
    (document,) = engine.corpus.get("note:vault/note", content_mode="full").documents
    assert document.text == text
    for naughty in NAUGHTY:
        with suppress(BadInput):
            engine.search(naughty)
            engine.pack(naughty)


KINDS = (
    "note.md", "note.txt", "page.html", "Apple Notes/n.html", "bookmarks.html", "talk.vtt", "talk.srt", "table.csv",
    "docs.jsonl", "docs.json", "tweets.js", "watch-history.json", "feed.rss", "feed.atom", "subs.opml", "paper.pdf",
    "report.docx", "book.epub", "photo.png",
)  # fmt: skip
HEADS = {
    "bookmarks.html": "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n",
    "talk.vtt": "WEBVTT\n\n00:00.000 --> 00:01.000\n",
    "talk.srt": "1\n00:00:00,000 --> 00:00:01,000\n",
    "docs.jsonl": '{"text": "',
    "docs.json": '[{"text": "',
    "tweets.js": "window.YTD.tweets.part0 = [",
    "feed.rss": "<rss><channel><item><title>",
    "feed.atom": "<feed><entry><title>",
    "subs.opml": '<opml><body><outline text="',
}


@pytest.mark.attack("B9")
@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_kilobytes_of_one_character_are_read_at_once_by_every_reader(kind: str) -> None:
    slowest = 0.0
    for piece in REPEATED:
        data = (HEADS.get(kind, "") + piece * (100_000 // len(piece))).encode()
        started = time.process_time()
        with suppress(Unreadable):
            for document in documents_in(data, kind):
                prepare_document(document, kind)
        slowest = max(slowest, time.process_time() - started)
    assert slowest < 5


@pytest.mark.attack("B9")
@pytest.mark.parametrize("piece", REPEATED)
def test_a_question_of_one_character_is_understood_or_refused_at_once(piece: str, engine: Citewell) -> None:
    started = time.process_time()
    for length in (2_000, 100_000):
        with suppress(BadInput):
            engine.pack(piece * (length // len(piece)))
    assert time.process_time() - started < 5
