"""Where a draft says that something is missing, the documents it cites are looked into once more before it is shown."""

from __future__ import annotations

from pathlib import Path

from citewell import Citewell, Settings
from runner.scripted_runs import mark
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer

FILLER = "".join(
    f"## Log {n}\n\nThe {n}th watch wrote of gulls, of rope number {n * 7} and of coal in heap {n}; nothing else was "
    f"that night, and watch {n} went to bed at {n % 12} with dry boots.\n\n"
    for n in range(1, 260)
)
LAMP = "# Lamp\n\nThe lamp was lit by Josiah Pell on 14 November 1859.\n\n"
TOLL = "## Money\n\nShips passing the tower owed a toll of four crowns each.\n"
QUESTION = "Who lit the lamp?"
LIT = "Josiah Pell lit the lamp in 1859."
GAP = "The evidence does not say which toll ships owed."
OWED = "Ships owed a toll of four crowns."


def asked(tmp_path: Path, text: str) -> tuple[str, list[ModelRequest]]:
    """The answer of a model that tells the toll where it is shown it, and how often it was asked."""

    def script(request: ModelRequest) -> Reply:
        lit = f"{LIT} {mark(request, 'lit by')}"
        toll = f"{OWED} {mark(request, 'four crowns')}" if "four crowns" in request.prompt else GAP
        return says(f"{lit} {toll}")

    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "Lamp.md").write_text(text, "utf-8")
    with ScriptedModelServer(script) as server:
        settings = Settings(tmp_path / "data", model="openai:test", model_base_url=server.base_url, judge="off")
        engine = Citewell(settings)
        list(engine.corpus.sync(tmp_path / "notes"))
        result = engine.research(QUESTION, max_evidence_chars=6_000)
        assert engine.runs.replay(result.run_id).identical
        engine.close()
        return result.answer, list(server.requests)


def test_what_is_missing_and_stands_elsewhere_in_a_cited_document_is_found(tmp_path: Path) -> None:
    answer, requests = asked(tmp_path, LAMP + FILLER + TOLL)
    assert "four crowns" not in requests[0].prompt
    assert OWED in answer
    assert GAP not in answer
    assert len(requests) == 2


def test_where_there_is_no_more_the_first_draft_is_shown_as_it_is(tmp_path: Path) -> None:
    answer, requests = asked(tmp_path, LAMP)
    assert GAP in answer
    assert len(requests) == 1
