"""Readers and writers at once: a snapshot stays what it was, a batch is seen whole, nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

from citewell import Filters
from citewell.store.port import CorpusStore
from conformance.stores import OpenStore, ranked, whole_text, write


def _elsewhere(work: Callable[[], None]) -> None:
    """Do something in another thread, and wait for it."""
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  handed to the thread that waits
            failures.append(error)

    thread = Thread(target=guarded)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def _seen(store: CorpusStore) -> tuple[object, ...]:
    return (
        store.document_count(),
        store.chunk_count(),
        ranked(store, "kelp"),
        store.find("note:notes/a"),
        store.files(),
        store.languages(),
        store.eligible_documents(Filters()),
        store.related("note:notes/a", 5),
        store.vectors.coverage(),
    )


def test_a_snapshot_sees_no_later_write(open_store: OpenStore) -> None:
    reader, writer = open_store(), open_store()
    write(writer, {"a.md": "Kelp, see [[b]].", "b.md": "Kelp again."})

    def change() -> None:
        write(writer, {"a.md": "Changed.", "c.md": "Kelp, kelp and kelp."})
        writer.remove(["note:notes/b"])

    with reader.snapshot():
        before = _seen(reader)
        _elsewhere(change)
        with reader.snapshot():  # entered again, it is the same one
            assert _seen(reader) == before
        assert _seen(reader) == before
        assert whole_text(reader, "note:notes/a") == "Kelp, see [[b]]."
        assert whole_text(reader, "note:notes/b") == "Kelp again."
    assert ranked(reader, "kelp") == ["note:notes/c"]
    assert whole_text(reader, "note:notes/a") == "Changed."


def test_a_snapshot_is_of_its_thread_alone(open_store: OpenStore) -> None:
    store = open_store()
    write(store, {"a.md": "Kelp."})
    found: list[list[str]] = []
    with store.snapshot():
        assert ranked(store, "kelp") == ["note:notes/a"]
        _elsewhere(lambda: write(store, {"b.md": "Kelp."}))
        _elsewhere(lambda: found.append(ranked(store, "kelp")))
        assert ranked(store, "kelp") == ["note:notes/a"]
    assert found == [["note:notes/a", "note:notes/b"]]


def test_what_one_writes_another_finds(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    write(one, {"a.md": "Kelp."})
    assert ranked(other, "kelp") == ["note:notes/a"]
    write(other, {"b.md": "Kelp, kelp."})
    assert sorted(ranked(one, "kelp")) == ["note:notes/a", "note:notes/b"]


def test_readers_always_see_whole_batches_while_a_writer_writes(open_store: OpenStore) -> None:
    """Each batch brings two documents that speak of each other; nobody ever sees one without the other."""
    writer, readers = open_store(), [open_store() for _ in range(3)]
    done, problems, reads = Event(), [], [0] * len(readers)

    def read(number: int) -> None:
        store = readers[number]
        while not done.is_set() or not reads[number]:
            with store.snapshot():
                found = ranked(store, "pair", limit=100)
                if len(found) % 2 or len(found) != store.document_count():
                    problems.append(found)
                for key in found[:4]:
                    if "pair" not in whole_text(store, key):
                        problems.append([key])
            reads[number] += 1

    threads = [Thread(target=read, args=(number,)) for number in range(len(readers))]
    for thread in threads:
        thread.start()
    try:
        for number in range(12):
            write(writer, {f"{number}-l.md": f"The left of pair {number}.", f"{number}-r.md": f"Of pair {number}."})
        writer.remove(["note:notes/0-l", "note:notes/0-r"])
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert problems == []
    assert all(reads)
    assert len(ranked(readers[0], "pair", limit=100)) == writer.document_count() == 22
    assert writer.check_integrity() == []


def test_two_writers_take_turns_and_lose_nothing(open_store: OpenStore) -> None:
    stores = [open_store(), open_store()]
    failures: list[BaseException] = []

    def fill(number: int) -> None:
        try:
            for n in range(8):
                write(stores[number], {f"{number}/{n}.md": f"Kelp {n} of {number}."})
        except BaseException as error:  # noqa: BLE001  asserted below
            failures.append(error)

    threads = [Thread(target=fill, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert stores[0].document_count() == stores[1].document_count() == 16
    assert len(ranked(stores[0], "kelp", limit=50)) == 16
    assert stores[1].check_integrity() == []
