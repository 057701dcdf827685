"""Tables: every row can be read on its own."""

from __future__ import annotations

import pytest

from citewell.errors import Unreadable
from citewell.readers.kinds import FileKind, detect, read_file
from citewell.readers.tables import MAX_ROWS, markdown_rows, read_table
from citewell.text.documents import Link, ReadDocument, Section


def test_rows_name_their_columns() -> None:
    data = 'Site,Depth (m),Link\n"Kirkhaven, inner",4.2,https://x.example/k\nSelwick,,\n'
    text = "Site: Kirkhaven, inner; Depth (m): 4.2; Link: https://x.example/k\n\nSite: Selwick"
    assert read_file(data.encode(), "sites.csv") == ReadDocument(
        text=text,
        title=None,
        sections=(Section("raw_source", 0, len(text)),),
        links=(Link("url", "https://x.example/k", 46, 65),),
    )
    assert detect("sites.tsv", b"") == FileKind("text", "table")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_delimiter_and_encoding_are_found_out(delimiter: str, encoding: str) -> None:
    data = f"Name{delimiter}Größe\r\nÄmter{delimiter}3\r\n".encode(encoding)
    assert read_table(data).text == "Name: Ämter; Größe: 3"


def test_a_table_without_a_header_keeps_its_bare_values() -> None:
    assert read_table(b"1,2\n3,4\n").text == "1 | 2\n\n3 | 4"
    assert read_table(b"a,a\nb,c\n").text == "a | a\n\nb | c"
    assert read_table(b"one column\nonly\n").text == "one column\n\nonly"


def test_long_tables_are_cut_with_a_warning() -> None:
    read = read_table("\n".join(f"{n},{n}" for n in range(MAX_ROWS + 1)).encode())
    assert read.warnings == (f"only the first {MAX_ROWS} rows were read",)


def test_a_markdown_table_has_its_rule_after_the_first_row() -> None:
    assert markdown_rows([["a", "b"], ["c"]]) == "| a | b |\n| --- | --- |\n| c |  |"
    assert markdown_rows([]) == ""


@pytest.mark.parametrize("data", [b"", b",,,\n,,\n", b"\n\n"])
def test_an_empty_table_is_unreadable(data: bytes) -> None:
    with pytest.raises(Unreadable, match="the table is empty"):
        read_table(data)


def test_a_quote_that_never_closes_is_unreadable_and_not_one_huge_cell() -> None:
    with pytest.raises(Unreadable, match="not a readable table"):
        read_table(b'a,"' + b"x\n" * 200_000)
