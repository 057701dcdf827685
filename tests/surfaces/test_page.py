"""The page a person reads: the answer first, each source once, nothing that contradicts it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from citewell import Citewell
from citewell.cli.console import cells, safe
from citewell.cli.main import cli, run

NOTES: dict[str, str | bytes] = {
    "Lamp.md": (
        "# Lamp\n\n## History\n\n### First lighting\n\n"
        "The lamp was lit by Josiah Pell on 14 November 1859. The oil burned clear. The keeper of the [[Old Light]] "
        "walked over the hill to see it. Supper was mutton. It rained all night, and nobody minded.\n\n"
        "## Upkeep\n\nThe lamp burns rapeseed oil from Leith.\n"
    ),
    "Reset.md": (
        "# Reset\n\nTo reset the gauge, run:\n\n"
        "```bash\ngauge --stop && gauge --reset --station kirkhaven --yes\ngauge --start\n```\n"
    ),
    "konbu.md": "# 昆布\n\n昆布は秋に種をまき、五月に刈り取ります。"
    + "水温が十度を下回ると成長が止まります。" * 6
    + "\n",
    "manara.md": "# المنارة\n\nالمنارة القديمة في الميناء أضيئت لأول مرة عام 1859.\n",
    "hostile.md": "# Hostile\n\nThe bell\x1b[2J\x07 of the Anna was cast\x1b]0;owned\x07 in Bremen by one Gerd Holt.\n",
}

Page = Callable[..., list[str]]


@pytest.fixture
def page(corpus: Citewell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Page:
    """The lines a command prints, on a page of some width."""

    def read(*arguments: str, width: int = 100, code: int = 0) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        assert run(["--data-dir", str(corpus.settings.data_dir), *arguments]) == code
        return capsys.readouterr().out.splitlines()

    return read


def test_the_answer_comes_first_and_each_source_once_with_its_quote_under_it(page: Page) -> None:
    lines = page("research", "When was the lamp lit by Josiah Pell?")
    assert lines[0].startswith("The lamp was lit by Josiah Pell on 14 November 1859. [1]")
    assert len([line for line in lines if line == "Lamp  Lamp.md"]) == 1
    source = lines.index("Lamp  Lamp.md")
    assert lines[source + 1] == "[1] History › First lighting"
    assert lines[source + 2].startswith("    The lamp was lit by Josiah Pell")
    assert any("rained all night" in line for line in lines[source:])
    assert lines[-1].startswith("Your notes likely answer this (")


@pytest.mark.parametrize("width", [40, 60, 100])
@pytest.mark.parametrize(
    "arguments",
    [
        ("research", "When was the lamp lit by Josiah Pell?"),
        ("research", "昆布はいつ刈り取りますか"),
        ("research", "What does zirconium cost in Antwerp beside the lamp?"),
        ("search", "昆布 lamp المنارة"),
        ("research", "--retrieval-only", "--explain", "lamp oil"),
        ("topics", "lamp"),
    ],
    ids=["answer", "cjk", "refusal", "search", "pack", "topics"],
)
def test_no_line_is_wider_than_the_page(page: Page, arguments: tuple[str, ...], width: int) -> None:
    lines = page(*arguments, width=width)
    assert lines
    assert [line for line in lines if cells(line) > width] == []


def test_what_is_internal_is_shown_only_when_asked_for(page: Page) -> None:
    question = "When was the lamp lit by Josiah Pell?"
    internal = re.compile(r"enough_evidence|supported|extractive|research-runs|\d{8}T\d{6}|note:vault|score|rank")
    assert not internal.search("\n".join(page("research", question)))
    told = "\n".join(page("research", question, "-v"))
    assert all(word in told for word in ("enough_evidence", "extractive", "trace in", "note:vault/lamp"))
    assert "trace in" in "\n".join(page("runs", "show", "last", "-v"))


def test_a_run_that_is_shown_again_says_what_was_asked(page: Page) -> None:
    answer = page("research", "When was the lamp lit by Josiah Pell?")
    shown = page("runs", "show", "last")
    assert shown == ["When was the lamp lit by Josiah Pell?", "", *answer]


def test_a_refusal_names_what_comes_nearest_and_praises_no_likelihood(page: Page) -> None:
    lines = page("research", "How much did the lamp cost in Antwerp?")
    assert lines[0] == "Nothing you saved answers this directly. Nearest:"
    assert "Lamp  Lamp.md" in lines
    assert not re.search(r"likely|\d+%|Terms tried|Not found", "\n".join(lines))


def test_code_is_set_apart_and_left_on_one_line(page: Page) -> None:
    lines = page("research", "How do I reset the gauge?", width=50)
    assert "    gauge --stop && gauge --reset --station kirkhaven --yes" in lines


def test_what_a_note_would_do_to_the_terminal_is_left_out(page: Page) -> None:
    text = "\n".join(page("research", "Who cast the bell of the Anna in Bremen?"))
    assert "The bell of the Anna was cast in Bremen by one Gerd Holt." in text
    assert safe(text) == text


def test_a_search_shows_the_words_that_matched(page: Page) -> None:
    lines = page("search", "rapeseed")
    assert lines[0] == "1. Lamp"
    assert any("rapeseed oil" in line for line in lines)
    assert any(line.strip().startswith("note:vault/lamp") for line in lines)
    assert not any("user_note" in line for line in lines)


def test_an_unknown_collection_is_named_with_the_one_that_was_meant(
    corpus: Citewell, capsys: pytest.CaptureFixture[str]
) -> None:
    program = ["--data-dir", str(corpus.settings.data_dir)]
    for command in ("search", "research", "topics", "entities"):
        assert run([*program, command, "lamp", "--collection", "valt"]) == 3
        said = capsys.readouterr().err
        assert "There is no collection named valt." in said
        assert "Did you mean vault?" in said
    assert run([*program, "search", "lamp", "--collection", "zzz"]) == 3
    assert "There are: vault." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("resaerch", "lamp"), "Did you mean 'research'"),
        (("statsu",), "'status'"),
        (("runs", "shwo"), "'show'"),
        (("research", "lamp", "--modle", "x"), "'--model'"),
    ],
)
def test_what_is_mistyped_is_told_what_it_may_have_meant(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], hint: str
) -> None:
    assert run(list(arguments)) == 2
    assert hint in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("status",), "Nothing has been added yet. Add a folder or file: citewell add"),
        (("collections",), "citewell add"),
        (("runs", "list"), "No runs yet. Ask something: citewell research"),
        (("research", "how deep is the well?"), "The corpus is empty. Add a folder or file: citewell add"),
    ],
    ids=["status", "collections", "runs", "research"],
)
def test_where_there_is_nothing_yet_it_is_said_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], says: str
) -> None:
    assert run(["--data-dir", str(tmp_path / "new"), *arguments]) == 0
    assert says in capsys.readouterr().out


def test_the_help_of_every_command_teaches_by_example(capsys: pytest.CaptureFixture[str]) -> None:
    context = click.Context(cli)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        parts = list(command.commands) if isinstance(command, click.Group) else []
        for arguments in ([name], *([name, part] for part in parts)):
            assert run([*arguments, "--help"]) == 0
            shown = capsys.readouterr().out
            assert "Example" in shown, arguments
            assert f"citewell {' '.join(arguments)}" in shown.split("Example")[1] or name in ("embed", "restore")


def test_a_shell_is_offered_commands_and_options(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def offered(words: str, at: int) -> list[str]:
        monkeypatch.setenv("_CITEWELL_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(at))
        with pytest.raises(SystemExit):
            run([])
        return capsys.readouterr().out.split()

    assert offered("citewell se", 1) == ["plain,search", "plain,serve"]
    assert offered("citewell runs sh", 2) == ["plain,show"]
    assert offered("citewell research --prof", 2) == ["plain,--profile"]


def test_runs_are_listed_with_what_came_of_them(page: Page) -> None:
    page("research", "When was the lamp lit by Josiah Pell?")
    page("research", "How much did the lamp cost in Antwerp?")
    rows = [line.split("\t") for line in page("runs", "list")]
    assert [row[1:] for row in rows] == [
        ["outcome", "question"],
        ["not found", "How much did the lamp cost in Antwerp?"],
        ["answered", "When was the lamp lit by Josiah Pell?"],
    ]


def test_a_misspelled_question_is_answered_and_says_how_it_was_read(page: Page) -> None:
    lines = page("research", "who lit the lapm in november 1859")
    assert lines[0].startswith("The lamp was lit by Josiah Pell on 14 November 1859. [1]")
    assert "Read as: who lit the lamp in november 1859" in lines[-1]


def test_a_name_that_nothing_has_is_not_read_as_another_word(page: Page) -> None:
    lines = page("research", "When was the Lapp lit by Josiah Bell?")
    assert not any("14 November 1859. [1]" in line for line in lines)
