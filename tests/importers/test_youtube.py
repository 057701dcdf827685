"""YouTube: videos of a playlist or the history are items; captions are the video's transcript."""

from __future__ import annotations

import json

import pytest

from citewell.errors import Unreadable
from citewell.readers.importers.entries import ImportedDocument
from citewell.readers.importers.registry import documents_in
from citewell.text.documents import Link, ReadDocument, Section

URL = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
NEW = "Video ID,Playlist Video Creation Timestamp\ndQw4w9WgXcQ,2023-01-05T10:11:12+00:00\n"
OLD = (
    "Playlist Id,Channel Id,Time Created,Time Updated,Title,Description,Visibility\n"
    "PLx,UCx,2019-01-01 00:00:00 UTC,2019-01-01 00:00:00 UTC,Sea,,Private\n\n"
    "Video Id,Time Added\ndQw4w9WgXcQ,2023-01-05 10:11:12 +0000\n"
)


@pytest.mark.parametrize("table", [NEW, "\ufeff" + NEW, OLD])
def test_a_playlist_lists_videos_under_its_name(table: str) -> None:
    text = f"YouTube video dQw4w9WgXcQ\n\n{URL}"
    assert list(documents_in(table.encode(), "Takeout/YouTube/playlists/Watch later-videos.csv")) == [
        ImportedDocument(
            ReadDocument(
                text=text,
                title="YouTube video dQw4w9WgXcQ",
                sections=(Section("raw_source", 0, len(text)),),
                links=(Link("url", URL, 27, len(text)),),
                tags=("Watch later",),
                url=URL,
            ),
            "youtube",
            part="dQw4w9WgXcQ",
            kind="item",
            saved="2023-01-05T10:11:12+00:00",
        )
    ]


def test_the_history_has_each_video_once_and_no_advertisements() -> None:
    watched = {
        "header": "YouTube",
        "title": "Watched How tides work",
        "titleUrl": "https://www.youtube.com/watch?v\u003ddQw4w9WgXcQ",
        "subtitles": [{"name": "Sea School", "url": "https://www.youtube.com/channel/UCx"}],
        "time": "2024-03-01T10:00:00.123Z",
        "products": ["YouTube"],
        "activityControls": ["YouTube watch history"],
    }
    earlier = {**watched, "time": "2020-01-01T00:00:00Z"}
    advert = {**watched, "titleUrl": URL[:-1] + "A", "details": [{"name": "From Google Ads"}]}
    removed = {"header": "YouTube", "title": "Watched a video that has been removed", "time": "x"}
    nameless = {**watched, "title": f"Watched {URL[:-1]}B", "titleUrl": URL[:-1] + "B", "subtitles": None}
    history = json.dumps([watched, earlier, advert, removed, nameless]).encode()
    first, second = documents_in(history, "watch-history.json")
    assert first.read.text == f"How tides work\n\nChannel: Sea School\n{URL}"
    assert (first.read.author, first.part, first.saved) == ("Sea School", "dQw4w9WgXcQ", "2024-03-01T10:00:00+00:00")
    assert second.read.title == "YouTube video dQw4w9WgXcB"
    assert second.read.warnings == ("entries left out, without text or damaged: 1",)


def test_captions_named_after_their_video_belong_to_it() -> None:
    vtt = b"WEBVTT\nKind: captions\n\n00:00:01.000 --> 00:00:02.000\nThe moon pulls.\n"
    (found,) = documents_in(vtt, "talks/How tides work [dQw4w9WgXcQ].en-US.vtt")
    assert found.source_type == "youtube"
    assert (found.read.title, found.read.url, found.read.text) == ("How tides work", URL, "The moon pulls.")
    assert found.read.sections[0].role == "transcript"


def test_a_playlist_without_videos_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="no videos in this file"):
        list(documents_in(b"Video ID,Time Added\n\n", "x.csv"))
