"""An answer as it comes: which of its sentences may be shown already. Pure.

A sentence is shown once it is complete and its own gates pass: every mark points at evidence, and none of its passages
says otherwise. What is held back, and what was shown and does not survive the final check, is the final answer's
business.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.domain.answers import Draft, DraftSentence, PreparedSynthesis, Verdict
from citewell.domain.queries import QueryPlan
from citewell.synthesis.drafting import MAX_ANSWER_CHARS, read_answer
from citewell.synthesis.verify import verify

_ENDS = frozenset(".!?…。！？\n")
# A mark that has begun and not ended.
_OPEN_MARK = re.compile(r"[\[【][^\]】\n]{0,40}$")


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """A sentence that passed its own gates while the answer was still being written."""

    index: int
    text: str
    verdict: Verdict
    sources: tuple[str, ...]


class SentenceStream:
    """Takes text piece by piece and gives the sentences that may be shown, in order, each once."""

    def __init__(self, prepared: PreparedSynthesis, plan: QueryPlan) -> None:
        self._prepared = prepared
        self._plan = plan
        self._text = ""
        self._judged = 0
        self._may_be_complete = False
        self.shown: list[ShownSentence] = []

    def feed(self, text: str) -> list[ShownSentence]:
        """What can be shown now that this text has come too."""
        if len(self._text) > MAX_ANSWER_CHARS:
            return []
        self._text += text
        self._may_be_complete = self._may_be_complete or not _ENDS.isdisjoint(text)
        # A mark often follows the full stop: a sentence is complete once the next one has begun.
        if not self._may_be_complete or _OPEN_MARK.search(self._text) or not any(map(str.isalpha, text)):
            return []
        self._may_be_complete = not _ENDS.isdisjoint(text)
        return self._pass(read_answer(self._text, self._prepared).sentences[:-1])

    def close(self) -> list[ShownSentence]:
        """The last sentence, once the model says that it is done."""
        return self._pass(read_answer(self._text, self._prepared).sentences)

    def _pass(self, written: Sequence[DraftSentence]) -> list[ShownSentence]:
        """Of the sentences that were not judged yet, those that hold."""
        judged = [self._judge(index, written[index]) for index in range(self._judged, len(written))]
        self._judged = max(self._judged, len(written))
        passed = [sentence for sentence in judged if sentence is not None]
        self.shown += passed
        return passed

    def _judge(self, index: int, sentence: DraftSentence) -> ShownSentence | None:
        alone = Draft((sentence,), refused=False, written_by="model")
        verdict = verify(self._prepared.question, alone, self._prepared, self._plan)
        checked = verdict.sentences[0]
        if checked.verdict == "contradicted" or sentence.bad_marks:
            return None
        sources = (checked.quote.source_key,) if checked.quote is not None else ()
        return ShownSentence(index, sentence.text, checked.verdict, sources)
