"""What kind of thing a name names, by what the corpus says of it: tags, folders, and the words around it. Pure.

Nothing is guessed from lists of first names or towns: where nothing tells, a name is just a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from citewell.domain.topics import EntityKind
from citewell.text.folding import folded_text

# Words of tags and folders that say what the documents below them are about.
_KIND_WORDS: dict[EntityKind, frozenset[str]] = {
    "person": frozenset(
        """person people persons contact contacts author authors personen leute kontakte personne personnes gens persona
        personas gente contactos pessoas persone люди человек 人 人物 人名 사람 인물""".split()
    ),
    "place": frozenset(
        """place places location locations city cities ort orte lieu lieux lugar lugares luoghi место места 場所 地名
        地点 장소""".split()
    ),
    "organisation": frozenset(
        """organisation organisations organization organizations org orgs company companies firma firmen entreprise
        entreprises empresa empresas организация 組織 公司 会社 회사""".split()
    ),
    "project": frozenset("project projects projekt projekte projet projets proyecto proyectos 项目 проект".split()),
    "product": frozenset("product products tool tools produkt produkte produit produits producto productos".split()),
}
_TAG_PART = re.compile(r"[/_-]")
PLACE_WORDS = frozenset(
    """bay bridge castle city cliff county fjord forest glen harbour harbor head hill island islands isle lake loch
    mount mountain point port quay river road sound square street valley village voe platz strasse straße
    gasse insel rue avenue boulevard ile plaza calle isla""".split()
)
ORGANISATION_WORDS = frozenset(
    """ab ag association bank bureau committee company corp corporation council department foundation gmbh group inc
    institute limited llc ltd ministry oy plc society son sons trust union universität université universidad university
    verein""".split()
)
HONORIFICS = frozenset("dr prof professor mr mrs ms sir dame rev captain capt herr frau mme madame don doña".split())
SPEAKS_AFTER = re.compile(
    r"['’]?\s(?:said|says|wrote|writes|told|tells|asked|asks|thinks|thought|replied|emailed|sagt|sagte|schrieb|dit"
    r"|écrit|dijo|escribió)\b"
)
# Not "in": that is said of programs, departments and languages as well.
LOCATED_BEFORE = re.compile(
    r"(?<!\w)(?:near|towards|outside|(?:lives?|lived|living|born|stayed|arrived|landed) in"
    r"|(?:moved|sailed|flew|travelled|trip) to|nahe|près de|cerca de)\s$",
    re.IGNORECASE,
)


def kind_of_document(tags: Iterable[str], note_path: str | None, source_type: str) -> EntityKind | None:
    """What a document is about, where its tags, its folder or its source says so."""
    for tag in tags:
        kind = _kind_of_words(_TAG_PART.split(folded_text(tag)))
        if kind:
            return kind
    # Folders of tools and products hold manuals and advice as well.
    folders = [
        folder for folder in folded_text(note_path or "").split("/")[:-1] if folder not in _KIND_WORDS["product"]
    ]
    return _kind_of_words(reversed(folders)) or ("project" if source_type == "github" else None)


def _kind_of_words(words: Iterable[str]) -> EntityKind | None:
    for word in words:
        for kind, telling in _KIND_WORDS.items():
            if word in telling:
                return kind
    return None


def kind_of_spelling(words: list[str]) -> EntityKind | None:
    """What the name itself says by its last word: Burra Hill, Skelday Energy Ltd."""
    last = folded_text(words[-1])
    if len(words) > 1 and last in PLACE_WORDS:
        return "place"
    if len(words) > 1 and last in ORGANISATION_WORDS:
        return "organisation"
    return None


def is_camel(word: str) -> bool:
    """`PostgreSQL`, `iPhone`; not `MacLeod` and not `NASA`."""
    if len(word) < 4 or not any(left.islower() and right.isupper() for left, right in pairwise(word)):
        return False
    return not word.startswith(("Mc", "Mac", "O’", "O'", "De", "Di", "La", "Le", "Van", "Fitz"))
