"""Secrets in content are masked code point by code point; everything else stays as it is, where it is."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.text.secrets import MASK, MaskedStream, Masker

KEY = "sk-live/Ünï+42=Q"
PHRASE = "correct horse battery"
MASKER = Masker([KEY, PHRASE])
DOTS = MASK * len(KEY)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"the key is {KEY}, keep it", f"the key is {DOTS}, keep it"),
        (f"the key is {KEY.upper()}.", f"the key is {DOTS}."),
        (f"?k={quote(KEY, safe='')}&n=1", f"?k={MASK * len(quote(KEY, safe=''))}&n=1"),
        (base64.b64encode(KEY.encode()).decode(), MASK * len(base64.b64encode(KEY.encode()))),
        (json.dumps({"k": KEY}), '{"k": "' + MASK * len(json.dumps(KEY)[1:-1]) + '"}'),
        ("note:vault/sk-live/ünï+42-q", "note:vault/" + MASK * len("sk-live/ünï+42-q")),
        (f"{KEY[:5]}\u200b{KEY[5:]} with an unseen sign", MASK * (len(KEY) + 1) + " with an unseen sign"),
        ("say correct\n horse battery now", f"say {MASK * len('correct  horse battery')} now"),
        ("Authorization: Bearer xyz\nHost: x", "Authorization: Bearer •••\nHost: x"),
        ("curl -H 'authorization: bearer xyz' https://a.example", "curl -H 'authorization: bearer •••' https://a.example"),
        ('{"Authorization": "Basic dTpw"}', '{"Authorization": "Basic ••••"}'),
        ('Proxy-Authorization: Digest username="u", nonce="n"', f"Proxy-Authorization: Digest {MASK * 23}"),
        ("Authorization: a1b2c3d4e5", "Authorization: ••••••••••"),
        ("it sent Bearer a1b2c3d4e5, and failed", "it sent Bearer ••••••••••, and failed"),
        ("Cookie: a=1; b=2\nHost: x", "Cookie: ••••••••\nHost: x"),
        ("Cookie: a=1; b=2 Host: x", "Cookie: •••••••• Host: x"),
        ("set-cookie: sid=ab; Path=/; HttpOnly", f"set-cookie: {MASK * 24}"),
    ],
)  # fmt: skip
def test_secrets_and_header_values_are_masked_and_lengths_stay(text: str, masked: str) -> None:
    assert MASKER.mask(text) == masked
    assert len(masked) == len(text)
    assert MASKER.mask(masked) == masked


@pytest.mark.parametrize(
    "text",
    [
        "Cookie: chocolate chip is my favourite",
        "Cookies: 3, milk: 1",
        "the authorization: required for everyone",
        "Authorization: Bearer tokens are sent in a header",
        "Authorization: Bearer <token>",
        "Bearer authentication, bearer bonds and the ring-bearer",
        "a basic understanding of tokens",
        "the nameserver is in /etc/resolv.conf, the notes in /home/ann/notes",
        "password=hunter2",
        "sk-live is the beginning of many keys",
    ],
)
def test_prose_and_paths_stay(text: str) -> None:
    assert MASKER.mask(text) == text


def test_a_short_secret_is_too_common_a_word_to_be_masked() -> None:
    assert Masker(["short"]).mask("a short text") == "a short text"


def test_a_secret_cut_at_the_edge_of_a_window_is_masked_as_far_as_it_goes() -> None:
    masker = Masker(["sk-0123456789abcdefghij"])
    text = "9abcdefghij and " + "some more words, " * 3 + "ending in sk-0123456789ab"
    shown = masker.mask_value((text,))[0]
    assert shown == text.replace("sk-0123456789ab", MASK * 15), "eleven characters of it are no secret any more"


@dataclass(frozen=True)
class Note:
    title: str
    kind: Literal["secret-kind", "note"]
    tags: tuple[str, ...] = ()
    counts: dict[str, int] | None = None
    inner: Note | None = None


def test_a_nested_value_is_masked_throughout_and_words_of_a_closed_list_stay() -> None:
    masker = Masker(["secret-kind"])
    told: list[tuple[str, str, str]] = []
    value = Note("a", "secret-kind", ("x", "a secret-kind"), {"secret-kind": 1}, Note("Secret-Kind", "note"))
    dots = MASK * 11
    expected = Note("a", "secret-kind", ("x", f"a {dots}"), {dots: 1}, Note(dots, "note"))
    assert masker.mask_value(value, lambda *seen: told.append(seen)) == expected
    assert ("title", "Secret-Kind", dots) in told
    plain = Note("a", "note", ("b",), {"c": 1}, Note("d", "note"))
    assert masker.mask_value(plain) is plain


PIECES = (
    "Authorization",
    ": ",
    "Bearer ",
    "Digest ",
    "Cookie",
    "a=1",
    "; ",
    "\n",
    '"',
    "'",
    "x1y2z3",
    ".",
    "•",
    KEY,
    PHRASE,
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=20).map("".join))
def test_masking_keeps_lengths_and_masking_twice_changes_nothing_more(text: str) -> None:
    once = MASKER.mask(text)
    assert len(once) == len(text)
    assert MASKER.mask(once) == once
    assert KEY not in once


@given(
    parts=st.lists(
        st.sampled_from([KEY, PHRASE, "the lamp ", "is lit. ", "灯台は", "\n", "Cookie: a=1 ", " "]), max_size=8
    ),
    size=st.integers(1, 12),
)
def test_a_stream_is_masked_as_the_whole_would_be(parts: list[str], size: int) -> None:
    text, shown = "".join(parts), list[str]()
    stream = MaskedStream(MASKER, shown.append)
    for at in range(0, len(text), size):
        stream.feed(text[at : at + size])
    stream.close()
    assert "".join(shown) == MASKER.mask(text)


def test_a_stream_passes_on_what_is_settled() -> None:
    shown: list[str] = []
    stream = MaskedStream(MASKER, shown.append)
    stream.feed("The lamp was lit. It")
    assert shown == ["The lamp was lit. "]
    stream.feed(" is correct")
    assert "".join(shown) == "The lamp was lit. It is "
    stream.feed(" and bright. ")
    stream.close()
    assert "".join(shown) == "The lamp was lit. It is correct and bright. "
