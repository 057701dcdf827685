"""Credibility: how far a page is to be believed, by what can be seen of it, each reason named. Pure.

    a dated, signed page of a university about 900 words long   ->   0.78 (academic site, names its author, has a date)

It judges places and forms, not what is said: no view is worth less for being one. No reason alone decides, and the
score stays inside (0, 1), so that none saturates it. The user's own documents are never judged.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator

from citewell.text.urls import host_of, is_of_site
from citewell.text.words import index_terms
from citewell.web.facts import Credibility, PageFacts, PaperFacts

_ACADEMIC = re.compile(r"(?:^|\.)(?:edu|ac\.[a-z]{2}|edu\.[a-z]{2})$")
_OFFICIAL = re.compile(r"(?:^|\.)(?:gov|mil|int|gov\.[a-z]{2}|gob\.[a-z]{2}|gouv\.[a-z]{2}|europa\.eu|admin\.ch)$")
_REFERENCE = (
    "wikipedia.org",
    "britannica.com",
    "arxiv.org",
    "doi.org",
    "nih.gov",
    "europepmc.org",
    "nature.com",
    "ietf.org",
    "w3.org",
)
_ANYONE = (
    *("reddit.com", "quora.com", "medium.com", "blogspot.com", "wordpress.com", "tumblr.com", "substack.com"),
    *("facebook.com", "x.com", "twitter.com", "pinterest.com", "tiktok.com", "answers.com", "fandom.com"),
)
_SELLS = re.compile(r"(?:^|[.-])(?:coupons?|casino|betting|deals?|promo|loans?|seo|clickbait|viral)(?:[.-]|$)")
_SHOUTS = re.compile(r"(?:!{2,}|\b(?:shocking|you won['’]t believe|miracle|one weird trick|exposed)\b)", re.IGNORECASE)
_SHORT, _LONG = 600, 3_000


def credibility(page: PageFacts, paper: PaperFacts | None = None) -> Credibility:
    """The verdict on one page."""
    weighed = list(_reasons(page, paper))
    total = sum(weight for weight, _ in weighed)
    score = round(1.0 / (1.0 + math.exp(-total)), 3)
    return Credibility(page.source_key, score, tuple(reason for _, reason in weighed))


def _reasons(page: PageFacts, paper: PaperFacts | None) -> Iterator[tuple[float, str]]:
    host = host_of(page.final_url) or ""
    yield from _place(host)
    if paper is not None and paper.is_retracted:
        yield -2.5, "the paper was retracted"
    elif paper is not None and (paper.doi or paper.venue):
        yield 0.8, f"a paper{f' in {paper.venue}' if paper.venue else ''}"
    if page.author:
        yield 0.3, "names its author"
    if page.published:
        yield 0.3, "has a date"
    if page.length < _SHORT:
        yield -0.5, "says little"
    elif page.length > _LONG:
        yield 0.2, "goes into detail"
    if _SHOUTS.search(page.title):
        yield -0.8, "its title shouts"
    if "snippet" in page.flags:
        yield -0.6, "only a snippet of it was seen"


def _place(host: str) -> Iterator[tuple[float, str]]:
    if _OFFICIAL.search(host):
        yield 0.9, "official site"
    elif _ACADEMIC.search(host):
        yield 0.8, "academic site"
    elif any(is_of_site(host, site) for site in _REFERENCE):
        yield 0.7, "reference work or publisher"
    elif any(is_of_site(host, site) for site in _ANYONE):
        yield -0.5, "a place where anyone may write"
    if _SELLS.search(host):
        yield -1.0, "a place that sells attention"


# Copies: pages that carry the same text with small edits, told by a sketch of it. Pure.
#
# A sketch is the smallest hashes of a text's three-word runs. Two sketches estimate how much of both texts is shared
# (Jaccard), exactly where the texts are short; so a page need not be kept at hand to be compared.


COPY_AT = 0.85
_KEPT = 256
_MOST_CHARS = 400_000


def sketch(text: str) -> tuple[int, ...]:
    """The sketch of a text, in ascending order."""
    words = index_terms(text[:_MOST_CHARS], None).split()
    if len(words) < 3:
        return (_hash(" ".join(words)),) if words else ()
    runs = {" ".join(words[at : at + 3]) for at in range(len(words) - 2)}
    return tuple(sorted(map(_hash, runs))[:_KEPT])


def likeness(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """How much of two texts is the same: 1 for copies, 0 for nothing in common."""
    if not one or not other:
        return 0.0
    smallest = sorted({*one, *other})[:_KEPT]
    shared = {*one} & {*other}
    return sum(value in shared for value in smallest) / len(smallest)


def are_copies(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return likeness(one, other) >= COPY_AT


def _hash(run: str) -> int:
    return int.from_bytes(hashlib.blake2b(run.encode("utf-8", "surrogatepass"), digest_size=6).digest(), "big")
