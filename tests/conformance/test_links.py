"""The link graph: both ways, resolved and not, and anew when what a link means comes or goes."""

from __future__ import annotations

import pytest

from citewell.store.port import CorpusStore, FileFacts, FileOutcome, GraphLink, WrittenLink
from citewell.text.documents import Attachment
from conformance.stores import AT, ROOT, write

LAMP_TEXT = "# Lamp\n\nSee [[Oil]], [[Oil|the oil]], [[Nowhere]] and ![[map.png]].\n"
NOTES = {"Lamp.md": LAMP_TEXT, "Oil.md": "# Oil\n\nFor the ![[Lamp]].\n", "alone.md": "Alone."}
LAMP, OIL = "note:notes/lamp", "note:notes/oil"


@pytest.fixture
def linked(store: CorpusStore) -> CorpusStore:
    write(store, NOTES)
    return store


def test_neighbours_are_seen_from_both_ends(linked: CorpusStore) -> None:
    around = {(one.document.source_key, one.relationship): one for one in linked.related(LAMP, 9)}
    assert around.keys() == {(OIL, "links_to"), (OIL, "embedded_in")}
    assert around[OIL, "links_to"].links == 2
    first = around[OIL, "links_to"]
    assert LAMP_TEXT[first.start : first.end] == "[[Oil]]"
    back = {(one.document.source_key, one.relationship) for one in linked.related(OIL, 9)}
    assert back == {(LAMP, "linked_from"), (LAMP, "embeds")}
    assert linked.related("note:notes/alone", 9) == []
    assert len(linked.related(LAMP, 1)) == 1


def test_links_out_name_keys_and_what_leads_nowhere(linked: CorpusStore) -> None:
    assert linked.links_out(LAMP) == (OIL, "Nowhere", "map.png")
    assert linked.unresolved_links(LAMP) == ("Nowhere", "map.png")


def test_a_link_is_resolved_when_its_target_comes_and_leads_nowhere_when_it_goes(linked: CorpusStore) -> None:
    write(linked, {"Nowhere.md": "# Nowhere\n\nHere after all.\n"})
    assert linked.unresolved_links(LAMP) == ("map.png",)
    linked.remove(["note:notes/nowhere"])
    assert linked.unresolved_links(LAMP) == ("Nowhere", "map.png")


def test_a_file_that_is_no_document_is_an_attachment_with_its_reason(linked: CorpusStore) -> None:
    collection = linked.open_collection(ROOT, True, None, ())
    image = FileOutcome(FileFacts("img/map.png", 9, 1, None), "skipped", "an image, and there is no OCR")
    linked.write_batch(collection, [image], AT, 1)
    assert linked.attachments(LAMP) == (Attachment("img/map.png", True, None, "an image, and there is no OCR"),)
    assert linked.unresolved_links(LAMP) == ("Nowhere",)


def test_links_of_many_documents_come_at_once(linked: CorpusStore) -> None:
    assert linked.links_around([LAMP]) == [GraphLink(LAMP, OIL, "wikilink", 2), GraphLink(OIL, LAMP, "embed", 1)]
    assert linked.links_around(["note:notes/alone"]) == []
    written = linked.links_written([LAMP, OIL])
    start = LAMP_TEXT.index("[[Oil|")
    assert written[LAMP][1] == WrittenLink(
        "wikilink", "Oil", "the oil", start, start + len("[[Oil|the oil]]"), OIL, "Oil", "Oil.md"
    )
    assert [link.target for link in written[LAMP]] == ["Oil", "Oil", "Nowhere", "map.png"]
