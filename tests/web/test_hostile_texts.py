"""Texts made to trip a program: the same on both databases, and weighed in bounded processor time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, RunResult, Settings
from citewell.answer.passages import injections_in, oddities_of
from citewell.web.credibility import sketch
from corpus.hostile_files import NAUGHTY, REPEATED
from support.origin import Page
from support.postgres import Postgres
from web.loopback_internet import loopback_internet

QUESTION = "Which strings does the naughty register of Halvard list?"
# What a pattern for orders, sentences or words might trip over, beyond one sign again and again.
MADE_UP = (
    *REPEATED,
    *("ignore ", "ignore and ", "please fetch ", "send the ", "you must ", "as an ai, ", "do not include "),
    *("cite this ", "append to the ", "<|", "<|x", "[inst", "system:", "\nsystem:", "call the ", "print the "),
    *("ai model ", "reveal ", "\u200b", "\U000e0041", "\u0300", "\u202e", "a\u0301", "ignore\u200b ", "\u4e2d"),
    *("\u0e01", "a.", "a. ", "A.B.", "!?", "http://", "127.0.0.1 ", "x" * 97 + " ", "delete notes "),
    *("new instructions", "-", "_", "'", '"', "`", "\t", "\r\n"),
)


@pytest.mark.attack("B9")
@pytest.mark.parametrize("weigh", [injections_in, oddities_of, sketch], ids=["injections", "oddities", "sketch"])
def test_100_kb_of_anything_is_weighed_in_less_than_a_second(weigh: Any) -> None:
    slow = {}
    for sign in MADE_UP:
        text = (sign * (100_000 // len(sign) + 1))[:100_000]
        began = time.process_time()
        weigh(text)
        taken = time.process_time() - began
        if taken >= 1.0:
            slow[sign] = round(taken, 2)
    assert slow == {}


@pytest.mark.attack("B9")
def test_more_than_is_looked_at_costs_no_more() -> None:
    began = time.process_time()
    for weigh in (injections_in, sketch):
        weigh("ignore the kelp and wool. " * 200_000)
    assert time.process_time() - began < 10


def run_over(data: Path, **settings: Any) -> tuple[RunResult, str]:
    """A web run over a page, a snippet and a question full of them; the text of the page as it is kept."""
    with loopback_internet() as net:
        text = "The naughty register of Halvard lists strings.\n\n" + "\n\n".join(NAUGHTY)
        body = Page(text.encode("utf-8", "surrogatepass"), "text/plain; charset=utf-8")
        net.add("naughty.example", "/list", "Naughty register of Halvard", text, page=body)
        net.pages.insert(0, net.pages.pop())
        engine = Citewell(Settings(data_dir=data, judge="off", **net.settings, **settings), resolve=net.names)
        try:
            asked = f"{QUESTION} {' '.join(NAUGHTY[:30])}"
            result = engine.runs.wait(engine.start(asked, profile="chat"))
            assert engine.runs.replay(result.run_id).identical
            again = engine.runs.result(result.run_id)
            assert again.question == result.question
            assert again.answer == result.answer
            assert result.web is not None
            keys = [page.source_key for page in result.web.pages]
            (kept,) = [key for key in keys if "naughty.example" in key]
            text = engine.corpus.get(kept, content_mode="full").documents[0].text
        finally:
            engine.close()
    return result, text


@pytest.mark.attack("B8")
@pytest.mark.attack("D9")
def test_naughty_strings_are_the_same_on_both_databases(postgres: Postgres, tmp_path: Path) -> None:
    here, page = run_over(tmp_path / "a")
    there, same = run_over(tmp_path / "b", database_url=postgres.new_database())
    assert here.question == there.question
    assert here.answer == there.answer
    assert [one.quote for one in here.citations] == [one.quote for one in there.citations]
    assert page == same
    for naughty in NAUGHTY:
        if naughty.strip("\u200b\u200d\ufeff"):
            assert naughty.replace("\x00", "") in page, naughty
