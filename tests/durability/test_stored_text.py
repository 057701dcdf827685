"""Whatever bytes a file holds, one canonical text is stored, shown and hashed; and no query is code."""

from __future__ import annotations

import codecs
import hashlib
import json
import time
from pathlib import Path

import pytest

from durability.programs import add, assert_sound, opened, run, texts, write

pytestmark = pytest.mark.slow

BODY = "# Tide\n\nKelp by the pier, 𝄞 and 昆布.\n"
LONE = "# Tide\n\nKelp \ud800 by \udfff the pier.\n"
FILES: dict[str, tuple[bytes, str]] = {
    "crlf.md": (BODY.replace("\n", "\r\n").encode(), BODY),
    "cr.md": (BODY.replace("\n", "\r").encode(), BODY),
    "bom.md": (codecs.BOM_UTF8 + BODY.encode(), BODY),
    "inner-bom.md": (b"# Tide\n\nKelp\xef\xbb\xbf here.\n", "# Tide\n\nKelp\ufeff here.\n"),
    "utf16-le.md": (codecs.BOM_UTF16_LE + BODY.encode("utf-16-le"), BODY),
    "utf16-be.md": (codecs.BOM_UTF16_BE + BODY.encode("utf-16-be"), BODY),
    "utf32.md": (codecs.BOM_UTF32_LE + BODY.encode("utf-32-le"), BODY),
    "nul.md": (
        b"# Tide\n\nKelp\x00 by the pier, and more words to read.\n",
        "# Tide\n\nKelp� by the pier, and more words to read.\n",
    ),
    "separators.md": (
        "# Tide\n\nKelp\u2028by\u2029the\x85pier\x0b\x0c.\n".encode(),
        "# Tide\n\nKelp\u2028by\u2029the\x85pier\x0b\x0c.\n",
    ),
    "hidden.md": (
        "# Tide\n\nK\u200del\u00adp \u202eafter\u2066.\n".encode(),
        "# Tide\n\nK\u200del\u00adp \u202eafter\u2066.\n",
    ),
    "escapes.md": (b"# Tide\n\n\x1b[2J kelp \x07\x08.\n", "# Tide\n\n\x1b[2J kelp \x07\x08.\n"),
    "nonchar.md": ("# Tide\n\nKelp \ufffe \uffff \U0010ffff.\n".encode(), "# Tide\n\nKelp \ufffe \uffff \U0010ffff.\n"),
    "unnormal.md": ("# Tide\n\nKelp e\u0301 \u212b ﬁ.\n".encode(), "# Tide\n\nKelp e\u0301 \u212b ﬁ.\n"),
    "sql.txt": (b"kelp'); DROP TABLE documents; --\n", "kelp'); DROP TABLE documents; --\n"),
}


def test_the_text_that_get_shows_is_the_canonical_text_and_its_hash_names_it(tmp_path: Path) -> None:
    """B8, from bytes to the program's JSON."""
    for name, (content, _) in FILES.items():
        write(tmp_path / "vault" / name, content)
    with opened(tmp_path / "data") as engine:
        report = add(engine, tmp_path / "vault")
        assert (report.indexed, report.problems) == (len(FILES), ())
        keys = {str(file.source_key): file.path for file in engine.corpus.status().files}
        assert_sound(engine)
    ended = run(tmp_path / "data", "get", *keys, "--content-mode", "full", "--json")
    documents = json.loads(ended.stdout)["documents"]
    assert {keys[document["source_key"]]: document["text"] for document in documents} == {
        name: expected for name, (_, expected) in FILES.items()
    }
    for document in documents:
        assert hashlib.sha256(document["text"].encode()).hexdigest() == document["content_hash"]
        assert (document["start"], document["end"], document["length"]) == (
            0,
            len(document["text"]),
            len(document["text"]),
        )


@pytest.mark.attack("B8")
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_lone_surrogates_in_utf16_become_the_replacement_character(tmp_path: Path, encoding: str) -> None:
    """B8: no database and no JSON could hold them; the rest of the text stays."""
    mark = codecs.BOM_UTF16_LE if encoding == "utf-16-le" else codecs.BOM_UTF16_BE
    write(tmp_path / "vault" / "note.md", mark + LONE.encode(encoding, "surrogatepass"))
    with opened(tmp_path / "data") as engine:
        add(engine, tmp_path / "vault")
        (document,) = engine.corpus.get("note:vault/note", content_mode="full").documents
    assert document.text.startswith("# Tide\n\nKelp �")
    assert document.text.endswith("the pier.\n")
    assert hashlib.sha256(document.text.encode()).hexdigest() == document.content_hash


def test_a_text_longer_than_one_block_is_stored_whole_with_characters_across_the_seams(tmp_path: Path) -> None:
    """Blocks are cut by characters, and some of them take four bytes."""
    text = "# Long\n\n" + "𝄞 kelp\r\n\r\n".replace("\r", "") * 40_000
    write(tmp_path / "vault" / "note.md", text)
    with opened(tmp_path / "data") as engine:
        add(engine, tmp_path / "vault")
        assert texts(engine) == {"note.md": text}


@pytest.mark.attack("B9")
@pytest.mark.parametrize("kind", ["md", "txt", "html"])
@pytest.mark.parametrize(
    "unit", ["a", "[", "#", "(", "[[", "`", "*", "<", "> ", "- ", "\\", "&", "|", "#a/", "http://"]
)
def test_a_hundred_kilobytes_of_one_character_take_less_than_a_second(tmp_path: Path, unit: str, kind: str) -> None:
    """B9, from bytes to the index, where every expression meets the text."""
    write(tmp_path / "vault" / f"note.{kind}", unit * (100_000 // len(unit)))
    with opened(tmp_path / "data") as engine:
        assert engine.corpus.stats().documents == 0
        started = time.process_time()
        add(engine, tmp_path / "vault")
        assert time.process_time() - started < 5
        assert_sound(engine)


QUERIES = (
    "kelp AND",
    "kelp OR NOT pier",
    "NEAR(kelp pier, 5)",
    '"kelp',
    'kelp"" pier"',
    "title:kelp",
    "{title body}: kelp",
    "kelp*",
    "^kelp",
    "-kelp +pier",
    "kelp'; DROP TABLE documents; --",
    "kelp) OR (1=1",
    "kelp\\ %_?",
    "kelp\0pier",
    "kelp \ud800 pier",
    "kelp\n\tpier",
    "*id kelp",
)


@pytest.mark.attack("D10")
@pytest.mark.parametrize("query", QUERIES)
def test_the_syntax_of_a_query_language_is_text_to_search_for(tmp_path: Path, query: str) -> None:
    """D10: nothing a user types is an operator, and nothing is an error."""
    write(tmp_path / "vault" / "note.md", BODY)
    with opened(tmp_path / "data") as engine:
        add(engine, tmp_path / "vault")
        assert [row.note_path for row in engine.search(query).results] == ["note.md"]
        assert_sound(engine)
