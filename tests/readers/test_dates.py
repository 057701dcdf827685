"""Dates as people, tools and PDFs write them."""

from __future__ import annotations

import pytest

from citewell.readers.dates import iso_date, pdf_date


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("2024-01-31", "2024-01-31"),
        ("2024-01-31T12:05:06Z", "2024-01-31T12:05:06+00:00"),
        ("2024-01-31 12:05", "2024-01-31T12:05:00"),
        ("2024-01-31 00:00", "2024-01-31T00:00:00"),
        ("2024-01-31 12:05:06 +0100", "2024-01-31T12:05:06+01:00"),
        ("2024-01-31T12:05:06.123456Z", "2024-01-31T12:05:06+00:00"),
        ("20240131", "2024-01-31"),
        ("2024/1/31", "2024-01-31"),
        ("31.1.2024", "2024-01-31"),
        ("31 January 2024", "2024-01-31"),
        ("Wed, 31 Jan 2024", "2024-01-31"),
        ("January 31st, 2024", "2024-01-31"),
        ("[[2024-01-31]]", "2024-01-31"),
        ("2024-01", "2024-01"),
        ("2024", "2024"),
        ("01/02/2024", None),
        ("2024-13-45", None),
        ("31 Foo 2024", None),
        ("yesterday", None),
        ("", None),
        ("9" * 10_000, None),
    ],
)
def test_a_date_is_normalised_or_left_out(written: str, iso: str | None) -> None:
    assert iso_date(written) == iso


@pytest.mark.parametrize(
    ("written", "iso"),
    [
        ("D:20240131120000+01'00'", "2024-01-31T12:00:00+01:00"),
        ("D:20240131120000Z", "2024-01-31T12:00:00+00:00"),
        ("D:20240131120000Z00'00'", "2024-01-31T12:00:00+00:00"),
        ("D:20240131", "2024-01-31"),
        ("D:2024", "2024"),
        ("20240131120000", "2024-01-31T12:00:00"),
        ("D:20249931", None),
        ("last week", None),
        ("", None),
    ],
)
def test_a_pdf_date_is_normalised_or_left_out(written: str, iso: str | None) -> None:
    assert pdf_date(written) == iso
