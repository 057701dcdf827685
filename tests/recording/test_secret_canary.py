"""A secret that is set is a canary: wherever it stands, no run, trace, export, event, prompt or line shows it.

The notes, the question, a file's name, a title, a tag, a model's reply and a provider's error all hold the value of
CITEWELL_MODEL_API_KEY; one note has pasted headers. The real program runs over them; then everything it wrote or said
is searched. The corpus keeps the notes as they are, which shows that the search would find the value.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from citewell.store.sqlite import connect
from runner.scripted_runs import mark
from support.model_script import ModelRequest, Reply, fails, says
from support.model_server import ScriptedModelServer

pytestmark = pytest.mark.slow

KEY = "sk-canary/Tide+7f3a9Q=="
TAG = KEY.rstrip("=")
PASTED = "pasted-Bearer-token-55a1"
COOKIE = "0c00k1e5e551on"
NOTES = {
    "Lamp.md": f"---\ntags: [lamp, {TAG}]\n---\n# Lamp {KEY}\n"
    f"The lamp was lit by Josiah Pell in 1859. The key of the lamp is {KEY} and Josiah Pell kept it.\n",
    f"{KEY}.md": "# Log\nThe log of the lamp says Josiah Pell lit it each night. See [[Lamp]].\n",
    "Requests.md": "# Requests\nHow the lamp was asked over the wire by Josiah Pell:\n\n"
    f"GET /lamp HTTP/1.1\nAuthorization: Bearer {PASTED}\nCookie: session={COOKIE}; lamp=lit\n\n"
    "Cookie: chocolate chip is what Josiah Pell liked. The config is in /etc/resolv.conf of the lamp.\n",
}
QUESTION = f"Who lit the lamp with {KEY}, and what did Josiah Pell like?"


@dataclass
class Said:
    """What a program printed, and what it left in its folder."""

    data: Path
    outputs: list[str] = field(default_factory=list)
    exports: list[Path] = field(default_factory=list)

    def run(self, *arguments: str, code: int = 0, environment: Mapping[str, str] = {}) -> str:
        command = [sys.executable, "-m", "citewell", "--data-dir", str(self.data), *arguments]
        env = {**os.environ, "CITEWELL_MODEL_API_KEY": KEY, **environment}
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=env, timeout=120)
        assert done.returncode == code, done.stderr
        self.outputs += [done.stdout, done.stderr]
        return done.stdout

    def json(self, *arguments: str, code: int = 0, environment: Mapping[str, str] = {}) -> Any:
        return json.loads(self.run(*arguments, "--json", code=code, environment=environment))


def forms(value: str) -> tuple[str, ...]:
    encoded = base64.b64encode(value.encode()).decode().rstrip("=")
    return (
        value.lower(),
        quote(value, safe="").lower(),
        quote(value).lower(),
        json.dumps(value)[1:-1].lower(),
        encoded,
    )


def holds(text: str, value: str) -> bool:
    """Whether a value stands in a text, in any case or encoding it usually gets."""
    lowered = text.lower()
    return any(form in lowered or form in text for form in forms(value))


def places(said: Said, value: str) -> Iterator[str]:
    """Everywhere a value stands: files with their names, rows of every table, members of archives, printed lines."""
    for path in sorted(said.data.rglob("*")):
        where = str(path.relative_to(said.data))
        if holds(where, value) or (path.is_file() and holds(path.read_bytes().decode("utf-8", "replace"), value)):
            yield where
    for name in ("runs.db", "corpus.db"):
        yield from (f"{name}: {table}" for table in tables_holding(said.data / name, value))
    for archive in said.exports:
        with zipfile.ZipFile(archive) as opened:
            for member in opened.namelist():
                if holds(member + opened.read(member).decode("utf-8", "replace"), value):
                    yield f"{archive.name}: {member}"
    yield from (f"output {at}" for at, output in enumerate(said.outputs) if holds(output, value))


def tables_holding(database: Path, value: str) -> Iterator[str]:
    connection = connect(database)
    named = [str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    assert named
    for table in named:
        for row in connection.execute(f'SELECT * FROM "{table}"'):
            cells = (cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell) for cell in row)
            if holds("\n".join(cells), value):
                yield table
                break
    connection.close()


def answers(request: ModelRequest) -> Reply:
    """Repeats the key in its answer, and in an error when it is asked to plan."""
    if "You do not answer the question" in request.prompt:
        return fails(400, f"Bad request by {KEY}, also {quote(KEY, safe='')}; Authorization: Bearer {KEY}")
    lit = mark(request, "lit by")
    return says(f"Josiah Pell lit the lamp with {KEY} in 1859 {lit}. It is set in /etc/resolv.conf {lit}.")


@pytest.fixture(scope="module")
def canary(tmp_path_factory: pytest.TempPathFactory) -> tuple[Said, list[ModelRequest], Any]:
    """Runs of every kind over notes that hold the key; what was asked of the model, and the answer of the first."""
    folder = tmp_path_factory.mktemp("canary")
    for name, text in NOTES.items():
        (folder / "vault" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "vault" / name).write_text(text, "utf-8")
    said = Said(folder / "data")
    subprocess.run(
        [sys.executable, "-m", "citewell", "--data-dir", str(said.data), "add", str(folder / "vault")],
        check=True,
        capture_output=True,
    )
    models = {"CITEWELL_MODEL": "openai:test", "CITEWELL_PLANNER_MODEL": "openai:test"}
    with ScriptedModelServer(answers) as server:
        models["CITEWELL_MODEL_BASE_URL"] = server.base_url
        result = said.json("research", QUESTION, "--planner", environment=models)
        said.run("research", QUESTION, "--explain", environment=models)
        asked = server.requests
    refuses = fails(500, f"the server failed for {KEY} with {base64.b64encode(KEY.encode()).decode()}")
    with ScriptedModelServer(refuses) as broken:
        models["CITEWELL_MODEL_BASE_URL"] = broken.base_url
        said.json("research", QUESTION, code=1, environment=models)
        said.run("research", QUESTION, code=1, environment=models)
    said.json("research", QUESTION)
    said.json("research", QUESTION, "--retrieval-only")
    said.json("research", "which headers did Josiah Pell send over the wire?", "--profile", "deep")
    said.run("research", "lamp", "--tag", KEY, "--json", code=2)
    for run in said.json("runs", "list")["runs"]:
        said.json("runs", "show", run["run_id"], "--events")
        assert said.json("runs", "replay", run["run_id"])["identical"]
        said.exports.append(folder / f"{run['run_id']}.zip")
        said.run("runs", "export", run["run_id"], "--output", str(said.exports[-1]))
    said.run("doctor")
    return said, asked, result


@pytest.mark.attack("X1")
@pytest.mark.parametrize("value", [KEY, PASTED, COOKIE], ids=["the key", "a pasted bearer", "a pasted cookie"])
def test_the_value_stands_in_the_corpus_and_nowhere_else(
    canary: tuple[Said, list[ModelRequest], Any], value: str
) -> None:
    """T5, C3."""
    found = set(places(canary[0], value))
    kept = {place for place in found if place.startswith("corpus.db")}
    assert kept, "the search finds what is there"
    assert found - kept == set()
    assert not [request for request in canary[1] if holds(json.dumps(request.body), value)]
    assert canary[1], "the model was asked"


def test_masked_quotes_are_exactly_as_long_as_what_they_stand_for(
    canary: tuple[Said, list[ModelRequest], Any],
) -> None:
    said, _, result = canary
    assert result["question"] == QUESTION.replace(KEY, "•" * len(KEY))
    rows = result["pack"]["evidence"]
    (row,) = [row for row in rows if row["source_key"] == "note:vault/lamp"]
    span = row["span"]
    stored = stored_text(said, span["content_hash"])[span["start"] : span["end"]]
    assert KEY in stored
    # A tag is the key as a tag can be written: it is masked in that form too.
    assert row["text"] == stored.replace(KEY, "•" * len(KEY)).replace(TAG, "•" * len(TAG))
    for citation in result["citations"]:
        assert citation["span"]["end"] - citation["span"]["start"] == len(citation["quote"])


def stored_text(said: Said, content_hash: str) -> str:
    connection = connect(said.data / "corpus.db")
    sql = "SELECT b.body FROM texts t JOIN text_blocks b ON b.text_id = t.id WHERE t.content_hash = ? ORDER BY b.start"
    text = "".join(str(row[0]) for row in connection.execute(sql, (content_hash,)))
    connection.close()
    return text


def test_prose_and_paths_of_notes_and_models_stay(canary: tuple[Said, list[ModelRequest], Any]) -> None:
    said, _, result = canary
    everything = "\n".join(said.outputs)
    assert "Cookie: chocolate chip is what Josiah Pell liked." in everything
    assert "/etc/resolv.conf of the lamp" in everything
    assert [sentence for sentence in result["sentences"] if "/etc/resolv.conf" in sentence["text"]]
    assert "[path]" not in result["answer"]


def test_sources_whose_key_holds_the_secret_can_still_be_cited_and_shown(
    canary: tuple[Said, list[ModelRequest], Any],
) -> None:
    said, _, _ = canary
    cited = said.json("research", "What does the log of the lamp say Josiah Pell did each night?")
    keys = [citation["source_key"] for citation in cited["citations"]]
    assert [key for key in keys if "•" in key]
    assert "texts_not_kept" not in cited["warnings"]
    shown = said.json("runs", "show", cited["run_id"])
    assert {source["state"] for source in shown["sources"]} == {"unchanged"}
