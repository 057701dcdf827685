"""Several processes over one data folder: nobody is told 'locked', nothing is stored twice or lost."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from citewell import AddReport, SyncProgress, WorkFailed
from durability.programs import (
    add,
    assert_sound,
    command,
    keys,
    note_text,
    opened,
    run,
    size,
    start,
    start_script,
    texts,
    write,
    write_notes,
)


def end_all(processes: list[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    """How each process ended: its exit code and what it said on stderr."""
    said = [process.communicate()[1] for process in processes]
    return [(process.returncode, text) for process, text in zip(processes, said, strict=True)]


@pytest.mark.attack("D2")
@pytest.mark.slow
def test_eight_processes_add_eight_folders_at_once_to_a_data_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    """D2: all succeed in silence, and everything is there."""
    vaults = [tmp_path / f"vault-{number}" for number in range(8)]
    notes = {vault.name: write_notes(vault, 80) for vault in vaults}
    ended = end_all([start(tmp_path / "data", "add", str(vault)) for vault in vaults])
    assert ended == [(0, "")] * 8
    with opened(tmp_path / "data") as engine:
        found = {info.name: info.documents for info in engine.corpus.collections().collections}
        assert found == {name: len(texts_of) for name, texts_of in notes.items()}
        assert len(engine.search("kelp", limit=1_000).results) == engine.corpus.stats().documents == 640
        assert_sound(engine)


@pytest.mark.attack("D2")
@pytest.mark.slow
def test_two_processes_that_add_the_same_folder_at_once_store_each_file_once(tmp_path: Path) -> None:
    """First from nothing, then with files edited, moved, deleted and new."""
    vault, data = tmp_path / "vault", tmp_path / "data"
    notes = write_notes(vault, 200)
    assert end_all([start(data, "add", str(vault)) for _ in range(2)]) == [(0, "")] * 2
    with opened(data) as engine:
        assert texts(engine) == notes
        assert_sound(engine)
    for number, path in enumerate(sorted(notes)):
        match number % 4:
            case 0:
                notes[path] = note_text(number, edition=2)
                write(vault / path, notes[path])
            case 1:
                target = f"moved/{Path(path).name}"
                write(vault / target, notes[path])
                (vault / path).unlink()
                notes[target] = notes.pop(path)
            case 2:
                (vault / path).unlink()
                del notes[path]
    assert end_all([start(data, "add", str(vault)) for _ in range(2)]) == [(0, "")] * 2
    with opened(data) as engine:
        assert texts(engine) == notes
        assert_sound(engine)


def test_a_move_that_another_process_has_already_stored_is_stored_once_under_its_old_key(tmp_path: Path) -> None:
    """Both saw the old place empty and the new one filled; the slower one finds the work done."""
    vault, data = tmp_path / "vault", tmp_path / "data"
    write(vault / "old.md", note_text(1))
    write(vault / "other.md", note_text(2))
    with opened(data) as slow, opened(data) as quick:
        add(slow, vault)
        (vault / "old.md").rename(vault / "new.md")
        events = slow.corpus.sync(vault)
        assert isinstance(next(events), SyncProgress)
        assert add(quick, vault).renamed == 1
        assert isinstance(list(events)[-1], AddReport)
        assert keys(slow) == {"new.md": "note:vault/old", "other.md": "note:vault/other"}
        assert_sound(slow)


def test_a_file_that_came_back_while_another_process_was_forgetting_it_stays(tmp_path: Path) -> None:
    """The slower process saw the file missing; by the time it forgets, the record is another file's."""
    vault, data = tmp_path / "vault", tmp_path / "data"
    write(vault / "kept.md", note_text(1))
    write(vault / "old.md", note_text(2))
    with opened(data) as slow, opened(data) as quick:
        add(slow, vault)
        (vault / "old.md").unlink()
        events = slow.corpus.sync(vault)
        assert isinstance(next(events), SyncProgress)
        add(quick, vault)
        write(vault / "new.md", note_text(3))
        add(quick, vault)
        list(events)
        assert texts(slow) == {"kept.md": note_text(1), "new.md": note_text(3)}
        assert_sound(slow)


def test_a_collection_removed_while_it_is_added_ends_the_add_with_a_sentence(tmp_path: Path) -> None:
    """Whoever said `remove` last meant it: nothing comes back, and nothing is half there."""
    write(tmp_path / "vault" / "note.md", note_text(1))
    with opened(tmp_path / "data") as adding, opened(tmp_path / "data") as removing:
        add(adding, tmp_path / "vault")
        write(tmp_path / "vault" / "new.md", note_text(2))
        events = adding.corpus.sync(tmp_path / "vault")
        next(events)
        removing.corpus.remove(str(tmp_path / "vault"))
        with pytest.raises(WorkFailed, match="was removed while it was being added"):
            list(events)
        assert texts(adding) == {}
        assert_sound(adding)


READER = """
import sys
from pathlib import Path
from citewell import Citewell
from citewell.settings import Settings
engine = Citewell(Settings(data_dir=Path(sys.argv[1])))
with engine.store.database.read():
    print(engine.corpus.stats().documents, len(engine.search("kelp", limit=1000).results), flush=True)
    input()
    print(engine.corpus.stats().documents, len(engine.search("kelp", limit=1000).results), flush=True)
print(engine.corpus.stats().documents, len(engine.search("kelp", limit=1000).results), flush=True)
input()
engine.close()
"""


@pytest.mark.attack("D3")
@pytest.mark.slow
def test_a_long_reader_keeps_its_view_blocks_no_writer_and_the_log_is_folded_once_it_ends(tmp_path: Path) -> None:
    """D3, with the reader in another process."""
    vault, data = tmp_path / "vault", tmp_path / "data"
    notes, log = write_notes(vault, 60), data / "corpus.db-wal"
    with opened(data) as engine:
        add(engine, vault)
        with start_script(READER, str(data)) as reader:
            assert reader.stdout is not None
            assert reader.stdin is not None
            assert reader.stdout.readline() == "60 60\n"
            for folder in range(10):
                for number in range(60):
                    write(vault / f"more-{folder}" / f"{number}.md", note_text(number) + "Tide and kelp. " * 400)
                add(engine, vault)
            held = size(log)
            assert held > 5_500_000, "the log cannot be folded past what the reader sees"
            print(file=reader.stdin, flush=True)
            assert reader.stdout.readline() == "60 60\n"
            assert reader.stdout.readline() == "660 660\n"
            for edition in range(3):
                for path in notes:
                    write(vault / path, note_text(5, edition) + "Kelp and tide. " * 400)
                add(engine, vault)
            assert size(log) < held - 1_000_000, "the log was folded into the file, began anew and was cut short"
            reader.communicate("\n")
        assert_sound(engine)
    assert [file.name for file in data.iterdir()] == ["corpus.db"]
    with opened(data) as engine:
        assert engine.corpus.stats().documents == 660


SEARCHER = """
import sys
from pathlib import Path
from citewell import Citewell
from citewell.settings import Settings
engine = Citewell(Settings(data_dir=Path(sys.argv[1])))
seen = set()
print("ready", flush=True)
while not Path(sys.argv[2]).exists() or not seen:
    with engine.store.snapshot():
        count, found = engine.corpus.stats().documents, engine.search("kelp", limit=1000)
    assert len(found.results) == count, (len(found.results), count)
    assert all("kelp" in row.text for row in found.results)
    pack = engine.pack("What is said on tide gauges and kelp?")
    assert pack.coverage.corpus_matches.items == pack.coverage.corpus_documents, pack.coverage
    seen.add(count)
print(len(seen), max(seen), flush=True)
engine.close()
"""


@pytest.mark.attack("D8")
@pytest.mark.slow
def test_two_processes_that_search_while_another_writes_only_ever_see_whole_states(tmp_path: Path) -> None:
    """Every search and every pack finds exactly the documents there are at that moment; nobody waits or fails."""
    vault, data, done = tmp_path / "vault", tmp_path / "data", tmp_path / "done"
    write_notes(vault, 20)
    assert run(data, "add", str(vault)).returncode == 0
    searchers = [start_script(SEARCHER, str(data), str(done)) for _ in range(2)]
    for searcher in searchers:
        assert searcher.stdout is not None
        assert searcher.stdout.readline() == "ready\n"
    for folder in range(6):
        for number in range(20):
            write(vault / f"more-{folder}" / f"{number}.md", note_text(number, folder))
        assert run(data, "add", str(vault)).returncode == 0
    done.touch()
    for searcher in searchers:
        last, _ = searcher.communicate()
        assert searcher.returncode == 0
        states, most = map(int, last.split())
        assert states > 1
        assert most <= 140
    with opened(data) as engine:
        assert len(engine.search("kelp", limit=1_000).results) == 140
        assert_sound(engine)


@pytest.mark.slow
def test_ctrl_c_exits_with_130_and_the_next_add_goes_on_from_there(tmp_path: Path) -> None:
    """What was stored is kept; the person is told so."""
    vault, data = tmp_path / "vault", tmp_path / "data"
    long_name = "a-note-with-a-name-so-long-that-the-names-of-one-batch-do-not-fit-into-the-pipe"
    notes = {f"{long_name}-{number:03}.md": note_text(number) for number in range(300)}
    for path, text in notes.items():
        write(vault / path, text)
    with subprocess.Popen(
        command(data, "add", str(vault), "-v"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        pipesize=4096,  # the program has to wait for its reader, so that it cannot end before it is interrupted
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        shown, rest = process.communicate()
    *lines, last = (first + rest).splitlines()
    stored = {line.removeprefix("stored ") for line in lines} & notes.keys()  # the last line may have been cut short
    assert (process.returncode, shown) == (130, "")
    assert last.endswith("Run it again to go on.")
    assert stored
    with opened(data) as engine:
        kept = texts(engine)
        assert stored <= kept.keys() < notes.keys()
        assert_sound(engine)
    again = run(data, "add", str(vault))
    assert f"{300 - len(kept)} new, 0 updated, 0 renamed, {len(kept)} unchanged" in again.stdout
    with opened(data) as engine:
        assert texts(engine) == notes
        assert_sound(engine)
