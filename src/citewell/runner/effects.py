"""The outside of a run, the corpus and the models: performs its io actions.

What comes from outside is masked here, before it is recorded and before the machine sees it: content keeps its length
(`text/masking.py`), errors are redacted in full (`recording/redaction.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Protocol

from citewell.briefs.strategies import retrieved
from citewell.briefs.surveying import TopicSurveys
from citewell.domain.answers import Entails
from citewell.domain.chat import ChatFailed, ChatModel
from citewell.domain.corpus_port import CorpusReader
from citewell.domain.documents import DocumentView
from citewell.domain.errors import CitewellError, NotFound, Unavailable
from citewell.domain.notes import NoteChange, NoteLink, NoteTask, NoteText
from citewell.domain.ports import AnswerSpans, Entailment, Reranker
from citewell.packs.build import PackBuilder
from citewell.packs.related import related_rows
from citewell.packs.rereading import reread
from citewell.packs.topic_brief import TopicBriefs
from citewell.retrieval.comparing import compare_texts
from citewell.retrieval.lanes import OpenLane
from citewell.runner.actions import (
    WEB_ACTIONS,
    Action,
    AnswersRead,
    Ask,
    AskFailed,
    BriefTopic,
    ClaimsJudged,
    Compare,
    Compared,
    Expand,
    Expanded,
    GivenRead,
    Inspect,
    Inspected,
    JudgeClaims,
    KeepTexts,
    LinkNotes,
    NoteSeen,
    NotesLinked,
    Observation,
    PageKept,
    ReadAnswers,
    ReadGiven,
    ReadNote,
    ReadPage,
    Replied,
    Retrieve,
    Retrieved,
    SearchWeb,
    SectionWritten,
    SurveyTopic,
    TextsKept,
    TopicBriefed,
    TopicSurveyed,
    WebFailed,
    WebSearched,
    WriteSection,
    is_own_strategy,
)
from citewell.runner.compute import compute
from citewell.runner.web_effects import WebEffects
from citewell.synthesis.answerability import with_estimate
from citewell.text.masking import MaskedStream, Masker
from citewell.text.urls import host_of


class View(Protocol):
    """Reads one document around a query, as `get` does, or around what is shown of it."""

    def __call__(
        self, lookup: str, query: str, max_chars: int, shown: tuple[int, int] | None = None
    ) -> DocumentView: ...


class NoteFiles(Protocol):
    """The note a run is about, and the vault around it."""

    def read(self, task: NoteTask) -> NoteText: ...

    def link(self, task: NoteTask, keys: Sequence[str]) -> tuple[NoteLink, ...]: ...

    def write(self, task: NoteTask, lines: Sequence[str], basis: str) -> NoteChange: ...


Keep = Callable[[Sequence[tuple[str, str]]], tuple[str, ...]]
# Pairs a judge is given at a time: time that runs out is noticed between two of them.
JUDGED_AT_ONCE = 4
# The same for a reader, which is asked about short passages.
READ_AT_ONCE = 4
_log = logging.getLogger("citewell.runner")
# Pages fail every day: unless somebody wants to read of it, nothing is printed.
_web_log = logging.getLogger("citewell.web")
_web_log.addHandler(logging.NullHandler())


class Effects:
    """The corpus and the models as a run reaches them."""

    def __init__(
        self,
        store: CorpusReader,
        view: View,
        keep: Keep,
        open_lane: OpenLane,
        open_chat: Callable[[str], ChatModel],
        redact: Callable[[str], str] = str,
        reranker: Reranker | None = None,
        masker: Masker | None = None,
        open_judge: Callable[[], Entailment | None] | None = None,
        open_reader: Callable[[], AnswerSpans | None] | None = None,
        open_notes: Callable[[], NoteFiles] | None = None,
        web: WebEffects | None = None,
    ) -> None:
        self._open_notes = open_notes
        self._open_judge = open_judge
        self._open_reader = open_reader
        self._web = web
        self._reranker = reranker
        self._masker = masker or Masker()
        # A key that holds a secret is known to the run by its masked form only.
        self._real_keys: dict[str, str] = {}
        self._open_chat = open_chat
        self._redact = redact
        self._store = store
        self._open_lane = open_lane
        self._view = view
        self._keep = keep

    async def perform(self, action: Action, on_text: Callable[[str], None]) -> Observation:
        """Do one io action, off the event loop; a model is asked on it, so that cancelling closes the connection."""
        _tell(action)
        try:
            if isinstance(action, Ask):
                return await self._ask(action, on_text)
            if isinstance(action, JudgeClaims):
                return await self._judge(action)
            if isinstance(action, ReadAnswers):
                return await self._read_answers(action)
            if isinstance(action, WEB_ACTIONS):
                if self._web is None:
                    raise Unavailable("The web is not wired.")
                seen = self._masker.mask_value(await self._web.perform(action))
                _tell_outcome(action, seen)
                return seen
            return await asyncio.to_thread(self._do_masked, action)
        except CitewellError as error:
            _log.warning("%s failed: %s (%s)", type(action).__name__, self._redact(error.message), error.code)
            raise

    async def _ask(self, action: Ask, on_text: Callable[[str], None]) -> Observation:
        streams = action.request.purpose in ("write", "repair")
        try:
            model = await asyncio.to_thread(self._open_chat, action.request.model)
            shown = MaskedStream(self._masker, on_text)
            reply = await model.chat(action.request, shown.feed if streams else None)
            shown.close()
        except ChatFailed as failed:
            usage, cost = failed.usage, failed.cost_usd
            message, fix = self._redact(failed.message), self._redact(failed.fix)
            _log.warning("the model gave no reply to %s: %s", action.request.purpose, message)
            return AskFailed(failed.problem, message, fix, usage, cost, failed.attempts)
        return self._masker.mask_value(Replied(reply))

    async def _judge(self, action: JudgeClaims) -> Observation:
        """What the judge says of each pair, rounded as it goes on record; raises Unavailable, also when it is late."""
        scores: list[Entails] = []
        try:
            async with asyncio.timeout(action.seconds):
                judge = await asyncio.to_thread(self._open_judge) if self._open_judge is not None else None
                if judge is None:
                    raise Unavailable("No judge is set.", fix="Set CITEWELL_JUDGE.")
                for first in range(0, len(action.pairs), JUDGED_AT_ONCE):
                    some = action.pairs[first : first + JUDGED_AT_ONCE]
                    scores += await asyncio.to_thread(judge.judge, some)
        except TimeoutError:
            raise Unavailable(f"The judge took longer than {action.seconds:g} s.") from None
        return ClaimsJudged(tuple(map(_rounded, scores)))

    async def _read_answers(self, action: ReadAnswers) -> Observation:
        """How likely each text answers, rounded as it goes on record; raises Unavailable, also when it is late."""
        answers: list[float] = []
        try:
            async with asyncio.timeout(action.seconds):
                reader = await asyncio.to_thread(self._open_reader) if self._open_reader is not None else None
                if reader is None:
                    raise Unavailable("No reader is set.", fix="Set CITEWELL_READER.")
                for first in range(0, len(action.texts), READ_AT_ONCE):
                    some = action.texts[first : first + READ_AT_ONCE]
                    readings = await asyncio.to_thread(reader.read, action.question, some)
                    answers += [round(1.0 - one.no_answer, 4) for one in readings]
        except TimeoutError:
            raise Unavailable(f"The reader took longer than {action.seconds:g} s.") from None
        return AnswersRead(tuple(answers))

    def _do_masked(self, action: Action) -> Observation:
        observation = self._do(self._with_real_keys(action))
        return self._masker.mask_value(observation, self._remember_key)

    def _remember_key(self, field: str, before: str, after: str) -> None:
        if field == "source_key":
            self._real_keys[after] = before

    def _with_real_keys(self, action: Action) -> Action:
        keys = self._real_keys
        if not keys:
            return action
        match action:
            case Inspect():
                return replace(action, lookups=tuple(keys.get(key, key) for key in action.lookups))
            case Expand():
                return replace(action, lookup=keys.get(action.lookup, action.lookup))
            case LinkNotes():
                return replace(action, keys=tuple(keys.get(key, key) for key in action.keys))
            case KeepTexts():
                return replace(action, texts=tuple((keys.get(key, key), digest) for key, digest in action.texts))
            case _:
                return action

    def _do(self, action: Action) -> Observation:
        if isinstance(action, KeepTexts):
            return TextsKept(self._keep(action.texts))
        if isinstance(action, Compare):
            return self._compare(action)
        if isinstance(action, (ReadNote, LinkNotes, WriteSection)):
            return self._of_the_note(action)
        if is_own_strategy(action):
            return compute(action)
        # What is removed meanwhile is still there for the row that was just ranked.
        with self._store.snapshot():
            return self._read(action)

    def _read(self, action: Action) -> Observation:
        match action:
            case Retrieve():
                builder = PackBuilder(self._store, action.semantic, self._open_lane, self._reranker)
                if action.source:
                    question = action.question
                    search = partial(builder.build, question)
                    return Retrieved(with_estimate(retrieved(action.source, question, action.plan, search)))
                pack, report = builder.build_with_report(action.question, action.plan)
                return Retrieved(with_estimate(pack), report)
            case ReadGiven():
                builder = PackBuilder(self._store)
                found = reread(self._store, action.plan, action.rows)
                pack = replace(
                    builder.build(action.question, action.plan),
                    evidence=found.evidence,
                    exact_tag_evidence=found.exact_tag_evidence,
                )
                return GivenRead(with_estimate(pack), found.refused)
            case BriefTopic():
                briefs = TopicBriefs(self._store)
                return TopicBriefed(briefs.brief(action.topic, action.filters, action.seed_limit, action.related_limit))
            case SurveyTopic():
                return TopicSurveyed(TopicSurveys(self._store).survey(action.topics, action.filters))
            case Inspect():
                return Inspected(tuple(self._views(action)))
            case Expand():
                return Expanded(tuple(related_rows(self._store, action.lookup, action.max_chars, action.limit)))
            case _:
                raise TypeError(f"{type(action).__name__} is computed, not performed")

    def _of_the_note(self, action: ReadNote | LinkNotes | WriteSection) -> Observation:
        if self._open_notes is None:
            raise Unavailable("Notes cannot be written here.")
        notes = self._open_notes()
        match action:
            case ReadNote():
                return NoteSeen(notes.read(action.task))
            case LinkNotes():
                return NotesLinked(notes.link(action.task, action.keys))
            case WriteSection():
                return SectionWritten(notes.write(action.task, action.lines, action.basis))

    def _compare(self, action: Compare) -> Observation:
        """A model that does not work never stops an answer: words decide alone, and the run says so."""
        try:
            return Compared(compare_texts(self._open_lane, action.question, action.texts))
        except CitewellError as error:
            return Compared((), self._redact(error.message)[:500])

    def _views(self, action: Inspect) -> list[DocumentView]:
        views: list[DocumentView] = []
        for lookup, shown in zip_longest(action.lookups, action.shown):
            try:
                views.append(self._view(lookup, action.query, action.max_chars, shown))
            except NotFound:
                continue  # removed since it was found: the row keeps the window it had
        return views


def _tell(action: Action) -> None:
    """What is asked and searched, for a log; never what stands in it."""
    match action:
        case Ask():
            _log.info("asking %s to %s", action.request.model, action.request.purpose)
        case Retrieve():
            _log.info("searching by %d variants", len(action.plan.query_variants))
        case SearchWeb():
            _web_log.info("asking %s, %d characters", action.provider, len(action.query))
        case ReadPage():
            _web_log.info("reading a page of %s", host_of(action.url))
        case _:
            _log.debug("%s", type(action).__name__)


def _tell_outcome(action: Action, seen: Observation) -> None:
    """What came of a search or a page, for a log: classes and sizes, never what was asked or what it says."""
    to = action.provider if isinstance(action, SearchWeb) else host_of(getattr(action, "url", ""))
    match seen:
        case WebSearched():
            _web_log.info("%s: %d results, %d bytes", to, len(seen.hits), sum(one.received for one in seen.requests))
        case PageKept():
            _web_log.info("%s: %d characters read", to, seen.page.length)
        case WebFailed():
            kind = "searching" if isinstance(action, SearchWeb) else "reading"
            _web_log.warning("%s at %s failed: %s", kind, to, seen.problem)
        case _:
            _web_log.debug("%s", type(seen).__name__)


def _rounded(score: Entails) -> Entails:
    """To four places: the last digits differ between machines, and nothing may hang on them."""
    return Entails(round(score.entails, 4), round(score.neutral, 4), round(score.contradicts, 4))
