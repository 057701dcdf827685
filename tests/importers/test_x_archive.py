"""X archives: posts are the user's own words with their links written out; reposts and likes are not."""

from __future__ import annotations

import json

from citewell.readers.importers.entries import ImportedDocument
from citewell.readers.importers.registry import documents_in
from citewell.text.documents import Link, ReadDocument, Section

POST: dict[str, object] = {
    "edit_info": {"initial": {"editTweetIds": ["1050118621198921728"]}},
    "id": "1050118621198921728",
    "id_str": "1050118621198921728",
    "created_at": "Wed Oct 10 20:19:24 +0000 2018",
    "full_text": "Tides &amp; gauges with @bo: https://t.co/abcdefghij #kelp https://t.co/klmnopqrst",
    "lang": "en",
    "entities": {
        "hashtags": [{"text": "kelp", "indices": ["50", "55"]}],
        "user_mentions": [{"screen_name": "bo"}],
        "urls": [{"url": "https://t.co/abcdefghij", "expanded_url": "https://x.example/tides", "display_url": "x"}],
        "media": [{"url": "https://t.co/klmnopqrst"}],
    },
    "extended_entities": {
        "media": [
            {
                "url": "https://t.co/klmnopqrst",
                "expanded_url": "https://twitter.com/ann_lee/status/1050118621198921728/photo/1",
                "type": "photo",
                "ext_alt_text": "A gauge on a pier",
                "ocr_text": "KIRKHAVEN 4.2 m",
            }
        ]
    },
}
REPOST = {"id_str": "7", "created_at": "nonsense", "full_text": "RT @bo: Look https://t.co/unknown123"}


def archive(*posts: object, name: str = "tweets", kind: str = "tweet") -> bytes:
    return f"window.YTD.{name}.part0 = {json.dumps([{kind: post} for post in posts], indent=2)}\n".encode()


def test_posts_keep_their_words_links_tags_and_pictures() -> None:
    post, repost = documents_in(archive(POST, REPOST), "data/tweets.js")
    first = "Tides & gauges with @bo: https://x.example/tides #kelp"
    text = f"{first}\n\nA gauge on a pier\n\nKIRKHAVEN 4.2 m"
    created = "2018-10-10T20:19:24+00:00"
    assert post == ImportedDocument(
        ReadDocument(
            text=text,
            title=first,
            sections=(
                Section("user_note", 0, 54),
                Section("attachment", 56, 73, "Media 1", ("Media 1",)),
                Section("ocr", 75, len(text), "Media 1", ("Media 1",)),
            ),
            links=(Link("url", "https://x.example/tides", 25, 48),),
            tags=("kelp",),
            author="@ann_lee",
            url="https://x.com/ann_lee/status/1050118621198921728",
            created=created,
        ),
        "x",
        part="1050118621198921728",
        kind="item",
        saved=created,
    )
    assert repost.read.sections[0].role == "raw_source"
    assert (repost.read.text, repost.read.created) == ("RT @bo: Look https://t.co/unknown123", None)


def test_without_a_name_the_address_needs_none() -> None:
    (post,) = documents_in(archive(REPOST), "tweet.js")
    assert (post.read.url, post.read.author) == ("https://x.com/i/web/status/7", None)


def test_likes_are_someone_elses_words() -> None:
    like = {"tweetId": "42", "fullText": "Mind the &lt;gap&gt;", "expandedUrl": "https://twitter.com/i/web/status/42"}
    (found,) = documents_in(archive(like, name="like", kind="like"), "like.js")
    assert (found.part, found.read.text, found.read.sections[0].role) == ("42", "Mind the <gap>", "raw_source")


def test_posts_without_words_and_fields_of_the_wrong_type_do_no_harm() -> None:
    odd = {"id_str": 9, "full_text": "ok", "entities": 3, "extended_entities": {"media": [None, {"url": 4}]}}
    (found,) = documents_in(archive({}, None, "x", {"id_str": "1"}, odd), "tweets.js")
    assert (found.part, found.read.text) == ("9", "ok")
    assert found.read.warnings == ("entries left out, without text or damaged: 4",)


def test_a_long_post_has_a_short_title() -> None:
    (found,) = documents_in(archive({"id_str": "1", "full_text": "word " * 50}), "tweets.js")
    assert found.read.title == "word " * 15 + "word…"
