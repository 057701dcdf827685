"""Secrets are told by their shape and named by their kind; ordinary words about them are not taken for them."""

from __future__ import annotations

import time

import pytest

from citewell.text.secrets import kinds_of_secrets


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("OPENAI: sk-proj-abcdefghijklmnop1234", ("API key",)),
        ("token ghp_0123456789abcdefghij0123", ("GitHub or GitLab token",)),
        ("xoxb-1234567890-abcdef", ("Slack token",)),
        ("AKIAIOSFODNN7EXAMPLE", ("AWS access key",)),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", ("signed token (JWT)",)),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn", ("private key",)),
        ("-----BEGIN PRIVATE KEY-----", ("private key",)),
        ("Router\n**Password:** hunter2hunter2", ("password",)),
        ('api_key = "a1b2c3d4e5f6"', ("password",)),
        ("postgres://ann:s3cret@db.example/x", ("address with a password",)),
        ("sk-abcdefghijklmnop1 and AKIAIOSFODNN7EXAMPLE", ("API key", "AWS access key")),
    ],
)
def test_what_looks_like_a_secret_is_named(text: str, kinds: tuple[str, ...]) -> None:
    assert kinds_of_secrets(text) == kinds


@pytest.mark.parametrize(
    "text",
    [
        "Password: see the safe in the office.",
        "The password policy asks for 12 characters.",
        "Ask Ann for the API key.",
        "-----BEGIN CERTIFICATE-----",
        "https://x.example/a?b=c@d",
        "A task-based mask-wearing risk-averse plan",
        "secret: santa",
        "We met at 10:30:15 on 2024-01-02.",
    ],
)
def test_words_about_secrets_are_none(text: str) -> None:
    assert kinds_of_secrets(text) == ()


@pytest.mark.parametrize("piece", ["a", "sk-", "eyJ", "password: ", "a://", "-----BEGIN ", "x:", "A1 "])
def test_endless_repetition_takes_no_time(piece: str) -> None:
    started = time.process_time()
    kinds_of_secrets(piece * (200_000 // len(piece)))
    assert time.process_time() - started < 3
