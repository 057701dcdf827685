"""What was written in any language is found by the words a person would ask with, in other forms of them too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from citewell import AddReport, Citewell

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]

# Language, what the note says, and a question in other forms of its words.
NOTES = (
    ("en", "The keepers were repairing the broken lanterns when the storm ended.", "keeper repaired lantern"),
    ("de", "Die Dächer der alten Häuser wurden nach dem Sturm und mit Schiefer gedeckt.", "Dach Haus Schiefer"),
    ("fr", "Les pêcheurs réparaient leurs filets dans le port quand les bateaux sont rentrés.", "pêcheur filet bateau"),
    ("es", "Los pescadores reparaban las redes en el puerto cuando llegaron los barcos.", "pescador puerto llegar"),
    ("it", "I pescatori riparavano le reti nel porto mentre le barche della flotta tornavano.", "pescatore rete barca"),
    ("pt", "Os pescadores estavam consertando redes no porto quando os barcos chegaram.", "pescador consertar chegar"),
    ("nl", "De vissers waren de netten in de haven aan het boeten toen de boten binnenkwamen.", "visser boot haven"),
    ("sv", "Fiskarna lagade näten i hamnen när båtarna kom in och det var en lugn kväll.", "fiskare båt hamn"),
    ("ru", "Рыбаки чинили сети в гавани, когда лодки вернулись и это было уже не рано.", "рыбак сеть лодка"),
    ("ja", "漁師たちは港で網を修理していました。", "港で網"),
    ("zh", "渔民们在港口修补渔网，船只返航了。", "修补渔网"),
    ("ko", "어부들은 항구에서 그물을 고치고 있었다.", "그물을 고치고"),
    ("th", "ชาวประมงซ่อมอวนที่ท่าเรือเมื่อเรือกลับมา", "ซ่อมอวน"),
    ("ar", "كان الصيادون يصلحون الشباك في الميناء عندما عادت القوارب.", "الصيادون الشباك"),
    ("he", "הדייגים תיקנו את הרשתות בנמל כאשר הסירות חזרו.", "הדייגים הרשתות"),
    ("hi", "मछुआरे बंदरगाह में जाल की मरम्मत कर रहे थे।", "मछुआरे जाल"),
    ("el", "Οι ψαράδες επισκεύαζαν τα δίχτυα στο λιμάνι όταν γύρισαν οι βάρκες.", "ψαράδες δίχτυα"),
)  # fmt: skip


@pytest.mark.parametrize(("language", "text", "query"), NOTES, ids=[language for language, _, _ in NOTES])
def test_a_note_is_found_among_all_the_others(
    language: str, text: str, query: str, vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    add_path(vault({f"{name}.md": said for name, said, _ in NOTES}))
    row = engine.search(query).results[0]
    (document,) = engine.corpus.get(row.source_key).documents
    assert (row.note_path, document.language, row.missing_terms) == (f"{language}.md", language, ())


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Ásgeirr Þórðarson kom til Grindavíkur.", "asgeirr"),
        ("Der Fluß heißt Große Weiße.", "fluss"),
        ("İstanbul'da yağmur", "istanbul"),
        ("Ｆｕｌｌｗｉｄｔｈ ＮＨＬ３", "fullwidth"),
        ("كِتَابٌ قديم", "كتاب"),
        ("שָׁלוֹם עולם", "שלום"),
        ("Việt Nam thống nhất", "viet nam"),
        ("naïve café", "naive cafe"),
        ("e\u0301te\u0301", "été"),
    ],
)
def test_marks_and_forms_of_letters_do_not_hide_a_word(
    written: str, asked: str, vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    add_path(vault({"note.md": written, "other.md": "Nothing of the kind."}))
    assert [row.note_path for row in engine.search(asked).results] == ["note.md"]
