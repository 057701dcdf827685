"""What is put on record holds no secret and no path outside the workspace, and still says what went wrong."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from citewell.text.redaction import Redactor, is_credential
from citewell.text.secrets import MASK, Masker

SECRET = "hunter2-Ünïcode/+=&?"
QUOTED = quote(SECRET, safe="")
IN_BASE64 = base64.b64encode(SECRET.encode()).decode()
REDACTOR = Redactor(Masker([SECRET, "pg-pass-1234", "short"]), "/home/ann/My Vault")


def dots(value: str | bytes) -> str:
    return MASK * len(value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"key {SECRET} was refused", f"key {dots(SECRET)} was refused"),
        (f"GET https://a.example/v1?q={QUOTED}&n=1", f"GET https://a.example/v1?q={dots(QUOTED)}&n=1"),
        (f"body {json.dumps({'k': SECRET})}", f'body {{"k": "{dots(json.dumps(SECRET)[1:-1])}"}}'),
        (f"got {IN_BASE64}", f"got {dots(IN_BASE64.rstrip('='))}=="),
        ("Authorization: Bearer abc.def-123\nHost: x", f"Authorization: {dots('Bearer abc.def-123')}\nHost: x"),
        ("sent Bearer abcdef123456, got 401", f"sent Bearer {dots('abcdef123456')}, got 401"),
        ("sent Basic dXNlcjpwYXNz== again", f"sent Basic {dots('dXNlcjpwYXNz==')} again"),
        ("{'authorization': 'Bearer x', 'accept': '*/*'}", "{'authorization': '••••••••', 'accept': '*/*'}"),
        ("Cookie: a=1; b=2", "Cookie: ••••••••"),
        ("Cookie: no pairs", "Cookie: ••••••••"),
        ("x-api-key: 99", "x-api-key: ••"),
        ("https://x.example/?api_key=abc&page=2", "https://x.example/?api_key=•••&page=2"),
        ("https://x.example/?a=1&X-Amz-Signature=abc#top", "https://x.example/?a=1&X-Amz-Signature=•••#top"),
        ("connect postgres://ann:pw@db.example/x failed", "connect postgres://••••••@db.example/x failed"),
        ("password=abc host=db", "password=••• host=db"),
        ('{"api_key": "a\\"b", "q": "tide"}', '{"api_key": "••••", "q": "tide"}'),
        ("Incorrect API key: sk-proj-abcdefghijkl1234.", f"Incorrect API key: {dots('sk-proj-abcdefghijkl1234')}."),
        ("token ghp_abcdefghijklmnop1234 expired", f"token {dots('ghp_abcdefghijklmnop1234')} expired"),
        ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.sig here", f"jwt {dots('eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.sig')} here"),
    ],
)  # fmt: skip
def test_secrets_and_credentials_are_taken_out(text: str, shown: str) -> None:
    assert REDACTOR.redact(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/tmp/tmpab12/x.db is locked", "[path] is locked"),
        ("[Errno 2] No such file: '/home/bob/My Notes/a b.md'", "[Errno 2] No such file: '[path]'"),
        ('open "/etc/passwd" failed', 'open "[path]" failed'),
        ("error:/etc/passwd", "error:[path]"),
        ("HOME=/home/bob.", "HOME=[path]."),
        ("(see /var/log/x.log)", "(see [path])"),
        ("//server/share and ///etc/x", "[path] and [path]"),
        ("file:///home/bob/a.md", "[path]"),
        ("~/secret/plan.md and ~bob/x", "[path] and [path]"),
        (r"C:\Users\bob\a.md and \\host\share\x", "[path] and [path]"),
        ("/home/ann/My Vault/Sea/Tides.md is empty", "Sea/Tides.md is empty"),
        ("'/home/ann/My Vault/Sea/a b.md' is empty", "'Sea/a b.md' is empty"),
        ("file:///home/ann/My%20Vault/Sea/a.md", "Sea/a.md"),
        ("/home/ann/My Vault: not a folder", ".: not a folder"),
        ("/home/ann/My Vault/../.ssh/id_rsa", "[path]"),
        ("/home/ann/My Vault-private/a.md", "[path] Vault-private/a.md"),
        ("/srv/a:/srv/b,/srv/c", "[path]:[path],[path]"),
    ],
)  # fmt: skip
def test_a_path_is_shown_only_inside_the_workspace_and_from_there(text: str, shown: str) -> None:
    assert REDACTOR.redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "notes/Sea/Tides.md could not be read",
        "../other/a.md and ./b.md",
        "note:vault/Sea/Tides is gone; web:https://example.org/a/b?page=2#top too",
        "https://example.org/home/ann/x and http://[::1]:8000/api/runs",
        "read and/or write, 24/7, 1 / 2",
        "unexpected token: name",
        "used 512 tokens, max_tokens=100",
        "a basic understanding of Bearer authentication",
        "C++/x notes (old)/a.md",
        "short",
        "",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    """T5: source keys, relative paths and addresses survive."""
    assert REDACTOR.redact(text) == text


def test_the_password_of_a_secret_address_is_a_secret_too() -> None:
    redactor = Redactor(Masker(["postgresql://ann:p%40ssw0rd@db/citewell"]), "/data")
    assert redactor.redact('user "ann" gave p@ssw0rd or p%40ssw0rd') == 'user "ann" gave •••••••• or ••••••••••'


def test_a_workspace_behind_a_link_is_known_by_both_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    redactor = Redactor(Masker([]), str(tmp_path / "link"), str(tmp_path / "real"))
    assert redactor.redact(f"{tmp_path}/link/a.md and {tmp_path}/real/b.md") == "a.md and b.md"


WORDS = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=6, max_size=30).filter(
    lambda secret: len(secret) == len(secret.strip())
)


@pytest.mark.attack("X2")
@given(secret=WORDS, before=st.text(), after=st.text())
def test_a_known_secret_never_survives(secret: str, before: str, after: str) -> None:
    assume(secret not in "[path]")
    redactor = Redactor(Masker([secret]), "/data")
    for spelling in (secret, quote(secret, safe=""), json.dumps(secret)):
        shown = redactor.redact(f"{before} {spelling} {after}")
        assert secret not in shown.replace(MASK, "\n")
        assert len(spelling) < 6 or spelling.strip('"') not in shown.replace(MASK, "\n")


NAMES = st.text(st.characters(categories=["L", "N"], include_characters="._-"), min_size=1, max_size=12).filter(
    lambda name: name.strip(".") == name and "token" not in name.lower()
)


@given(parts=st.lists(NAMES, min_size=1, max_size=5))
def test_an_absolute_path_never_survives_and_its_relative_one_does(parts: list[str]) -> None:
    relative = "/".join(parts)
    redactor = Redactor(Masker([]), "/data/ws")
    assert redactor.redact(f"open /elsewhere/{relative} failed") == "open [path] failed"
    assert redactor.redact(f"open '/elsewhere/{relative}'") == "open '[path]'"
    assert redactor.redact(f"open /data/ws/{relative} failed") == f"open {relative} failed"
    assert redactor.redact(f"open {relative} failed") == f"open {relative} failed"
    assert redactor.redact(f"note:vault/{relative}") == f"note:vault/{relative}"


@given(text=st.text() | st.text("/'\"`:=. abC\\~[]@\n"))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = REDACTOR.redact(text)
    assert REDACTOR.redact(once) == once


def test_fields_are_redacted_by_their_names_and_texts_by_their_content() -> None:
    value = {
        "api_key": "k",
        "X-Auth-Token": ["a", "b"],
        "clientSecret": {"value": 1},
        "password": None,
        "cookie": "",
        "tokens": 512,
        "max_tokens": 10,
        "source_key": "note:vault/tides",
        "nested": [{"Authorization": "Bearer x"}, ("see", "/etc/passwd"), 3, None, True],
        "headers": [("Authorization", "Bearer x"), ["accept", "*/*"]],
        "/home/bob/a": 1,
        "/home/bob/b": 2,
    }
    assert REDACTOR.redact_value(value) == {
        "api_key": "•",
        "X-Auth-Token": "••••••••",
        "clientSecret": "••••••••",
        "password": None,
        "cookie": "",
        "tokens": 512,
        "max_tokens": 10,
        "source_key": "note:vault/tides",
        "nested": [{"Authorization": "••••••••"}, ("see", "[path]"), 3, None, True],
        "headers": [("Authorization", "••••••••"), ["accept", "*/*"]],
        "[path]": 1,
        "[path] (again)": 2,
    }


@pytest.mark.parametrize(
    "name", ["api_key", "apiKey", "OPENAI_API_KEY", "authorization", "access_token", "Set-Cookie", "secret"]
)
def test_a_field_that_holds_a_credential_is_known_by_its_name(name: str) -> None:
    assert is_credential(name)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=12,
)


@given(value=JSON, secret=WORDS)
def test_no_nested_value_keeps_a_credential(value: object, secret: str) -> None:
    assume(secret not in "[path]")
    redactor = Redactor(Masker([secret]), "/data")
    shown = redactor.redact_value({"deep": [value, {"token": secret, "text": f"a {secret} b"}]})
    assert shown["deep"][1] == {"token": dots(secret), "text": f"a {dots(secret)} b"}


@pytest.mark.parametrize(
    "text", ["a", "/", "/a", "'/", '"/', "key=", "x:", "://a@", "token ", " /a b", "\\", "eyJ", "a-", "Bearer "]
)
def test_long_texts_are_redacted_at_once(text: str) -> None:
    """B9: 100 KB of anything in less than a second."""
    started = time.process_time()
    REDACTOR.redact(text * (100_000 // len(text)))
    assert time.process_time() - started < 5
