"""An overview quotes how a topic's own document opens, and a sentence of each other one; never a title."""

from __future__ import annotations

from synthesis.evidence import lines, source

GUIDE = source(
    "# Kelp\n\nKelp grows on four longlines in the voe. Sol keeps the boat, I keep the sensors.\n\n"
    "## Harvest\n\nThe harvest begins in May and takes three weeks.\n",
    "Kelp",
)
BOOKMARK = source(
    "Ten drying tips for home-grown kelp\n\nhttps://example.org/drying\n", "Ten drying tips for home-grown kelp"
)
IODINE = source("Blanching takes most of the iodine out of kelp in two minutes.\n", "Iodine")
BOAT = source("The blue boat was painted in March.\n", "Boat")


def test_the_document_named_after_the_topic_is_quoted_from_its_beginning() -> None:
    told = lines("What do I know about kelp?", IODINE, GUIDE)
    assert told[0] == "Kelp grows on four longlines in the voe."
    assert told[1] == "Sol keeps the boat, I keep the sensors."


def test_other_documents_give_a_sentence_each_and_titles_tell_nothing() -> None:
    told = lines("Give me an overview of kelp", BOOKMARK, GUIDE, IODINE, BOAT)
    assert told[-1] == "Blanching takes most of the iodine out of kelp in two minutes."
    assert not any("drying tips" in one or "painted" in one for one in told)


def test_without_a_document_of_its_own_a_topic_is_told_by_what_others_say() -> None:
    assert lines("overview of kelp", IODINE, BOAT) == ["Blanching takes most of the iodine out of kelp in two minutes."]


def test_what_stands_under_another_heading_is_not_joined_to_how_a_document_opens() -> None:
    farm = source(
        "# Kelp farm\n\nKelp on four longlines in the voe. We cut it first in May.\n\n"
        "## How a year goes\n\n1. Late August: Sol collects ripe blades of kelp.\n2. November: the kelp is seeded.\n",
        "Kelp farm",
    )
    told = lines("What do I know about the kelp farm?", farm)
    assert told[:2] == ["Kelp on four longlines in the voe.", "We cut it first in May."]
    assert not any("May" in one and "August" in one for one in told)
