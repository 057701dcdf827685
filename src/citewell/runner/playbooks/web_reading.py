"""Which pages are read next, and which of those that were read count. Pure.

Candidates keep their provider's order, unless there is a reason to take another first, which is recorded: a fresher one
where time matters, one of a site that was not read yet.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from citewell.domain.decisions import Decision, PageChosen
from citewell.domain.web import PageFacts
from citewell.evidence.copies import are_copies
from citewell.runner.actions import Action, ReadPage
from citewell.runner.web_state import Candidate, WebProgress
from citewell.text.urls import canonical_url, site_of

# A page may take this share of the time that is left for gathering: a hanging one leaves time for its replacement.
SHARE_OF_TIME = 0.4
LEAST_SECONDS = 0.5
# With fewer bytes than this left, nothing worth reading can come; a reply of a provider takes more.
LEAST_BYTES = 1_000
_LEAST_REPLY, _MOST_REPLY = 20_000, 3_000_000
# Of the bytes that are left, what the searches of a round may take: the rest is for pages.
_SHARE_OF_BYTES = 0.5
# Attempts at pages for each that may count, so that a bad list of results cannot keep a run busy.
ATTEMPTS_A_READ = 4
_FRESH_AMONG = 5
_MOST_NAMED = 3
_ADDRESS = re.compile(r"https?://[^\s<>\"']{4,1000}")


def named_pages(question: str) -> tuple[str, ...]:
    """Pages that the question itself names: they are read first."""
    return tuple(dict.fromkeys(match.rstrip(".,;:!?)\"'") for match in _ADDRESS.findall(question)))[:_MOST_NAMED]


def search_bytes(web: WebProgress, under_way: Sequence[Action], searches: int) -> tuple[int, int]:
    """How many of these searches may begin, and the most that the reply to each may have."""
    free = int(web.bytes_free(under_way) * _SHARE_OF_BYTES)
    begun = min(searches, max(1, free // _LEAST_REPLY)) if free >= LEAST_BYTES else 0
    return begun, min(_MOST_REPLY, free // begun - 1) if begun else 0


def next_reads(
    web: WebProgress, under_way: Sequence[Action], seconds_left: float
) -> tuple[WebProgress, tuple[Action, ...], tuple[Decision, ...]]:
    """The next pages to read, as many as may still count in this round; each has its bytes reserved."""
    reads: list[Action] = []
    decisions: list[Decision] = []
    room = room_for(web, sum(isinstance(action, ReadPage) for action in under_way))
    most = page_bytes(web, under_way)
    while room > 0 and most and web.candidates and web.attempts < web.use.max_reads * ATTEMPTS_A_READ:
        chosen, reason = _choose(web)
        left = tuple(one for one in web.candidates if one is not chosen)
        web = replace(web, candidates=left, attempts=web.attempts + 1)
        seconds = min(web.use.fetch_seconds, seconds_left * SHARE_OF_TIME)
        seconds = round(max(LEAST_SECONDS, seconds), 3)
        reads.append(ReadPage(chosen.hit.url, seconds, most, None, web.use.allow, web.use.deny))
        decisions.append(PageChosen(chosen.hit.url, reason))
        room -= 1
        most = page_bytes(web, (*under_way, *reads))
    return web, tuple(reads), tuple(decisions)


def page_bytes(web: WebProgress, under_way: Sequence[Action]) -> int:
    """The most that the next page may have beside all that is under way; 0 where that is too little to read one."""
    most = min(web.use.page_bytes, web.bytes_free(under_way) - 1)
    return most if most >= LEAST_BYTES else 0


def room_for(web: WebProgress, under_way: int) -> int:
    """How many more pages this round may begin to read; the last round has all that is left."""
    use = web.use
    left = use.max_reads - pages_read(web) - under_way
    quota = math.ceil(use.max_reads / max(1, use.max_loops)) + 1
    in_round = left if web.loop >= use.max_loops else quota - web.round_pages - under_way
    return max(0, min(left, in_round)) if web.bytes_left >= LEAST_BYTES else 0


def pages_read(web: WebProgress) -> int:
    """Pages that count; one that gives orders or hides behind a wall has given its place to another."""
    return sum(counts(page) for page in web.pages)


def counts(page: PageFacts) -> bool:
    return not page.injections and "walled" not in page.flags and "snippet" not in page.flags


def _choose(web: WebProgress) -> tuple[Candidate, str]:
    """The next candidate: in the providers' order, unless there is a reason to take another first."""
    ordered = sorted(web.candidates, key=lambda one: one.place)
    first = ordered[0]
    if web.is_time_bound:
        dated = [one for one in ordered[:_FRESH_AMONG] if one.hit.published]
        freshest = max(dated, key=lambda one: (one.hit.published or "")[:10], default=first)
        if freshest is not first and (freshest.hit.published or "")[:10] > (first.hit.published or "")[:10]:
            return freshest, f"fresh first: {freshest.hit.published}"
    sites = {site_of(page.final_url) for page in web.pages}
    elsewhere = next((one for one in ordered if site_of(one.hit.url) not in sites), first)
    if elsewhere is not first and site_of(first.hit.url) in sites:
        return elsewhere, "another site: this one was read already"
    return first, ""


def same_as(page: PageFacts, others: Sequence[PageFacts]) -> PageFacts | None:
    for other in others:
        if other.source_key == page.source_key or other.content_hash == page.content_hash:
            return other
        if are_copies(page.sketch, other.sketch):
            return other
    return None


def name_of(url: str) -> str:
    return canonical_url(url) or url
